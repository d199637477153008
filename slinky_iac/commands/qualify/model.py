"""What a ladder measured, and its table. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

GATE: Final = "gate"
ROLL: Final = "rollout"
"""Every pod is replaced through the gate, and slurm-operator and slurmrestd are restarted in the middle of it."""
ALONE: Final = "operator alone"
HEAD: Final = (
    "nodes", "step", "seconds", "to drained", "after the jobs", "to Kubernetes", "to slurmrestd", "API server, all",
    "memory MiB", "slurmctld: calls", "its seconds", "jobs lost",
)  # fmt: skip
NONE: Final = "-"


@dataclass(frozen=True)
class Step:
    """One step of a rung."""

    name: str
    seconds: float
    drained_s: float | None = None
    """From the order to the drain of the last selected node."""
    after_jobs_s: float | None = None
    """From the end of the jobs on them to the end of their pods."""
    kubernetes: int | None = None
    """Requests of this program to the API server."""
    slurmrestd: int | None = None
    served: int | None = None
    """Requests that the API server served meanwhile, to all its clients; None where it doesn't tell."""
    gates_mib: float | None = None
    """The most memory of the process that runs the gates, up to its last request."""
    calls: int | None = None
    """Remote procedure calls that slurmctld answered meanwhile, to all its clients; None where it wasn't there before
    and after."""
    call_seconds: float | None = None
    """The time that it took for them."""
    lost: int | None = None
    """Jobs that ended, or began again, before their owner ended them."""
    throttled: int = 0
    """Answers 429 that this program got."""


@dataclass(frozen=True)
class Rung:
    """One size."""

    nodes: int
    steps: tuple[Step, ...]

    @property
    def lost(self) -> int:
        """Jobs lost in all steps but the operator's own."""
        return sum(step.lost or 0 for step in self.steps if step.name != ALONE)

    @property
    def throttled(self) -> int:
        """Answers 429."""
        return sum(step.throttled for step in self.steps)


def rows(rungs: Sequence[Rung]) -> Iterator[tuple[str, ...]]:
    """The table, its head first."""
    yield HEAD
    for rung in rungs:
        for step in rung.steps:
            times = (step.seconds, step.drained_s, step.after_jobs_s)
            counts = (step.kubernetes, step.slurmrestd, step.served)
            yield (
                str(rung.nodes),
                step.name,
                *(NONE if time is None else f"{time:.1f}" for time in times),
                *(NONE if count is None else str(count) for count in counts),
                NONE if step.gates_mib is None else f"{step.gates_mib:.0f}",
                NONE if step.calls is None else str(step.calls),
                NONE if step.call_seconds is None else f"{step.call_seconds:.1f}",
                NONE if step.lost is None else str(step.lost),
            )


def growth(rungs: Sequence[Rung]) -> Iterator[str]:
    """Between the smallest and the largest rung, by step: the exponent e where a figure grows as nodes to the e."""
    if len(rungs) < 2 or rungs[0].nodes == rungs[-1].nodes:
        return
    first, last = rungs[0], rungs[-1]
    for small, large in zip(first.steps, last.steps, strict=True):
        words = [
            f"{what} {math.log(after / before) / math.log(last.nodes / first.nodes):.2f}"
            for what, before, after in (
                ("seconds", small.seconds, large.seconds),
                ("requests to Kubernetes", small.kubernetes, large.kubernetes),
                ("requests to slurmrestd", small.slurmrestd, large.slurmrestd),
                ("memory", small.gates_mib, large.gates_mib),
                ("calls of slurmctld", small.calls, large.calls),
            )
            if before and after
        ]
        if words:
            yield f"growth of {small.name} from {first.nodes} to {last.nodes} nodes, exponents: {', '.join(words)}"
