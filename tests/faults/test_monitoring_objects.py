"""What a stack makes for Prometheus' operator: its own kinds take it, and it leads to slurmctld's metrics."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from lab import apt, prometheus_kinds
from lab import slurm as outside
from lab.slurm import cluster
from slinky_iac.parts.monitoring.objects import DASHBOARD, dashboard
from slinky_iac.parts.slurmctld.settings import METRICS_PATHS
from tests.e2e.gated import NAMESPACE, Gated
from tests.e2e.slurm import await_same, await_true
from tests.e2e.test_two_stacks import INSIDE, inside
from tests.e2e.world import Settings, World, dev_settings
from tests.faults.prepare import PROMETHEUS

STANDS_ON = "gated"
CRD = "crd/{}.monitoring.coreos.com"
FORCED = ("--server-side", "--force-conflicts")
KINDS = ("servicemonitors", "prometheusrules")
METRIC = "# TYPE slurm_"
SITE = {"release": "kube-prometheus-stack"}
"""Labels by which a site's Prometheus selects."""


@contextmanager
def kinds(world: World) -> Iterator[None]:
    """Inside of it the API server has the kinds of Prometheus' operator. The lab of slurm-operator 1.0 has a kind
    ServiceMonitor that takes everything, which comes back in the end; that of later ones has none."""
    loose = world.kubectl("get", CRD.format("servicemonitors"), "-o", "json", "--ignore-not-found").stdout
    try:
        for kind in KINDS:
            world.kubectl("apply", *FORCED, f"--filename={prometheus_kinds.crd(kind)}")
            world.kubectl("wait", "--for=condition=Established", "--timeout=60s", CRD.format(kind))
        yield
    finally:
        if loose:
            before = json.loads(loose)
            kept = {key: before[key] for key in ("apiVersion", "kind", "spec")} | {
                "metadata": {"name": before["metadata"]["name"]}
            }
            world.kubectl("apply", *FORCED, "-f", "-", stdin=json.dumps(kept))
        for kind in KINDS[1:] if loose else KINDS:
            world.kubectl("delete", "--ignore-not-found", "--timeout=60s", CRD.format(kind))


@pytest.fixture
def metrics() -> Iterator[str]:
    """slurmctld's address; it serves metrics."""
    hosts = cluster.LAB.hosts
    hosts.run("ctl", ["sh", "-c", "echo MetricsType=metrics/openmetrics >> /etc/slurm/slurm.conf && scontrol reconfigure"])
    yield hosts.run("ctl", ["hostname", "-I"]).stdout.split()[0]
    cluster.LAB.write()
    outside.reconfigure()


def selected(world: World, kind: str, wanted: dict[str, str], namespace: str = NAMESPACE) -> list[dict[str, Any]]:
    """Objects of the cluster's namespace that have these labels."""
    selector = ",".join(f"{key}={value}" for key, value in wanted.items())
    found = world.kubectl("get", kind, "-n", namespace, "-l", selector, "-o", "json")
    return list(json.loads(found.stdout)["items"])


def targets(world: World, monitor: dict[str, Any]) -> list[str]:
    """Addresses that Prometheus' operator would have scraped: Services by labels, their EndpointSlices, the port's name."""
    found = []
    namespace = monitor["metadata"]["namespace"]
    for service in selected(world, "services", monitor["spec"]["selector"]["matchLabels"], namespace):
        name = {"kubernetes.io/service-name": service["metadata"]["name"]}
        for each in selected(world, "endpointslices", name, namespace):
            # Both are null while no pod is there.
            addresses = [address for endpoint in each["endpoints"] or () for address in endpoint["addresses"]]
            ports = {port["name"]: port["port"] for port in each["ports"] or ()}
            for scrape in monitor["spec"]["endpoints"] if addresses else ():
                at = f"{ports[scrape['port']]}{scrape['path']}"
                found += [f"{scrape.get('scheme', 'http')}://{address}:{at}" for address in addresses]
    return found


