"""Autoscalers of NodeSets as a part. A NodeSet's component registers its autoscaler, which its gate waits for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slinky_iac.config.findings import at
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.autoscale.rules import RULES
from slinky_iac.parts.part import Api, Part

KEDA_API: Final = "keda.sh"
EXTERNAL_METRICS_API: Final = "external.metrics.k8s.io"


class Autoscale(Part):
    """KEDA's ScaledObjects, and HorizontalPodAutoscalers."""

    name = "autoscale"
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

    def reads_metrics(self, config: StackConfig) -> bool:
        """KEDA does, itself or by a Prometheus."""
        found = (nodeset.autoscale for nodeset in config.nodesets.values())
        return any(autoscale is not None and autoscale.by == "keda" for autoscale in found)
