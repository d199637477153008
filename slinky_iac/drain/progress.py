"""What a wait looks like to the person in front of it: a bar with a count, the job that ends last, what comes next;
and how often it is said. Pure.

The resource's line in a terminal is cut at its width, so what matters most comes first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from slinky_iac.drain.policy import DrainPolicy
from slinky_iac.slurmrest.objects import Job
from slinky_iac.text import until

CELLS: Final = 10
EVERY_S: Final = 60.0
"""Between two lines about the same wait where no terminal shows them: each stays in the log."""
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


def waiting_line(
    free: int,
    total: int,
    jobs: Sequence[Job],
    now: int,
    *,
    policy: DrainPolicy,
    deadline_at: int,
    then: str,
    of: str = "nodes",
) -> str:
    """``[#####.....] 1 of 2 nodes are free; last: job 41 of alice, ends by 18:40 (in 9 min); then replicas go from 4 to 2``

    Where the deadline comes before that end, what the policy does there.
    """
    parts = [f"{bar(free, total)} {free} of {total} {of} are free"]
    job = last_job(jobs)
    if job is not None:
        who = f"last: job {job.label} of {job.user_name or 'unknown'}"
        if "COMPLETING" in job.job_state:
            parts.append(f"{who}, over but for the epilog")
        elif job.expected_end is None:
            parts.append(f"{who}, of no known end")
        else:
            parts.append(f"{who}, ends by {until(job.expected_end, now)}")
        if job.expected_end is None or job.expected_end > deadline_at:
            parts.append(f"deadline {until(deadline_at, now)}: {_AT_DEADLINE[policy.on_deadline]}")
    return "; ".join([*parts, f"then {then}"])


@dataclass
class Pace:
    """Whether a line about a wait is due. In a terminal each look's is, since it replaces the one before. Elsewhere (CI) the
    first of each sort, and then one a minute."""

    watched: bool
    said_at: float | None = None
    sorts: set[str] = field(default_factory=set)

    def due(self, text: str, now: float) -> bool:
        """Whether ``text`` is to be said at ``now``, in seconds of a clock that only runs."""
        sort = _SORT.sub("", text)[:40]
        if self.watched or sort not in self.sorts or self.said_at is None or now - self.said_at >= EVERY_S:
            self.sorts.add(sort)
            self.said_at = now
            return True
        return False


_SORT: Final = re.compile(r"\[[#.]*\]|[0-9]+")
"""What changes in a line while the wait is the same."""
