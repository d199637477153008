"""What slurm.conf loses by an update, from the step of its gate; its ``plan`` is made by ``slinky_iac/drain/conf_plan.py``.

The gate keeps its last plan while nothing leaves, so a plan counts only where the step itself takes lines away, or is new.
"""

from __future__ import annotations

from typing import Final

from slinky_iac.commands.plan.model import Drain, Job, Node
from slinky_iac.commands.plan.wire import Json, dictionary, rows, texts, whole
from slinky_iac.text import moment

CONF: Final = "pulumi-python:dynamic/slurm:SlurmConfGate"
ASK: Final = "the preview has no plan for what slurm.conf loses: slurmrestd may not have answered. Take another preview"


def slurm_conf(old: Json, new: Json, now: int) -> Drain | None:
    """Partitions and hosts that leave, and whose jobs they wait for; None where nothing leaves. ``old``, ``new``: inputs."""
    plan = dictionary(new.get("plan"))
    fresh = plan != dictionary(old.get("plan"))
    gone = {f"partition {name}" for name in _names(old, "partitions") - _names(new, "partitions")}
    gone |= {f"host {name}" for name in _names(old, "hosts") - _names(new, "hosts")}
    told = _told(plan) if fresh or gone else ()
    if not told and not gone:
        return None
    outside = new.get("outside") is True
    policy = dictionary(new.get("policy"))
    wait = policy.get("deadline_s")
    deadline = now + int(wait) if isinstance(wait, int | float) and not outside else None
    known = plan.get("known") is True and gone <= set(told)
    jobs = tuple(_job(dictionary(each), now) for each in rows(plan.get("jobs")))
    total = whole(plan.get("jobs_total"))
    free = moment(plan.get("free_at"), now)
    what = ", ".join(told or sorted(gone))
    return Drain(
        "slurm-conf",
        f"slurm.conf without {what}",
        known=known,
        nodes=tuple(_leaves(name, jobs, free) for name in told),
        jobs=jobs,
        jobs_total=max(total, len(jobs)),
        free_at=free,
        deadline_at=deadline,
        on_deadline=str(policy.get("on_deadline") or "keep"),
        blocks=texts(plan.get("blocks")),
        warnings=(*texts(plan.get("warnings")), *texts(plan.get("steps")), *(() if known else (ASK,))),
    )


def _names(props: Json, kind: str) -> set[str]:
    return set(dictionary(props.get(kind)))


def _told(plan: Json) -> tuple[str, ...]:
    hosts = (*texts(plan.get("hosts")), *texts(plan.get("changed")))
    return (*(f"partition {name}" for name in texts(plan.get("partitions"))), *(f"host {name}" for name in hosts))


def _leaves(name: str, jobs: tuple[Job, ...], free: int | None) -> Node:
    """A partition or a host; of jobs the plan says which partition they name, and not which host."""
    kind, _, bare = name.partition(" ")
    there = tuple(job.label for job in jobs if kind == "partition" and bare in job.partition.split(","))
    return Node(name if kind == "partition" else bare, "", "leaves" if kind == "host" else "closes", free, there, len(there))


def _job(raw: Json, now: int) -> Job:
    return Job(
        label=str(raw.get("job") or ""),
        user=str(raw.get("user") or "") or "unknown",
        partition=str(raw.get("partition") or ""),
        state=str(raw.get("state") or ""),
        started=moment(raw.get("started"), now),
        ends_by=None if raw.get("waits") is True else moment(raw.get("ends_by"), now),
    )
