"""How many nodes a NodeSet should have: one formula, for the autoscaler, for previews and for `status`.

Busy nodes are never asked away: allocated, mixed and completing ones, and, while a job is suspended, every idle one, since
a suspended job holds nodes that slurmctld counts as idle (run). slurmctld counts nodes in each partition that has them, and
a job in the one in which it runs (``statistics.c``, ``part_ptr``), which may share the nodes or be in an outside slurm.conf
alone. So suspended jobs are counted in the whole cluster. Jobs that wait ask for more:

- one node each, up to ``step``, which suits jobs of one node;
- the widest job's least number of nodes at once, else it would never start;
- up to as many nodes as the widest job may take, ``step`` beyond those that stand idle already: a job of eight tasks has a
  least number of one, and only slurmctld knows how many tasks fit on a node.

Idle nodes that somebody has drained serve no job, so they are replaced while jobs wait. HorizontalPodAutoscalers ignore a
difference of 10 % (Kubernetes, ``--horizontal-pod-autoscaler-tolerance``): a demand above what is registered is raised to
11 % above it, else the 21st node would never come.

While no pod of slurmrestd is there, KEDA asks for at least the NodeSet's pods: without its Slurm client slurm-operator takes
its marks off busy pods, and removes those with the highest numbers without a look at their jobs (run, 1.0.1).

Names of metrics: Slurm's metrics guide, and ``/metrics/partitions`` of 26.05 (run); of ``/metrics/jobs`` the guide alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import ceil
from typing import Final, Protocol

METRICS_PATH: Final = "/metrics/partitions"
"""Where slurmctld answers them, on its own port."""
JOBS_PATH: Final = "/metrics/jobs"
"""Where it answers those of the whole cluster."""
METRICS_TYPE: Final = "metrics/openmetrics"
"""MetricsType of slurm.conf; without it slurmctld answers 200 and nothing (run, 26.05)."""
METRICS_SINCE: Final = (25, 11)
"""Slurm's release that first serves metrics."""
BEYOND_TOLERANCE: Final = 1.11

METRICS: Final[Mapping[str, str]] = {
    "alloc": "slurm_partition_nodes_alloc",
    "mixed": "slurm_partition_nodes_mixed",
    "completing": "slurm_partition_nodes_cg",
    "idle": "slurm_partition_nodes_idle",
    "drained": "slurm_partition_nodes_drained",
    "nodes": "slurm_partition_nodes",
    "pending": "slurm_partition_jobs_pending",
    "held": "slurm_partition_jobs_hold",
    "suspended": "slurm_jobs_suspended",
    "narrow": "slurm_partition_jobs_min_job_nodes_nohold",
    "wide": "slurm_partition_jobs_max_job_nodes_nohold",
}
"""Every number of the formula, and the metric that has it."""
OF_CLUSTER: Final = frozenset({"suspended"})
"""Numbers of the whole cluster; all others are of the NodeSet's own partition."""
NODES: Final = "nodes"
"""The one of them that says how far Kubernetes' tolerance reaches."""
WANTED: Final = "wanted"
"""The number that a Prometheus computes of all others."""
RESTAPI, PODS = "restapi", "pods"
"""The formula's other numbers: pods of slurmrestd, and of the NodeSet, as Kubernetes has them."""
BUSY: Final = ("alloc", "mixed", "completing")
"""Those without which a formula asks busy nodes away."""


class _Choice(Protocol):
    """The text of the least or the greatest of some numbers."""

    def __call__(self, first: str, /, *others: str | int) -> str: ...


