"""Autoscalers of NodeSets as a part. A NodeSet's component registers its autoscaler, which its gate waits for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from slinky_iac.config.findings import at
from slinky_iac.config.stack import ClusterConfig, StackConfig
from slinky_iac.config.workers import NodeSet
from slinky_iac.parts.autoscale.rules import RULES, asks_slurmctld
from slinky_iac.parts.autoscale.scaler import gate_props, scaler
from slinky_iac.parts.part import Api, Part
from slinky_iac.specs.objects import Object
from slinky_iac.specs.rights import Right, Use

KEDA_API: Final = "keda.sh"
EXTERNAL_METRICS_API: Final = "external.metrics.k8s.io"


class Autoscale(Part):
    """KEDA's ScaledObjects, and HorizontalPodAutoscalers."""

    name = "autoscale"
    metrics_reader = ("the autoscaler", "autoscale from the NodeSets")
    rules = RULES

    def apis(self, config: StackConfig) -> Iterator[Api]:
        """KEDA's, or that of external metrics."""
        for name, nodeset in config.nodesets.items():
            path = at(f"nodesets.{name}.autoscale")
            if nodeset.autoscale is not None and nodeset.autoscale.by == "keda":
                yield Api(
                    KEDA_API,
                    path.warning(
                        f"this Kubernetes has no KEDA (no API group {KEDA_API}): `pulumi up` fails at the ScaledObject, and"
                        " the number of nodes stays as it is. Install KEDA 2.17 or newer first",
                        id="autoscale-without-keda",
                    ),
                )
            elif nodeset.autoscale is not None:
                yield Api(
                    EXTERNAL_METRICS_API,
                    path.warning(
                        f"this Kubernetes serves no external metrics (no API group {EXTERNAL_METRICS_API}), so the"
                        " HorizontalPodAutoscaler changes nothing. Install the adapter that serves the metric",
                        id="autoscale-without-metrics",
                    ),
                )

    def of_nodeset(self, config: ClusterConfig, name: str, nodeset: NodeSet) -> Iterator[Object]:
        """Its autoscaler."""
        autoscaler = scaler(config, name, nodeset)
        if autoscaler is not None:
            yield autoscaler

    def gate_props(self, config: ClusterConfig, name: str, nodeset: NodeSet) -> Mapping[str, Any]:
        """The one that it pauses."""
        return gate_props(config, name, nodeset)

    def rights(self, config: StackConfig, use: Use) -> Iterator[Right]:
        """To see who writes the number of pods, and whether an own autoscaler is paused."""
        namespace = config.cluster.namespace
        if use in (Use.REVIEW, Use.APPLY):
            why = "who else writes the number of pods"
            yield Right("autoscaling", "horizontalpodautoscalers", ("list",), why, (), namespace)
            yield Right(KEDA_API, "scaledobjects", ("list",), why, (), namespace)
        own = (scaler(config, name, nodeset) for name, nodeset in config.nodesets.items())
        if paused := tuple(autoscaler.name for autoscaler in own if autoscaler is not None and autoscaler.group == KEDA_API):
            why = "whether an autoscaler is paused, and its maximum"
            yield Right(KEDA_API, "scaledobjects", ("get",), why, paused, namespace)

    def asks_slurmctld(self, config: StackConfig) -> bool:
        """KEDA does, where no Prometheus is its source."""
        autoscalers = (nodeset.autoscale for nodeset in config.nodesets.values())
        return any(autoscale is not None and asks_slurmctld(autoscale) for autoscale in autoscalers)

    def reads_metrics(self, config: StackConfig) -> bool:
        """KEDA does, itself or by a Prometheus."""
        autoscalers = (nodeset.autoscale for nodeset in config.nodesets.values())
        return any(autoscale is not None and autoscale.by == "keda" for autoscale in autoscalers)
