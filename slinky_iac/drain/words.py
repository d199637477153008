"""Words for times, jobs and waits. Pure.

In a plan times are absolute, never "2 h left": it must not change between two previews. In a wait a bar with a count comes
first, then the job that ends last, then what comes next: a terminal cuts the line at its width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from slinky_iac.drain.protocol import Patience
from slinky_iac.slurmrest.objects import Job, Node
from slinky_iac.text import UTC_ZONE, counted, latest, some, stamp, until

_SHOWN_JOBS = 4


def iso(seconds: int | None) -> str:
    """``2026-11-21T06:41:00Z``; ``unknown`` for None or a time no calendar holds."""
    try:
        return "unknown" if seconds is None else stamp(seconds)
    except (ValueError, OverflowError, OSError):
        return "unknown"


def named(nodes: Iterable[str]) -> str:
    """The same in order."""
    return some(sorted(nodes))


def whose(job: Job) -> str:
    """``12_3 of alice``."""
    return f"{job.label} of {job.user_name or 'unknown'}"


def marked_by(record: Node) -> str:
    """The user whose reason a node's record carries."""
    return record.reason_set_by_user or "somebody"


def distinct(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """Each job once, by id."""
    return tuple(job for _, job in sorted({job.job_id: job for job in jobs}.items()))


def jobs_in_words(jobs: Sequence[Job]) -> str:
    """``2 jobs (12_3 of alice, 15 of bob), the last ends by 2026-…Z``."""
    if not jobs:
        return "no job"
    named = some(map(_job_in_words, jobs), _SHOWN_JOBS)
    count = counted(len(jobs))
    if all("COMPLETING" in job.job_state for job in jobs):
        return f"{count} ({named}), over but for the epilog, or for a process that can't be killed"
    end = latest(job.expected_end for job in jobs)
    return f"{count} ({named}), {'of no known end' if end is None else f'the last ends by {iso(end)}'}"


def _job_in_words(job: Job) -> str:
    """``12_3 of alice``, and what keeps it where that isn't its own work."""
    if job.trouble:
        return job.trouble
    kept_by = next((state for state in ("COMPLETING", "SUSPENDED", "STOPPED") if state in job.job_state), "")
    own = f", {job.of_stack}" if job.of_stack else ""
    return f"{whose(job)}{own}" + (f", {kept_by.lower()}" if kept_by else "")


CELLS: Final = 10
_AT_DEADLINE: Final = {
    "keep": "the run ends and the nodes stay drained",
    "undo": "the drains are undone",
    "requeue": "the jobs are requeued",
    "cancel": "the jobs are signalled, then cancelled",
}


def bar(done: int, total: int, cells: int = CELLS) -> str:
    """``[####......]``: full only where all is done, and never empty once something is."""
    if total <= 0:
        return f"[{'#' * cells}]"
    full = min(max(done, 0), total) * cells // total
    if done > 0 and full == 0:
        full = 1
    return f"[{'#' * full}{'.' * (cells - full)}]"


def last_job(jobs: Sequence[Job]) -> Job | None:
    """The job that ends last: one without a known end, else the one with the latest; None without jobs."""
    readable = [job for job in jobs if not job.trouble]
    endless = [job for job in readable if job.expected_end is None and "COMPLETING" not in job.job_state]
    if endless:
        return min(endless, key=lambda job: job.job_id)
    return max(readable, key=lambda job: (job.expected_end or 0, -job.job_id), default=None)


def touched(goal: Patience, now: int) -> str:
    """What a run that ends unfinished may have done to jobs: nothing before the deadline, and what the policy says after."""
    if now >= goal.deadline_at and goal.policy.overtime_s > 0:
        return f"Jobs were ended only as `onDeadline: {goal.policy.on_deadline}` says"
    return "Nothing was killed"


def waiting_line(
    free: int,
    total: int,
    jobs: Sequence[Job],
    now: int,
    goal: Patience,
    then: str,
    of: str = "nodes",
) -> str:
    """``[#####.....] 1 of 2 nodes are free; last: job 41 of alice, ends by 18:40 UTC (in 9 min); once free, replicas
    go from 4 to 2``

    Where the deadline comes before that end, what the policy does at the deadline.
    """
    parts = [f"{bar(free, total)} {free} of {total} {of} are free"]
    job = last_job(jobs)
    if job is not None:
        who = f"last: job {whose(job)}"
        if "COMPLETING" in job.job_state:
            parts.append(f"{who}, over but for the epilog")
        elif job.expected_end is None:
            parts.append(f"{who}, of no known end")
        else:
            parts.append(f"{who}, ends by {until(job.expected_end, now, UTC_ZONE)}")
        if job.expected_end is None or job.expected_end > goal.deadline_at:
            parts.append(
                f"at the deadline, {until(goal.deadline_at, now, UTC_ZONE)}, {_AT_DEADLINE[goal.policy.on_deadline]}"
            )
    return "; ".join([*parts, f"once free, {then}"])
