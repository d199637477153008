"""Cases for the rules of autoscalers."""

from __future__ import annotations

from typing import Any

from tests.stacks import merged, minimal
from tests.unit.config.rule_cases import Case, nodeset

KEDA = {"networkPolicies": {"clients": {"slurmctld": [{"namespace": "keda"}]}}}

MANY = {"replicas": 0, "owner": "autoscaler", "maxReplicas": 4, "autoscale": {}}


def scaled(autoscale: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return nodeset(owner="autoscaler", maxReplicas=4, autoscale=autoscale, **settings)


def cure(**autoscale: Any) -> dict[str, Any]:
    return {"nodesets": {"gpu": {"autoscale": autoscale}}}


CASES = [
    Case(
        "a label that no query of Prometheus can have",
        scaled({"source": "https://prometheus.example.org", "labels": {"k8s-cluster": "a b"}}),
        "error",
        "nodesets.gpu.autoscale.labels.k8s-cluster",
        ("label of Prometheus", "keep its size"),
        {"nodesets": {"gpu": {"autoscale": {"labels": None}}}},
    ),
    Case(
        "a label that no selector of an external metric can have",
        scaled({"by": "hpa", "minReplicas": 1, "metric": "nodes", "labels": {"k8s-cluster": "a b"}}),
        "error",
        "nodesets.gpu.autoscale.labels.k8s-cluster",
        ("label of Kubernetes", "half done"),
        {"nodesets": {"gpu": {"autoscale": {"labels": {"k8s-cluster": "a_b"}}}}},
    ),
    Case(
        "an autoscaler beside the gate's number",
        nodeset(autoscale={}),
        "error",
        "nodesets.gpu.autoscale",
        ("owner: stack", "maxReplicas"),
        {"nodesets": {"gpu": {"owner": "autoscaler", "maxReplicas": 4}}},
    ),
    Case(
        "more at the least than at the most",
        scaled({"minReplicas": 5}),
        "error",
        "nodesets.gpu.autoscale.minReplicas",
        ("above maxReplicas 4",),
        cure(minReplicas=4),
    ),
    Case(
        "an autoscaler whose maximum is 0",
        nodeset(owner="autoscaler", replicas=0, maxReplicas=0, autoscale={}),
        "error",
        "nodesets.gpu.maxReplicas",
        ("1 or more",),
        {"nodesets": {"gpu": {"maxReplicas": 1}}},
    ),
    Case(
        "an autoscaler without a maximum, from no node on",
        nodeset(owner="autoscaler", replicas=0, autoscale={}),
        "error",
        "nodesets.gpu.maxReplicas",
        ("the maximum is replicas",),
        {"nodesets": {"gpu": {"maxReplicas": 3}}},
    ),
    Case(
        "a HorizontalPodAutoscaler without a metric",
        scaled({"by": "hpa", "minReplicas": 1}),
        "error",
        "nodesets.gpu.autoscale.metric",
        ("external metric",),
        cure(metric="gpu_nodes"),
    ),
    Case(
        "a HorizontalPodAutoscaler down to zero",
        scaled({"by": "hpa", "metric": "gpu_nodes"}),
        "error",
        "nodesets.gpu.autoscale.minReplicas",
        ("1 or more",),
        cure(minReplicas=1),
    ),
    Case(
        "a metric that KEDA doesn't use",
        scaled({"metric": "gpu_nodes"}),
        "error",
        "nodesets.gpu.autoscale.metric",
        ("no effect",),
        cure(metric=None),
    ),
    Case(
        "a NodeSet without a partition of its own",
        scaled({}, partition={"enabled": False}),
        "error",
        "nodesets.gpu.autoscale",
        ("a partition of the NodeSet's own",),
        {"nodesets": {"gpu": {"partition": {"enabled": True}}}},
    ),
    Case(
        "a Slurm without metrics",
        merged(scaled({}), {"cluster": {"slurmVersion": "25.05"}}),
        "error",
        "nodesets.gpu.autoscale",
        ("25.11",),
        {"cluster": {"slurmVersion": "26.05"}},
    ),
    Case(
        "KEDA kept out by the network policies",
        merged(scaled({}), {"networkPolicies": {"enabled": True, "apiServer": [{"cidr": "192.0.2.1/32"}]}}),
        "error",
        "nodesets.gpu.autoscale",
        ("networkPolicies.clients.slurmctld",),
        KEDA,
    ),
    Case(
        "PrivateData, which switches metrics off",
        merged(scaled({}), {"controller": {"extraConf": {"PrivateData": "jobs"}}}),
        "error",
        "controller.extraConf.PrivateData",
        ("metrics off",),
        {"controller": {"extraConf": {"PrivateData": None}}},
    ),
    Case(
        "another MetricsType",
        merged(scaled({}), {"controller": {"extraConf": {"MetricsType": "none"}}}),
        "error",
        "controller.extraConf.MetricsType",
        ("is read here",),
        {"controller": {"extraConf": {"MetricsType": None}}},
    ),
]
TOLD = [
    Case(
        "a partition that has the same nodes",
        merged(scaled({}), {"partitions": {"both": {"nodesets": ["gpu"]}}}),
        "warning",
        "nodesets.gpu.autoscale",
        ("partition gpu only", "those of both"),
        {"partitions": {"both": None}},
    ),
    Case(
        "KEDA asks slurmctld itself for fourteen NodeSets",
        minimal(nodesets={f"gpu{each}": MANY for each in range(14)}),
        "warning",
        "nodesets",
        ("21 times a second", "14 NodeSets", "autoscale.source", "two requests a scrape"),
        {"nodesets": {"gpu13": {"autoscale": {"source": "http://prometheus.monitoring:9090"}}}},
    ),
]
