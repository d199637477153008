"""The section autoscale of a NodeSet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from slinky_iac.config.base import Section
from slinky_iac.config.fields import Seconds
from slinky_iac.config.outputs import COUNTED


class ScaleDown(Section):
    """How fast idle nodes go while others still work."""

    nodes: int = Field(default=4, ge=1)
    """Nodes that may go in each period."""
    every: Annotated[Seconds, Field(ge=15, le=1800)] = 60
    """The period: 15 s to 30 min."""


class Autoscale(Section):
    """An autoscaler that the stack makes for a NodeSet with owner: autoscaler (docs/autoscaling.md). It asks for the busy
    nodes and for what the jobs that wait need, never for fewer nodes than are busy. No metric means no change."""

    finding_ids: ClassVar[Mapping[str, str]] = {
        "autoscale-many-requests": (
            "KEDA asks slurmctld itself for the metrics of many NodeSets, more than 20 times a second. Read them from a"
            " Prometheus ([autoscaling.md](autoscaling.md#what-it-costs-slurmctld))."
        ),
        "autoscale-shared-partition": (
            "An autoscaler counts jobs that wait in its NodeSet's own partition, and another partition has the same nodes."
            " Acknowledge it if users submit to the NodeSet's own partition ([autoscaling.md](autoscaling.md))."
        ),
        "autoscale-without-keda": (
            "A NodeSet has `autoscale`, and the Kubernetes cluster has no KEDA. Install it before the update"
            " ([autoscaling.md](autoscaling.md))."
        ),
        "autoscale-without-metrics": (
            "A NodeSet has `autoscale.by: hpa`, and the Kubernetes cluster serves no external metrics."
        ),
    }
    takes_none: ClassVar[Mapping[str, str]] = {"source": COUNTED, "metric": COUNTED, "labels.**": COUNTED}

    by: Literal["keda", "hpa"] = "keda"
    """keda: a ScaledObject, which KEDA 2.17 or newer carries out, down to zero. hpa: a HorizontalPodAutoscaler on a metric
    of your own (`metric`), down to one."""
    min_replicas: int = Field(default=0, ge=0)
    """Nodes that stay when there are no jobs."""
    step: int = Field(default=4, ge=1)
    """Nodes requested at a time for one-node jobs; a job that needs more nodes gets them at once."""
    poll: Annotated[Seconds, Field(ge=5, le=300)] = 15
    """How often KEDA asks for the metrics."""
    cooldown: Annotated[Seconds, Field(ge=60, le=86400)] = 300
    """How long demand must have been lower before nodes go, and how long there must have been none before the last one
    goes: 1 min to 1 day. Between two numbers above zero Kubernetes allows at most 1 h of it."""
    scale_down: ScaleDown = ScaleDown()
    """How fast idle nodes go while others still work."""
    source: Annotated[str, Field(pattern=r"^(slurmctld|https?://[^\s@]+)$")] = "slurmctld"
    """Where KEDA reads slurmctld's metrics: slurmctld itself, or the address of a Prometheus that scrapes
    /metrics/partitions and /metrics/jobs."""
    metric: Annotated[str, Field(pattern=r"^[A-Za-z_:][A-Za-z0-9_:.-]*$")] | None = None
    """With by: hpa, the name of an external metric whose value is the number of nodes that the NodeSet should have."""
    labels: dict[str, Annotated[str, Field(pattern=r'^[^"\\\n]*$')]] = Field(default_factory=dict)
    """Labels that tell this cluster's series from others: of Prometheus as the source, or of `metric`."""