@dataclass(frozen=True)
class Demand:
    """One look at one partition. The fields are those of :data:`METRICS`."""

    alloc: int = 0
    mixed: int = 0
    completing: int = 0
    idle: int = 0
    """Completing and drained ones included, as slurmctld counts."""
    drained: int = 0
    """Drained without a job."""
    nodes: int = 0
    """Registered with slurmctld."""
    pending: int = 0
    """Jobs and tasks of arrays that wait, held ones included."""
    held: int = 0
    suspended: int = 0
    """In the whole cluster."""
    narrow: int = 0
    """Least number of nodes of the job that needs most."""
    wide: int = 0
    """Most nodes that a job that waits may take; for a job that names none, its number of tasks."""

    @property
    def busy(self) -> int:
        """Nodes that must stay."""
        return self.alloc + self.mixed + self.completing + min(self.suspended, 1) * self.idle

    @property
    def waiting(self) -> int:
        """Jobs that wait and that are not held."""
        return max(self.pending - self.held, 0)

    def wanted(self, step: int) -> int:
        """Busy nodes, and those for the jobs that wait."""
        more = max(min(self.waiting, step), self.narrow, min(self.wide, self.idle - self.drained + step)) + self.drained
        return self.busy + min(self.waiting, 1) * more

    def asked(self, step: int, least: int, most: int) -> int:
        """The number of nodes that the autoscaler comes to."""
        wanted = self.wanted(step)
        raised = max(wanted, ceil(round(self.nodes * BEYOND_TOLERANCE, 6))) if wanted > self.nodes else wanted
        return max(least, min(raised, most))


def formula(step: int) -> str:
    """The same for KEDA (expr-lang): a trigger for each name of :data:`METRICS`, and for both counts of pods."""
    return _asked(_wanted(step, _expr("min"), _expr("max")))


def formula_of_query() -> str:
    """The same over :func:`query`: triggers :data:`WANTED` and :data:`NODES`, and both counts of pods."""
    return _asked(WANTED)


def query(step: int, series: Mapping[str, str]) -> str:
    """:meth:`Demand.wanted` in PromQL; ``series``: an expression of one sample without labels for each of :data:`METRICS`.

    ``scalar`` of a missing series is NaN, and what ``clamp_min`` makes of that is the server's matter. So the sum of all
    numbers is the first term, times zero: without one of them the answer is empty, which KEDA takes for an error
    (``ignoreNullValues: "false"``).
    """
    wanted = _wanted(step, _promql("clamp_max"), _promql("clamp_min"))
    names = [name for name in METRICS if name != NODES]
    text = f"0 * ({' + '.join(names)}) + {wanted}"
    return re.sub(rf"\b({'|'.join(names)})\b", lambda match: series[match[1]], text)


def _expr(function: str) -> _Choice:
    return lambda *values: f"{function}({', '.join(map(str, values))})"


def _promql(function: str) -> _Choice:
    def chosen(first: str, *others: str | int) -> str:
        for other in others:
            first = f"{function}({first}, {other if isinstance(other, int) else f'scalar({other})'})"
        return first

    return chosen


def _wanted(step: int, least: _Choice, greatest: _Choice) -> str:
    busy = f"alloc + mixed + completing + {least('suspended', 1)} * idle"
    waiting = greatest("pending - held", 0)
    more = f"{greatest(least(waiting, step), 'narrow', least('wide', f'idle - drained + {step}'))} + drained"
    return f"({busy} + {least(waiting, 1)} * ({more}))"


def _asked(wanted: str) -> str:
    held = f"(1 - min({RESTAPI}, 1)) * {PODS}"
    return f"max({wanted}, min(max({wanted} - nodes, 0), 1) * nodes * {BEYOND_TOLERANCE}, {held})"


def read(text: str, partition: str) -> Demand | None:
    """The numbers of a partition in slurmctld's answers; None where one of them is missing."""
    labels = {metric: "" if name in OF_CLUSTER else f'{{partition="{partition}"}}' for name, metric in METRICS.items()}
    numbers: dict[str, int] = {}
    for line in text.splitlines():
        series, _, value = line.rpartition(" ")
        name = series.partition("{")[0]
        if series == f"{name}{labels.get(name)}" and value.isascii() and value.isdigit() and len(value) < 19:
            numbers[name] = int(value)
    values = {field.name: numbers.get(METRICS[field.name]) for field in fields(Demand)}
    if any(value is None for value in values.values()):
        return None
    return Demand(**{name: value for name, value in values.items() if value is not None})
