"""Autoscalers of NodeSets: KEDA's ScaledObject, or a HorizontalPodAutoscaler on a metric of the site.

Sources: KEDA 2.17 (``apis/keda/v1alpha1``, ``pkg/scaling``, ``pkg/fallback``, ``pkg/scalers/metrics_api_scaler.go``),
Kubernetes 1.34 (autoscaling/v2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from slinky_iac import names
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.config.workers import NodeSet
from slinky_iac.node_demand import (
    JOBS_PATH,
    METRICS,
    METRICS_PATH,
    NODES,
    OF_CLUSTER,
    PODS,
    RESTAPI,
    WANTED,
    formula,
    formula_of_query,
    query,
)
from slinky_iac.parts.autoscale.settings import Autoscale
from slinky_iac.specs.endpoints import metrics_url
from slinky_iac.specs.objects import Object
from slinky_iac.specs.shared import Spec

LONGEST_WINDOW_S: Final = 3600
"""Kubernetes' limit of stabilizationWindowSeconds."""
SYNC_S: Final = 15
"""How often Kubernetes looks at a HorizontalPodAutoscaler."""


def scaler_name(cluster: str, nodeset: str) -> str:
    """Name of the autoscaler of a NodeSet. KEDA calls its HorizontalPodAutoscaler by
    :data:`slinky_iac.kube.scalers.KEDA_HPA` and this."""
    return names.nodeset_resource(cluster, nodeset)


def scaler(config: ClusterConfig, name: str, nodeset: NodeSet) -> Object | None:
    """The autoscaler of a NodeSet; None where the stack makes none."""
    autoscale = nodeset.autoscale
    if autoscale is None:
        return None
    if autoscale.by == "hpa":
        api, kind, spec = "autoscaling/v2", "HorizontalPodAutoscaler", _hpa(config, name, nodeset, autoscale)
    else:
        api, kind, spec = "keda.sh/v1alpha1", "ScaledObject", _scaled_object(config, name, nodeset, autoscale)
    made = scaler_name(config.cluster.resource_name, name)
    return Object(
        logical=f"{config.cluster.namespace}-{made}-{kind.lower()}",
        api_version=api,
        kind=kind,
        name=made,
        body={"spec": spec},
        is_shared=True,
    )


def gate_props(config: ClusterConfig, name: str, nodeset: NodeSet) -> dict[str, Any]:
    """What a gate has to know of the autoscaler that it pauses; nothing where there is none that can be."""
    autoscale = nodeset.autoscale
    if autoscale is None or autoscale.by != "keda":
        return {}
    made = scaler_name(config.cluster.resource_name, name)
    return {"autoscaler": made, "autoscalerStep": autoscale.step, "autoscalerMinimum": autoscale.min_replicas}


def _scaled_object(config: ClusterConfig, name: str, nodeset: NodeSet, autoscale: Autoscale) -> Spec:
    return {
        "scaleTargetRef": _target(config, name),
        "pollingInterval": autoscale.poll,
        "cooldownPeriod": autoscale.cooldown,
        "initialCooldownPeriod": autoscale.cooldown,
        "minReplicaCount": autoscale.min_replicas,
        "maxReplicaCount": nodeset.most,
        # No `fallback`: without one a trigger in error changes nothing (RequestScale). With `replicas: 0` KEDA scales to
        # zero under running jobs, and `behavior: currentReplicas` ends KEDA 2.17.0 with a nil pointer for any kind but
        # Deployments and StatefulSets (run).
        "advanced": {
            "horizontalPodAutoscalerConfig": {"behavior": _behavior(nodeset, autoscale)},
            "scalingModifiers": {
                "formula": formula(autoscale.step) if autoscale.source == "slurmctld" else formula_of_query(),
                "target": "1",
                "activationTarget": "0",
                "metricType": "AverageValue",
            },
        },
        "triggers": [
            *_numbers(config, name, autoscale),
            _pods(RESTAPI, "slurmrestd", config.cluster.resource_name),
            _pods(PODS, "slurmd", names.nodeset_resource(config.cluster.resource_name, name)),
        ],
    }


def _pods(trigger: str, daemon: str, instance: str) -> Spec:
    """Pods of the namespace, those that have ended excepted."""
    selector = f"{names.LABEL_NAME}={daemon},{names.LABEL_INSTANCE}={instance}"
    metadata = {"podSelector": selector, "value": "1"}
    return {"type": "kubernetes-workload", "name": trigger, "metricType": "AverageValue", "metadata": metadata}


def _numbers(config: ClusterConfig, partition: str, autoscale: Autoscale) -> Iterator[Spec]:
    """Slurm's numbers: of slurmctld one a request, since metrics-api has no arithmetic; of a Prometheus two in all."""
    if autoscale.source == "slurmctld":
        for trigger in METRICS:
            url = metrics_url(config, JOBS_PATH if trigger in OF_CLUSTER else METRICS_PATH)
            metadata = {
                "url": url,
                "format": "prometheus",
                "valueLocation": _series(trigger, partition, {}),
                "targetValue": "1",
            }
            yield {"type": "metrics-api", "name": trigger, "metricType": "AverageValue", "metadata": metadata}
        return
    series = {trigger: f"max({_series(trigger, partition, autoscale.labels)})" for trigger in METRICS}
    for trigger, text in ((WANTED, query(autoscale.step, series)), (NODES, series[NODES])):
        # By default KEDA takes an empty answer for zero.
        metadata = {"serverAddress": autoscale.source, "query": text, "threshold": "1", "ignoreNullValues": "false"}
        yield {"type": "prometheus", "name": trigger, "metricType": "AverageValue", "metadata": metadata}


def _series(trigger: str, partition: str, own: Mapping[str, str]) -> str:
    labels = ({} if trigger in OF_CLUSTER else {"partition": partition}) | dict(own)
    inner = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return f"{METRICS[trigger]}{{{inner}}}" if inner else METRICS[trigger]


def _hpa(config: ClusterConfig, name: str, nodeset: NodeSet, autoscale: Autoscale) -> Spec:
    metric: Spec = {"name": autoscale.metric}
    if autoscale.labels:
        metric["selector"] = {"matchLabels": dict(autoscale.labels)}
    target = {"type": "AverageValue", "averageValue": "1"}
    return {
        "scaleTargetRef": _target(config, name),
        "minReplicas": autoscale.min_replicas,
        "maxReplicas": nodeset.most,
        "behavior": _behavior(nodeset, autoscale),
        "metrics": [{"type": "External", "external": {"metric": metric, "target": target}}],
    }


def _behavior(nodeset: NodeSet, autoscale: Autoscale) -> Spec:
    """Up at once, as far as it takes: a wide job needs all its nodes. Down after the cool-down, and in steps."""
    down = {"type": "Pods", "value": autoscale.scale_down.nodes, "periodSeconds": autoscale.scale_down.every}
    up = {"type": "Pods", "value": max(nodeset.most, 1), "periodSeconds": SYNC_S}
    return {
        "scaleDown": {"stabilizationWindowSeconds": min(autoscale.cooldown, LONGEST_WINDOW_S), "policies": [down]},
        "scaleUp": {"stabilizationWindowSeconds": 0, "policies": [up]},
    }


def _target(config: ClusterConfig, name: str) -> Spec:
    made = names.nodeset_resource(config.cluster.resource_name, name)
    return {"apiVersion": names.API_VERSION, "kind": "NodeSet", "name": made}
