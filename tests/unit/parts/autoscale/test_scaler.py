"""The autoscaler as KEDA and Kubernetes take it, and what slurmctld must have for it."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.node_demand import METRICS, formula, formula_of_query, query
from slinky_iac.parts.autoscale.scaler import scaler
from slinky_iac.specs.daemons import controller_spec
from slinky_iac.specs.endpoints import metrics_url
from slinky_iac.specs.objects import Object
from slinky_iac.specs.slurm_conf import outside_slurm_conf
from tests.stacks import minimal, outside

_OWN = 'partition="gpu",'


def scaled(**autoscale: Any) -> dict[str, Any]:
    return {"gpu": {"replicas": 0, "owner": "autoscaler", "maxReplicas": 8, "autoscale": autoscale}}


def made(config: StackConfig) -> Object:
    found = scaler(config, "gpu", config.nodesets["gpu"])
    assert found is not None
    return found


def test_a_scaled_object_is_made_as_keda_takes_it() -> None:
    found = made(load(minimal(nodesets=scaled(step=2, cooldown="10m", scaleDown={"nodes": 1, "every": "2m"}))))
    triggers = found.body["spec"].pop("triggers")
    assert (found.api_version, found.kind, found.name) == ("keda.sh/v1alpha1", "ScaledObject", "slurm-worker-gpu")
    assert found.body["spec"] == {
        "scaleTargetRef": {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet", "name": "slurm-worker-gpu"},
        "pollingInterval": 15,
        "cooldownPeriod": 600,
        "initialCooldownPeriod": 600,
        "minReplicaCount": 0,
        "maxReplicaCount": 8,
        "advanced": {
            "horizontalPodAutoscalerConfig": {
                "behavior": {
                    "scaleDown": {
                        "stabilizationWindowSeconds": 600,
                        "policies": [{"type": "Pods", "value": 1, "periodSeconds": 120}],
                    },
                    "scaleUp": {
                        "stabilizationWindowSeconds": 0,
                        "policies": [{"type": "Pods", "value": 8, "periodSeconds": 15}],
                    },
                }
            },
            "scalingModifiers": {
                "formula": formula(2),
                "target": "1",
                "activationTarget": "0",
                "metricType": "AverageValue",
            },
        },
    }
    assert [trigger["name"] for trigger in triggers] == [*METRICS, "restapi", "pods"]
    assert triggers[-2:] == [
        {
            "type": "kubernetes-workload",
            "name": trigger,
            "metricType": "AverageValue",
            "metadata": {
                "podSelector": f"app.kubernetes.io/name={name},app.kubernetes.io/instance={instance}",
                "value": "1",
            },
        }
        for trigger, name, instance in (("restapi", "slurmrestd", "slurm"), ("pods", "slurmd", "slurm-worker-gpu"))
    ]
    assert triggers[0] == {
        "type": "metrics-api",
        "name": "alloc",
        "metricType": "AverageValue",
        "metadata": {
            "url": "http://slurm-controller.slurm.svc:6817/metrics/partitions",
            "format": "prometheus",
            "valueLocation": 'slurm_partition_nodes_alloc{partition="gpu"}',
            "targetValue": "1",
        },
    }


@pytest.mark.parametrize("least", [0, 1, 5])
def test_missing_metrics_never_scale_to_zero(least: int) -> None:
    """Without a fallback KEDA changes nothing where a trigger is in error (run, 2.17.0)."""
    assert "fallback" not in made(load(minimal(nodesets=scaled(minReplicas=least)))).body["spec"]


def test_suspended_jobs_are_asked_for_in_the_whole_cluster() -> None:
    """A job of another partition may be suspended on this NodeSet's nodes, which count as idle."""

    def triggers(**autoscale: Any) -> dict[str, Any]:
        spec = made(load(minimal(nodesets=scaled(**autoscale)))).body["spec"]
        return {each["name"]: each["metadata"] for each in spec["triggers"]}

    asked = triggers()["suspended"]
    assert asked["url"] == "http://slurm-controller.slurm.svc:6817/metrics/jobs"
    assert asked["valueLocation"] == "slurm_jobs_suspended"
    source = "http://prometheus:9090"
    assert " max(slurm_jobs_suspended) " in triggers(source=source)["wanted"]["query"]
    labelled = triggers(source=source, labels={"cluster": "a"})["wanted"]["query"]
    assert ' max(slurm_jobs_suspended{cluster="a"}) ' in labelled