def require_metrics(world: World, monitor: dict[str, Any]) -> None:
    """Each path leads to slurmctld's metrics, wherever its pod is by then: 1.2 restarts it, and its address changes."""
    wanted = {f"{path} has {METRIC}" for path in METRICS_PATHS}

    def shown() -> set[str]:
        texts = {url: head(url) for url in targets(world, monitor)}
        return {f"{urlsplit(url).path} has {text}" if text == METRIC else f"{url}: {text}" for url, text in texts.items()}

    await_same("each path has metrics", shown, wanted, 90)


def head(url: str) -> str:
    """What a page of metrics shows first of Slurm's, or its beginning where it has none, or why there is none."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            text = answer.read().decode()
    except OSError as error:  # 1.2 restarts slurmctld
        return str(error)
    return METRIC if METRIC in text else f"{answer.status}: {text[:200]}"


def test_the_kinds_of_prometheus_operator_take_the_objects_and_they_lead_to_slurmctld(
    gated: Gated, metrics: str, tmp_path: Path
) -> None:
    apt.ensure(PROMETHEUS)
    gated.reset()
    monitoring = {"slurmctld": True, "slurmctldAddress": metrics, "rules": True, "dashboard": True, "labels": SITE}
    with kinds(gated.world):
        gated.up(3, monitoring=monitoring)
        (monitor,) = selected(gated.world, "servicemonitors", SITE)
        require_metrics(gated.world, monitor)
        (rule,) = selected(gated.world, "prometheusrules", SITE)
        (tmp_path / "rules.json").write_text(json.dumps(rule["spec"]))
        checked = subprocess.run(
            ["promtool", "check", "rules", tmp_path / "rules.json"], capture_output=True, text=True, check=False
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr
        (shown,) = selected(gated.world, "configmaps", {"grafana_dashboard": "1"})
        assert shown["data"][DASHBOARD] == dashboard()
        assert gated.changes() == [], "a preview after it is empty"

        gated.up(3)
        gone = [selected(gated.world, kind, SITE) for kind in KINDS] + [
            selected(gated.world, "configmaps", {"grafana_dashboard": "1"})
        ]
        assert gone == [[], [], []]


def eyes(settings: Settings) -> None:
    """All in Kubernetes, without nodes: 1.2 restarts slurmctld with a changed slurm.conf, and this one keeps none."""
    inside(settings)
    settings["slinky-iac:nodesets"] = settings["slinky-iac:partitions"] = {}


def await_slurmrestd(world: World) -> None:
    """Without nodes nothing waits for it, and it is asked for jobs before slurmctld restarts."""
    world.kubectl("rollout", "status", "-n", INSIDE, "deployment/inside-restapi", "--timeout=120s")


def test_where_slurmctld_is_in_kubernetes_the_operator_makes_the_service_monitor_that_leads_to_it(world: World) -> None:
    world.vacate()
    with kinds(world):  # to the end: a destroy without them took minutes (docs/facts/slurm-operator.md)
        stack = world.stack("eyes", dev_settings(eyes))
        try:
            stack.up()
            await_slurmrestd(world)
            monitoring = {"slinky-iac:monitoring": {"slurmctld": True, "rules": True, "labels": SITE}}
            world.stack(stack.name, dev_settings(eyes) | monitoring)
            stack.up()

            def made() -> list[dict[str, Any]]:
                return selected(world, "servicemonitors", SITE, INSIDE)

            await_true("the operator has made it", lambda: len(made()) == 1, 60)
            (monitor,) = made()
            assert monitor["metadata"]["ownerReferences"][0]["kind"] == "Controller"
            require_metrics(world, monitor)
            assert len(selected(world, "prometheusrules", SITE, INSIDE)) == 1
            await_slurmrestd(world)
            world.stack(stack.name, dev_settings(eyes))
            stack.up()
            await_true("both go with the setting", lambda: not made() and not selected(world, KINDS[1], SITE, INSIDE), 60)
        finally:
            world.vacate()
