"""All parts, and what is asked of all of them at once."""

from __future__ import annotations

from typing import Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.autoscale.part import Autoscale
from slinky_iac.parts.jobs.part import Jobs
from slinky_iac.parts.monitoring.part import Monitoring
from slinky_iac.parts.munge.part import Munge
from slinky_iac.parts.node_table.part import NodeTable
from slinky_iac.parts.part import Part
from slinky_iac.specs.shared import Spec

PARTS: Final[tuple[Part, ...]] = (
    Autoscale(),
    Jobs(),
    Monitoring(),
    Munge(),
    NodeTable(),
)


def reads_metrics(config: StackConfig) -> bool:
    """Whether any part needs the metrics of slurmctld."""
    return any(part.reads_metrics(config) for part in PARTS)


def service_monitor(config: StackConfig) -> Spec:
    """``metrics.serviceMonitor`` of a Controller in Kubernetes."""
    found = (part.service_monitor(config) for part in PARTS)
    return next((each for each in found if each is not None), {"enabled": False})
