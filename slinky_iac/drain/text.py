"""Words for times and jobs that don't change from one preview to the next: absolute, never "2 h left"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from slinky_iac.slurmrest.objects import Job

_SHOWN_JOBS = 4


def iso(seconds: int | None) -> str:
    """``2026-11-21T06:41:00Z``; ``unknown`` for None or a time no calendar holds."""
    if seconds is None:
        return "unknown"
    try:
        return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return "unknown"


def counted(number: int, what: str = "job") -> str:
    """``1 job``, ``2 jobs``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def named(nodes: Iterable[str], most: int = 8) -> str:
    """``gpu-2, gpu-3``, in order; of many the first."""
    every = sorted(nodes)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def jobs_in_words(jobs: Sequence[Job]) -> str:
    """``2 jobs (12_3 of alice, 15 of bob), the last ends by 2026-…Z``."""
    if not jobs:
        return "no job"
    some = ", ".join(_job_in_words(job) for job in jobs[:_SHOWN_JOBS])
    more = f", and {len(jobs) - _SHOWN_JOBS} more" if len(jobs) > _SHOWN_JOBS else ""
    count = counted(len(jobs))
    if all("COMPLETING" in job.job_state for job in jobs):
        return f"{count} ({some}{more}), over but for the epilog, or for a process that can't be killed"
    ends = [job.expected_end for job in jobs]
    last = "of no known end" if None in ends else f"the last ends by {iso(max(e for e in ends if e is not None))}"
    return f"{count} ({some}{more}), {last}"


def _job_in_words(job: Job) -> str:
    """``12_3 of alice``, and what keeps it where that isn't its own work."""
    if job.trouble:
        return job.trouble
    kept_by = next((state for state in ("COMPLETING", "SUSPENDED", "STOPPED") if state in job.job_state), "")
    own = f", {job.of_stack}" if job.of_stack else ""
    return f"{job.label} of {job.user_name or 'unknown'}{own}" + (f", {kept_by.lower()}" if kept_by else "")
