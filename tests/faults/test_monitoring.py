"""A real Prometheus scrapes the lab while faults are injected: each alert fires and clears, every panel has an answer."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import apt, python_env
from lab import slurm as outside
from lab.slurm import cluster
from slinky_iac.parts.monitoring.alerts import KEY_AGE_S, alerts, groups
from slinky_iac.parts.monitoring.objects import dashboard
from tests.browser.chromium import browse
from tests.e2e.gated import NODES, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.faults.panels import page
from tests.faults.prepare import PROMETHEUS
from tests.faults.prometheus import Prometheus
from tests.stacks import ROOT

STANDS_ON = "gated"


@pytest.fixture(scope="module")
def prometheus(gated: Gated, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    apt.ensure(PROMETHEUS)
    conf = cluster.LAB.hosts
    conf.run("ctl", ["sh", "-c", "echo MetricsType=metrics/openmetrics >> /etc/slurm/slurm.conf && scontrol reconfigure"])
    address = conf.run("ctl", ["hostname", "-I"]).stdout.split()[0]
    made = Prometheus(tmp_path_factory.mktemp("prometheus"), f"{address}:6817")
    made.write("")
    made.start()
    yield made
    made.stop()
    cluster.LAB.write()
    outside.reconfigure()


def look(gated: Gated, prometheus: Prometheus) -> str:
    text = gated.cli("status", "--prometheus").stdout
    prometheus.write(text)
    return text


def fires(gated: Gated, prometheus: Prometheus, *names: str) -> None:
    def there() -> bool:
        look(gated, prometheus)
        return set(names) <= prometheus.firing()

    await_true(f"{names} fire", there, 120, every=1)


def clears(gated: Gated, prometheus: Prometheus, *names: str) -> None:
    def gone() -> bool:
        look(gated, prometheus)
        return not set(names) & prometheus.firing()

    await_true(f"{names} clear", gone, 180, every=1)


def test_a_drain_past_its_deadline_fires_and_every_panel_has_an_answer_meanwhile(
    gated: Gated, slurm: Slurm, prometheus: Prometheus, tmp_path: Path
) -> None:
    drain = {"deadline": "15s"}
    gated.reset(drain)
    await_true("slurmctld is scraped", lambda: prometheus.ask("query", query="slurm_nodes")["result"], 60)
    clears(gated, prometheus, "SlinkyDrainPastDeadline", "SlinkyStatusAway", "SlinkyStatusAbsent", "SlinkyNodeSetShort")
    jobs = [slurm.submit("-p", "gpu", "-w", node, "-t", "30") for node in NODES]
    slurm.await_running(*jobs)
    gated.write(2, drain)
    ended = gated.try_up()
    assert ended.returncode != 0
    assert "of 1 nodes are free; last: job" in ended.stdout + ended.stderr
    fires(gated, prometheus, "SlinkyDrainPastDeadline")

    empty = [
        panel["title"]
        for panel in json.loads(dashboard())["panels"]
        for target in panel.get("targets", ())
        if not prometheus.ask("query", query=target["expr"].replace("$stack", ".*"))["result"]
    ]
    assert empty == [], "no panel is empty"
    _picture(prometheus, tmp_path)

    slurm.finish(*jobs)
    gated.up(2, drain)
    clears(gated, prometheus, "SlinkyDrainPastDeadline")


def _picture(prometheus: Prometheus, folder: Path) -> None:
    now = time.time()

    def ask(expr: str) -> list[dict[str, Any]]:
        found = prometheus.ask("query_range", query=expr, start=str(now - 120), end=str(now), step="2")
        return list(found["result"])

    file = folder / "dashboard.html"
    file.write_text(page(json.loads(dashboard()), ask))
    picture = folder / "dashboard.png"
    browse(folder, file, f"--screenshot={picture}", width=1130, height=1440)
    assert picture.read_bytes().startswith(b"\x89PNG")
    print(f"the picture of docs/images: {picture}")


def test_a_nodeset_that_is_short_of_a_node_fires_and_clears(gated: Gated, prometheus: Prometheus) -> None:
    gated.reset()
    nodes = [node["metadata"]["name"] for node in gated.world.objects("nodes", "default")]
    (name,) = [pod["metadata"]["name"] for node, pod in gated.world.pods("slurm", "gpu").items() if node == NODES[-1]]
    gated.world.kubectl("cordon", *nodes)
    try:
        gated.world.delete_worker("slurm", name, "--wait=false")
        fires(gated, prometheus, "SlinkyNodeSetShort")
    finally:
        gated.world.kubectl("uncordon", *nodes)
    clears(gated, prometheus, "SlinkyNodeSetShort")


def test_a_key_that_is_older_than_the_settings_allow_fires_and_clears(gated: Gated, prometheus: Prometheus) -> None:
    """The age is that of the lab's own key; what changes is `monitoring.keyAge`."""
    prometheus.rules(1)
    fires(gated, prometheus, "SlinkyKeyOld")
    prometheus.rules(KEY_AGE_S)
    clears(gated, prometheus, "SlinkyKeyOld")


