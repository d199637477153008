"""What the objects of monitoring can't have is refused as it is read, before an update is half done over it."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.errors import ConfigError
from slinky_iac.parts.monitoring.cron import longest_gap
from tests.stacks import minimal
from tests.unit.chart.reading import taken
from tests.unit.parts.monitoring.rule_cases import STATUS

WRONG = {
    "labels.release": {"labels": {"release": "kube prometheus"}},
    "labels.a b": {"labels": {"a b": "c"}},
    "dashboardLabels.grafana": {"dashboardLabels": {"grafana": "-a"}},
    "status.nodeSelector.pool": {"status": STATUS | {"nodeSelector": {"pool": "x" * 64}}},
    "status.folder": {"status": STATUS | {"folder": "var/lib/node_exporter"}},
    "interval": {"slurmctld": True, "interval": 0},
}


@pytest.mark.parametrize(("path", "given"), WRONG.items(), ids=WRONG)
def test_what_the_api_server_or_prometheus_refuses_is_an_error(path: str, given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        load(minimal(monitoring=given))
    assert [each.split(": ")[0] for each in caught.value.faults] == [f"monitoring.{path}"]


def test_labels_of_kubernetes_are_taken() -> None:
    labels = {"release": "kps_1.x", "example.org/team": "", "a": "x" * 63}
    read = load(minimal(monitoring={"labels": labels, "status": STATUS | {"nodeSelector": labels}})).monitoring
    assert read.labels == labels
    assert read.status is not None
    assert read.status.node_selector == labels


@pytest.mark.parametrize(
    ("schedule", "gap"),
    [
        ("*/5 * * * *", 5),
        ("*/7 * * * *", 7),
        ("0,30 * * * ?", 30),
        ("15 * * * *", 60),
        ("0 6-18/2 * * *", 12 * 60),
        ("0 0 * * *", 24 * 60),
        ("10/20 0-23 1-31 JAN-dec 0-6", 20),
        ("*/5 * * * 1-5", None),
        ("*/5 * 1 * *", None),
    ],
)
def test_the_longest_time_between_two_runs_of_a_schedule(schedule: str, gap: int | None) -> None:
    assert longest_gap(schedule) == gap


@pytest.mark.parametrize(
    "schedule", ["60 * * * *", "* * 0 * *", "* * * 13 *", "* * * * 7", "*/0 * * * *", "5-1 * * * *", "a * * * *"]
)
def test_what_is_no_schedule_is_said_with_its_field(schedule: str) -> None:
    with pytest.raises(ValueError, match="of cron, which has numbers from"):
        longest_gap(schedule)


def test_keys_of_the_chart_for_a_service_monitor_are_its_settings() -> None:
    monitor = "serviceMonitor: {enabled: true, interval: 5s, labels: {release: prom}, scrapeTimeout: 3s}"
    settings, left = taken(f"controller: {{metrics: {{enabled: true, {monitor}}}}}")
    assert settings["monitoring"] == {"slurmctld": True, "interval": "5s", "labels": {"release": "prom"}}
    raw = {"spec": {"metrics": {"serviceMonitor": {"scrapeTimeout": "3s"}}}}
    assert (settings["controller"], left) == ({"metrics": True, "raw": raw}, {})
