"""What a stack makes for Prometheus and Grafana: each object whole."""

import json

from slinky_iac.commands.status.metrics import METRICS
from slinky_iac.config.reading.load import load
from slinky_iac.parts.monitoring.alerts import alerts, groups
from slinky_iac.parts.monitoring.objects import (
    dashboard,
    metrics_endpoint,
    rule_spec,
    service_monitor,
    status_job,
)
from slinky_iac.parts.monitoring.settings import StatusJob
from slinky_iac.parts.slurmctld.settings import METRICS_PATHS
from slinky_iac.specs.daemons import controller_spec
from slinky_iac.specs.slurm_conf import outside_slurm_conf
from tests.stacks import minimal, outside

STATUS = {"image": "r.example.org/slinky:1", "serviceAccount": "eyes", "folder": "/var/lib/node_exporter"}


def inside(**monitoring):
    return load(minimal(monitoring=monitoring))


def out(**monitoring):
    found = outside()
    return load(found | {"monitoring": monitoring})


def test_the_folder_of_a_status_is_on_another_machine():
    assert StatusJob.elsewhere == {"folder"}


def test_a_stack_that_asks_for_nothing_has_the_spec_of_before():
    assert "metrics" not in controller_spec(load(minimal()))
    plain = controller_spec(load(minimal(controller={"metrics": True})))
    assert plain["metrics"] == {"enabled": True, "serviceMonitor": {"enabled": False}}
    assert metrics_endpoint(load(outside()), load(outside()).monitoring) is None
    assert "MetricsType" not in outside_slurm_conf(load(outside()))


def test_slurmctld_in_kubernetes_serves_metrics_and_the_operator_makes_its_service_monitor():
    assert controller_spec(inside(slurmctld=True, interval="1m", labels={"release": "kps"}))["metrics"] == {
        "enabled": True,
        "serviceMonitor": {
            "enabled": True,
            "interval": "60s",
            "endpoints": [{"path": path} for path in METRICS_PATHS],
            "labels": {"release": "kps"},
        },
    }


def test_an_outside_slurmctld_is_scraped_at_its_own_address_and_port():
    config = out(slurmctld=True, slurmctldAddress="192.0.2.10")
    found = metrics_endpoint(config, config.monitoring)
    port = config.controller.external.port
    assert found.slice["endpoints"] == [{"addresses": ["192.0.2.10"], "conditions": {"ready": True}}]
    assert found.slice["ports"] == [{"name": "metrics", "port": port, "protocol": "TCP"}]
    assert found.service["ports"][0]["name"] == "metrics"
    spec = service_monitor(config, config.monitoring)
    assert {each["path"] for each in spec["endpoints"]} == set(METRICS_PATHS)
    assert {(each["port"], each["interval"], each["scrapeTimeout"]) for each in spec["endpoints"]} == {
        ("metrics", "30s", "25s")
    }
    assert spec["namespaceSelector"] == {"matchNames": [config.cluster.namespace]}
    assert "MetricsType=metrics/openmetrics" in outside_slurm_conf(config)


def test_alerts_rest_on_metrics_that_are_there_and_say_what_to_do():
    own = set(METRICS)
    for each in alerts():
        used = {word for word in own if word in each.expr} or {"slurm_nodes"}
        assert used
        assert each.summary.endswith(".")
        assert each.what_to_do.endswith(".")
    assert [each.name for each in alerts(slurmctld=False)] == [each.name for each in alerts()][:-1]
    assert rule_spec(inside(rules=True, keyAge="10d").monitoring) == groups(alerts(10 * 86_400, slurmctld=False))


def test_every_panel_asks_for_metrics_that_are_there():
    found = json.loads(dashboard())
    panels = [panel for panel in found["panels"] if panel["type"] != "row"]
    assert len(panels) == 12
    for panel in panels:
        for target in panel["targets"]:
            assert any(name in target["expr"] for name in METRICS) or "slurm_" in target["expr"], panel["title"]
        assert panel["description"], panel["title"]


def test_every_panel_shows_whose_its_lines_are_and_the_last_value_of_its_numbers():
    """What the SDK leaves out or writes as null is Grafana's to guess; it writes a legend that isn't shown."""
    for panel in json.loads(dashboard())["panels"]:
        options = panel.get("options")
        if panel["type"] == "timeseries":
            assert options["legend"]["showLegend"] is True, panel["title"]
        elif panel["type"] != "row":
            assert options["reduceOptions"]["calcs"] == ["lastNotNull"], panel["title"]


def test_the_status_job_never_leaves_half_a_file_and_mounts_no_key():
    config = inside(status=STATUS)
    spec = status_job(config, config.monitoring.status)
    pod = spec["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    script = container["command"][-1]
    assert "slinky status --from /watched/watched.json --prometheus > /tmp/slinky-iac.prom" in script
    assert script.endswith('mv "/textfile/slinky-iac.prom.$POD" /textfile/slinky-iac.prom'), "two pods write two files"
    assert spec["concurrencyPolicy"] == "Forbid"
    assert pod["serviceAccountName"] == "eyes"
    assert {next(iter(each.keys() - {"name"})) for each in pod["volumes"]} == {"hostPath", "configMap", "emptyDir"}
    assert "envFrom" not in container, "no credential of a backend"
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