def test_a_slurmrestd_that_is_down_fires_and_clears(gated: Gated, prometheus: Prometheus) -> None:
    gated.reset()

    def scale(namespace: str, name: str, number: int) -> None:
        gated.world.kubectl("scale", "deployment", "-n", namespace, name, f"--replicas={number}")

    scale("slinky", "slurm-operator", 0)
    scale("slurm", "slurm-restapi", 0)
    try:
        fires(gated, prometheus, "SlinkySlurmrestdDown")
    finally:
        scale("slurm", "slurm-restapi", 1)
        scale("slinky", "slurm-operator", 1)
    clears(gated, prometheus, "SlinkySlurmrestdDown")


def test_metrics_of_slurmctld_that_are_away_fire_and_clear(gated: Gated, prometheus: Prometheus) -> None:
    outside.pause("ctl", "slurmctld")
    try:
        await_true("it fires", lambda: "SlurmMetricsAway" in prometheus.firing(), 60)
    finally:
        outside.resume("ctl", "slurmctld")
    await_true("it clears", lambda: "SlurmMetricsAway" not in prometheus.firing(), 60)


def test_a_status_that_is_old_or_missing_fires_and_clears(gated: Gated, prometheus: Prometheus) -> None:
    text = look(gated, prometheus)
    old = [
        f"{line.rpartition(' ')[0]} {int(time.time()) - 3600}" if line.startswith("slinky_status_time_seconds") else line
        for line in text.splitlines()
    ]
    prometheus.write("\n".join(old) + "\n")
    await_true("a status of an hour ago fires", lambda: "SlinkyStatusAway" in prometheus.firing(), 60)
    prometheus.write("")
    await_true("no status fires", lambda: "SlinkyStatusAbsent" in prometheus.firing(), 60)
    clears(gated, prometheus, "SlinkyStatusAway", "SlinkyStatusAbsent")


def test_a_node_that_registered_wrongly_fires_and_clears(gated: Gated, slurm: Slurm, prometheus: Prometheus) -> None:
    edit = "sed -i -E '/^NodeName=metal-1 /s/RealMemory=[0-9]+/RealMemory=9999999/; /^SlurmdParameters=config_overrides/d'"
    cluster.LAB.hosts.run("ctl", ["sh", "-c", f"cp /etc/slurm/slurm.conf /tmp/before && {edit} /etc/slurm/slurm.conf"])
    outside.reconfigure()
    try:
        await_true("slurmctld refuses it", lambda: "INVALID_REG" in slurm.states()["metal-1"], 60)
        fires(gated, prometheus, "SlinkyNodeInvalid")
    finally:
        cluster.LAB.hosts.run("ctl", ["sh", "-c", "cp /tmp/before /etc/slurm/slurm.conf"])
        outside.reconfigure()
    clears(gated, prometheus, "SlinkyNodeInvalid")
    assert "DRAIN" in slurm.states()["metal-1"], "slurmctld keeps its own drain"
    slurm.admin("scontrol", "update", "nodename=metal-1", "state=resume")  # as docs/on-call.md says
    await_true("it is in service again", lambda: "DRAIN" not in slurm.states()["metal-1"], 30)


DRAIN = 'stack="s",group="g"'
NODESET = 'stack="s",nodeset="g"'
DEADLINE = f"slinky_drain_deadline_seconds{{{DRAIN}}} 1800"
WANTED = f"slinky_nodeset_wanted{{{NODESET}}} 2"
AGE = f'slinky_drain_age_seconds{{{DRAIN},owner="this stack"}}'
LOOKS = 'slinky_status_time_seconds{stack="s"} 0+60x300'
QUIET = {
    "SlinkyDrainPastDeadline": (f"{AGE} 10", DEADLINE),
    "SlinkyNodeSetShort": (f"slinky_nodeset_registered{{{NODESET}}} 2", WANTED),
    "SlinkySlurmrestdDown": ('slinky_endpoint_up{stack="s",endpoint="slurmrestd"} 1',),
    "SlinkyNodeInvalid": (f"slinky_nodes_invalid{{{DRAIN}}} 0",),
    "SlinkyKeyOld": ('slinky_key_age_seconds{stack="s",key="slurm.key"} 86400',),
    "SlinkyScalerPaused": (f"slinky_scaler_paused{{{NODESET}}} 0",),
    "SlinkyStatusAway": (LOOKS,),
    "SlinkyStatusAbsent": (LOOKS,),
    "SlurmMetricsAway": ("slurm_nodes 5",),
}
LOUD = {
    "SlinkyDrainPastDeadline": (f"{AGE} 1801", DEADLINE),
    "SlinkyNodeSetShort": (f"slinky_nodeset_registered{{{NODESET}}} 1", WANTED),
    "SlinkySlurmrestdDown": ('slinky_endpoint_up{stack="s",endpoint="slurmrestd"} 0',),
    "SlinkyNodeInvalid": (f"slinky_nodes_invalid{{{DRAIN}}} 1",),
    "SlinkyKeyOld": ('slinky_key_age_seconds{stack="s",key="slurm.key"} 32000000',),
    "SlinkyScalerPaused": (f"slinky_scaler_paused{{{NODESET}}} 1",),
    "SlinkyStatusAway": ('slinky_status_time_seconds{stack="s"} 0',),
    "SlinkyStatusAbsent": (),
    "SlurmMetricsAway": (),
}
OVER = {
    "SlinkyDrainPastDeadline": (f"{AGE} 1801x250 10x100", f"{DEADLINE}x350"),
    "SlinkyNodeSetShort": (f"slinky_nodeset_registered{{{NODESET}}} 1x250 2x100", f"{WANTED}x350"),
    "SlinkySlurmrestdDown": ('slinky_endpoint_up{stack="s",endpoint="slurmrestd"} 0x250 1x100',),
    "SlinkyNodeInvalid": (f"slinky_nodes_invalid{{{DRAIN}}} 1x250 0x100",),
    "SlinkyKeyOld": ('slinky_key_age_seconds{stack="s",key="slurm.key"} 32000000x250 86400x100',),
    "SlinkyScalerPaused": (f"slinky_scaler_paused{{{NODESET}}} 1x250 0x100",),
    "SlinkyStatusAway": ('slinky_status_time_seconds{stack="s"} 0x250 15060+60x100',),
    "SlinkyStatusAbsent": ('slinky_status_time_seconds{stack="s"} _x250 15060+60x100',),
    "SlurmMetricsAway": ("slurm_nodes _x250 5x100",),
}
"""Loud for 250 minutes, and quiet from then on."""


