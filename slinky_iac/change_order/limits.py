"""The gate in CI: limits over a change order, and the exit code that a pipeline branches on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from slinky_iac.change_order.model import ChangeOrder, Drain, Job
from slinky_iac.change_order.times import span
from slinky_iac.change_order.unjudged import unjudged


class Exit(IntEnum):
    """Exit codes of `python -m slinky_iac plan`."""

    OK = 0
    """Known, and within the limits."""
    FAULT = 1
    """No preview, or one that failed."""
    USAGE = 2
    """The command line is wrong."""
    EXCEEDED = 3
    """More than the limits allow."""
    UNKNOWN = 4
    """Something drains, and nobody could say which nodes or whose jobs; or, with ``strict``, a policy didn't judge."""


@dataclass(frozen=True)
class Limits:
    """What one update may touch without another look; None for no limit."""

    max_share: float | None = None
    """Share of a NodeSet given up, above 0 to 1."""
    max_jobs: int | None = None
    """Jobs waited for, of all drains together."""
    max_job_age_s: int | None = None
    """No job that has run longer, in seconds."""
    strict: bool = False
    """Whether a policy that could not judge counts as unknown."""


@dataclass(frozen=True)
class Verdict:
    """What the limits say."""

    code: Exit
    reasons: tuple[str, ...]


def judge(order: ChangeOrder, limits: Limits) -> Verdict:
    """Failed before exceeded before unknown before ok, with every reason."""
    failed = ("the preview ended with an error; what it says of the rest may be incomplete",) if order.failed else ()
    exceeded = tuple(_exceeded(order, limits))
    unknown = tuple(_unknown(order, limits))
    for code, reasons in ((Exit.FAULT, failed), (Exit.EXCEEDED, exceeded), (Exit.UNKNOWN, unknown)):
        if reasons:
            return Verdict(code, (*failed, *exceeded, *unknown))
    return Verdict(Exit.OK, ())


def _unknown(order: ChangeOrder, limits: Limits) -> Iterable[str]:
    for drain in order.drains:
        if not drain.known:
            yield f"{drain.what}: which nodes drain and whose jobs are waited for is not known"
        elif limits.max_job_age_s is not None and drain.jobs_total > len(drain.jobs):
            unseen = drain.jobs_total - len(drain.jobs)
            yield f"{drain.what}: {unseen} jobs are not listed one by one, so how long they have run is not known"
    if limits.strict:
        yield from unjudged(order)


def _exceeded(order: ChangeOrder, limits: Limits) -> Iterable[str]:
    if limits.max_share is not None:
        shares = (each for each in order.drains if each.kind != "hosts" and each.share > limits.max_share + 1e-9)
        yield from (_share(each, limits.max_share) for each in shares)
    jobs = sum(each.jobs_total for each in order.drains)
    if limits.max_jobs is not None and jobs > limits.max_jobs:
        yield f"{jobs} jobs would be waited for, more than the {limits.max_jobs} of --max-jobs"
    if limits.max_job_age_s is not None:
        for drain in order.drains:
            old = [job for job in drain.jobs if _age(job, order.taken_at) > limits.max_job_age_s]
            if old:
                named = ", ".join(f"{job.label} of {job.user}" for job in old[:4])
                more = f" and {len(old) - 4} more" if len(old) > 4 else ""
                yield f"{drain.what}: running longer than --max-job-age {span(limits.max_job_age_s)}: {named}{more}"


def _share(drain: Drain, allowed: float) -> str:
    gone = max(drain.before - drain.after, len(drain.nodes))
    return f"{drain.what}: {gone} of {drain.before} nodes would be given up, more than the share {allowed:g} of --max-share"


def _age(job: Job, now: int) -> float:
    """Seconds that it has run; for ever where its start isn't known."""
    return float("inf") if job.started is None else now - job.started
