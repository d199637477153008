"""Limits that block a preview: how much of a NodeSet, how many jobs, how old a job a scale-in may touch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slinky_iac.drain.cost import Candidate
from slinky_iac.drain.policy import Limits
from slinky_iac.drain.text import jobs_in_words
from slinky_iac.drain.view import JobView


def share_findings(given_up: int, current: int, limits: Limits) -> Iterable[tuple[str, str]]:
    """The limit that needs no word of Slurm's: how many pods of how many."""
    if limits.max_share is not None and current > 0 and given_up / current > limits.max_share:
        yield (
            "limit-share",
            f"{given_up} of {current} pods would be given up, more than the share {limits.max_share:g} that "
            "drain.limits allows: go in smaller steps, or raise maxShare on purpose",
        )


def limit_findings(chosen: Sequence[Candidate], current: int, limits: Limits, now: int) -> Iterable[tuple[str, str]]:
    """Code and text of each limit that ``chosen`` exceeds."""
    yield from share_findings(len(chosen), current, limits)
    if limits.max_jobs is None and limits.max_job_age_s is None:
        return
    jobs = sorted({job.job_id: job for each in chosen for job in each.jobs}.values(), key=lambda job: job.job_id)
    yield from job_findings(jobs, jobs, limits, now)


def job_findings(jobs: Sequence[JobView], running: Sequence[JobView], limits: Limits, now: int) -> Iterable[tuple[str, str]]:
    """Limits that these jobs exceed. One of the ``running`` whose start isn't known is older than any limit."""
    if limits.max_jobs is not None and len(jobs) > limits.max_jobs:
        yield (
            "limit-jobs",
            f"{jobs_in_words(jobs)}: more than the {limits.max_jobs} that drain.limits allows; wait, or raise maxJobs",
        )
    if limits.max_job_age_s is not None:
        oldest = now - limits.max_job_age_s
        old = [job for job in running if job.start is None or job.start < oldest]
        if old:
            yield (
                "limit-age",
                f"{jobs_in_words(old)}: drain.limits allows no job that has run longer than {limits.max_job_age_s} s; "
                "wait for its end, or raise maxJobAge",
            )