@pytest.mark.parametrize("name", [each.name for each in alerts()])
def test_promtool_says_that_an_alert_fires_after_its_wait_and_no_sooner(name: str, tmp_path: Path) -> None:
    apt.ensure(PROMETHEUS)
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(groups(alerts())))
    tests = []
    for series, fires_late in ((QUIET[name], False), (LOUD[name], True)):
        given = [
            {
                "series": each.rpartition(" ")[0],
                "values": each.rpartition(" ")[2] + ("" if "x" in each.rpartition(" ")[2] else "+0x300"),
            }
            for each in series
        ]
        for at, fires_now in (("0m", False), ("290m", fires_late)):
            wanted: dict[str, Any] = {"eval_time": at, "alertname": name}
            tests.append({"interval": "1m", "input_series": given, "alert_rule_test": [wanted], "name": f"{name} {at}"})
            if fires_now:
                wanted["exp_alerts"] = [_expected(name)]
    (tmp_path / "test.yaml").write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "tests": tests}))
    checked = subprocess.run(
        ["promtool", "check", "rules", "rules.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    done = subprocess.run(
        ["promtool", "test", "rules", "test.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", [each.name for each in alerts()])
def test_promtool_says_that_an_alert_clears_when_its_cause_is_over(name: str, tmp_path: Path) -> None:
    apt.ensure(PROMETHEUS)
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(groups(alerts())))
    series = [dict(zip(("series", "values"), _split(each), strict=True)) for each in OVER[name]]
    asked = [
        {"eval_time": "249m", "alertname": name, "exp_alerts": [_expected(name)]},
        {"eval_time": "260m", "alertname": name},
    ]
    test = {"rule_files": ["rules.yaml"], "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": asked}]}
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test))
    done = subprocess.run(
        ["promtool", "test", "rules", "test.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _split(series: str) -> tuple[str, str]:
    """A series without blanks in its labels, and its values."""
    name, _, values = series.partition(" ")
    return name, values


def _expected(name: str) -> dict[str, Any]:
    (each,) = [alert for alert in alerts() if alert.name == name]
    labels = {
        "SlinkyDrainPastDeadline": {"stack": "s", "group": "g", "owner": "this stack"},
        "SlinkyNodeSetShort": {"stack": "s", "nodeset": "g"},
        "SlinkySlurmrestdDown": {"stack": "s", "endpoint": "slurmrestd"},
        "SlinkyNodeInvalid": {"stack": "s", "group": "g"},
        "SlinkyKeyOld": {"stack": "s", "key": "slurm.key"},
        "SlinkyScalerPaused": {"stack": "s", "nodeset": "g"},
        "SlinkyStatusAway": {"stack": "s"},
    }.get(name, {})
    summary = each.summary.replace("{{ $value | humanizeDuration }}", "370d 8h 53m 20s")
    for label, value in labels.items():
        summary = summary.replace(f"{{{{ $labels.{label} }}}}", value)
    notes = {"summary": summary, "description": each.what_to_do, "page": f"docs/{each.page}"}
    return {"exp_labels": labels | {"severity": each.severity}, "exp_annotations": notes}


def test_promtool_reads_the_status_and_the_dashboard_is_what_the_sdk_builds(gated: Gated) -> None:
    apt.ensure(PROMETHEUS)
    text = gated.cli("status", "--prometheus").stdout
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    python = python_env.ensure_dashboard()
    built = subprocess.run([python, "-m", "lab.dashboard", "--print"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert built.stdout == dashboard()