def requests(spec: dict[str, Any], kinds: set[str]) -> int:
    """Requests of one reading of KEDA's: it carries out every trigger (``GetMetricsAndActivityForScaler``)."""
    return sum(each["type"] in kinds for each in spec["triggers"])


@pytest.mark.parametrize(("source", "asked"), [("slurmctld", (11, 0)), ("http://prometheus:9090", (0, 2))])
def test_a_reading_of_keda_has_so_many_requests(source: str, asked: tuple[int, int]) -> None:
    spec = made(load(minimal(nodesets=scaled(source=source)))).body["spec"]
    assert (requests(spec, {"metrics-api"}), requests(spec, {"prometheus"})) == asked
    assert requests(spec, {"kubernetes-workload"}) == 2


def test_a_series_that_prometheus_lacks_is_no_zero() -> None:
    source = {"source": "http://prometheus.monitoring:9090", "labels": {"cluster": "atlas"}}
    spec = made(load(minimal(nodesets=scaled(step=3, **source)))).body["spec"]
    assert spec["advanced"]["scalingModifiers"]["formula"] == formula_of_query()
    series = {
        name: f'max({metric}{{{"" if name == "suspended" else _OWN}cluster="atlas"}})' for name, metric in METRICS.items()
    }
    assert [(each["type"], each["name"], each["metadata"]) for each in spec["triggers"][:2]] == [
        (
            "prometheus",
            name,
            {
                "serverAddress": "http://prometheus.monitoring:9090",
                "query": text,
                "threshold": "1",
                "ignoreNullValues": "false",
            },
        )
        for name, text in (("wanted", query(3, series)), ("nodes", series["nodes"]))
    ]
    assert [each["name"] for each in spec["triggers"][2:]] == ["restapi", "pods"]


def test_a_plain_autoscaler_goes_by_the_site_s_metric() -> None:
    found = made(load(minimal(nodesets=scaled(by="hpa", minReplicas=1, metric="gpu_nodes", labels={"a": "b"}))))
    assert (found.api_version, found.kind) == ("autoscaling/v2", "HorizontalPodAutoscaler")
    assert (found.body["spec"]["minReplicas"], found.body["spec"]["maxReplicas"]) == (1, 8)
    target = {"type": "AverageValue", "averageValue": "1"}
    metric = {"name": "gpu_nodes", "selector": {"matchLabels": {"a": "b"}}}
    assert found.body["spec"]["metrics"] == [{"type": "External", "external": {"metric": metric, "target": target}}]


def test_a_long_cooldown_is_no_longer_window_than_kubernetes_takes() -> None:
    spec = made(load(minimal(nodesets=scaled(cooldown="6h")))).body["spec"]
    behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    assert spec["cooldownPeriod"] == 21600
    assert behavior["scaleDown"]["stabilizationWindowSeconds"] == 3600


def test_a_nodeset_without_one_has_no_autoscaler() -> None:
    config = load(minimal(nodesets={"gpu": {"replicas": 0, "owner": "autoscaler", "maxReplicas": 8}}))
    assert scaler(config, "gpu", config.nodesets["gpu"]) is None


def test_metrics_of_an_outside_slurmctld_are_asked_there() -> None:
    assert metrics_url(load(outside(nodesets=scaled()))) == "http://ctl.example.org:6817/metrics/partitions"
    six = outside(controller={"external": {"host": "2001:db8::1"}}, nodesets=scaled())
    assert metrics_url(load(six)) == "http://[2001:db8::1]:6817/metrics/partitions"


@pytest.mark.parametrize(("nodesets", "there"), [(scaled(), True), ({"gpu": {"replicas": 1}}, False)])
def test_slurmctld_serves_metrics_where_an_autoscaler_goes_by_them(nodesets: dict[str, Any], there: bool) -> None:
    assert ("metrics" in controller_spec(load(minimal(nodesets=nodesets)))) is there
    assert ("MetricsType=metrics/openmetrics" in outside_slurm_conf(load(outside(nodesets=nodesets)))) is there
