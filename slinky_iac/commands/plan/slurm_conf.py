"""What slurm.conf loses by an update, from the step of its gate; its ``plan`` is made by ``slinky_iac/drain/preview.py``.

The gate keeps its last plan while nothing leaves, so a plan counts only where the step itself takes lines away, or is new.
"""

from __future__ import annotations

from typing import Final

from slinky_iac.commands.plan.gate_inputs import GatePlan, Inputs, fresh
from slinky_iac.commands.plan.model import Drain, Job, Node
from slinky_iac.commands.plan.wire import Json
from slinky_iac.text import moment

CONF: Final = "pulumi-python:dynamic/slurm:SlurmConfGate"
ASK: Final = "the preview has no plan for what slurm.conf loses: slurmrestd may not have answered. Take another preview"


def slurm_conf(old: Json, new: Json, now: int) -> Drain | None:
    """Partitions and hosts that leave, and whose jobs they wait for; None where nothing leaves. ``old``, ``new``: inputs."""
    before, after = Inputs.of(old), Inputs.of(new)
    gone = {f"partition {name}" for name in before.partitions.keys() - after.partitions.keys()}
    gone |= {f"host {name}" for name in before.hosts.keys() - after.hosts.keys()}
    plan = after.plan
    named = _named(plan) if gone or fresh(old, new) else ()
    if not named and not gone:
        return None
    known = plan.known and gone <= set(named)
    jobs, free = plan.jobs_at(now), moment(plan.free_at, now)
    wait = None if after.outside else after.policy.deadline_s
    return Drain(
        "slurm-conf",
        f"slurm.conf without {', '.join(named or sorted(gone))}",
        known=known,
        nodes=tuple(_leaves(name, jobs, free) for name in named),
        jobs=jobs,
        jobs_total=max(plan.jobs_total, len(jobs)),
        free_at=free,
        deadline_at=None if wait is None else now + wait,
        on_deadline=after.policy.on_deadline or "keep",
        blocks=plan.blocks,
        warnings=(*plan.warnings, *plan.steps, *(() if known else (ASK,))),
    )


def _named(plan: GatePlan) -> tuple[str, ...]:
    hosts = (*plan.hosts, *plan.changed)
    return (*(f"partition {name}" for name in plan.partitions), *(f"host {name}" for name in hosts))


def _leaves(name: str, jobs: tuple[Job, ...], free: int | None) -> Node:
    """A partition or a host; of jobs the plan says which partition they name, and not which host."""
    kind, _, bare = name.partition(" ")
    there = tuple(job.label for job in jobs if kind == "partition" and bare in job.partition.split(","))
    return Node(name if kind == "partition" else bare, "", "leaves" if kind == "host" else "closes", free, there, len(there))
