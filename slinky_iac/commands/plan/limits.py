"""The gate in CI: limits over a change order, and the exit code that a pipeline branches on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from slinky_iac.commands.plan.model import ChangeOrder, Drain, Job
from slinky_iac.text import at, some, span

AT_DEADLINE: Final = {
    "keep": "the update fails, nodes stay drained, no job is touched",
    "undo": "the update fails, nodes are given back, no job is touched",
    "requeue": "jobs that allow it are requeued and lose what they have done",
    "cancel": "jobs are signalled, then cancelled",
}
"""What a drain's policy does at the deadline."""


class Exit(IntEnum):
    """Exit codes of `slinky plan`."""

    OK = 0
    """Known, and within the limits."""
    FAULT = 1
    """No preview, or one that failed."""
    USAGE = 2
    """The command line is wrong."""
    EXCEEDED = 3
    """More than the limits allow."""
    UNKNOWN = 4
    """Something drains, and it is unknown which nodes or whose jobs; or, with ``strict``, a policy didn't judge."""
    LATE = 7
    """Known and within the limits; but as things stand a drain passes its deadline, or is blocked."""


@dataclass(frozen=True)
class Limits:
    """What one update may touch without another look; None for no limit."""

    max_share: float | None = None
    """Share of a NodeSet selected for removal, above 0 to 1."""
    max_jobs: int | None = None
    """Jobs waited for, of all drains together."""
    max_job_age_s: int | None = None
    """No job that has run longer, in seconds."""
    strict: bool = False
    """Whether a policy that could not judge counts as unknown."""
    allow_late: bool = False
    """Drains may pass their deadline."""

    @property
    def given(self) -> bool:
        """Whether there is any limit to be within."""
        return (self.max_share, self.max_jobs, self.max_job_age_s) != (None, None, None)


@dataclass(frozen=True)
class Verdict:
    """What the limits say."""

    code: Exit
    reasons: tuple[str, ...]
    limited: bool = True
    """Whether limits were given; without them OK only says that everything is known."""


def judge(order: ChangeOrder, limits: Limits) -> Verdict:
    """Failed before exceeded before unknown before late before ok, with every reason."""
    failed = ("the preview ended with an error; what it says of the rest may be incomplete",) if order.failed else ()
    exceeded = tuple(_exceeded(order, limits))
    unknown = tuple(_unknown(order, limits))
    late = tuple(_late(order, limits))
    for code, reasons in ((Exit.FAULT, failed), (Exit.EXCEEDED, exceeded), (Exit.UNKNOWN, unknown), (Exit.LATE, late)):
        if reasons:
            return Verdict(code, (*failed, *exceeded, *unknown, *late), limits.given)
    return Verdict(Exit.OK, (), limits.given)


def _late(order: ChangeOrder, limits: Limits) -> Iterable[str]:
    """What the order itself foretells: an update that stops, or jobs that it ends."""
    for drain in order.drains:
        if drain.known and drain.blocks:
            yield f"{drain.what}: as things are now, the update stops there: {drain.blocks[0]}"
        if drain.deadline_at is not None and drain.late_nodes and not limits.allow_late:
            yield f"{drain.what}: {_passes(drain, drain.deadline_at, order.taken_at)}"


def _passes(drain: Drain, deadline: int, now: int) -> str:
    """``passes its deadline at 07:46 if it begins now: 48102_7 of chandra may run until 08:46. Then …``."""
    jobs = [f"{job.label} of {job.user} {_runs(job, now)}" for job in drain.late[:4]]
    jobs += [f"{len(drain.late) - 4} jobs more"] if len(drain.late) > 4 else []
    named = ", ".join(jobs or [f"{node.name} may not be free" for node in drain.late_nodes[:4]])
    then = AT_DEADLINE.get(drain.on_deadline, drain.on_deadline)
    return f"passes its deadline at {at(deadline, now)} if it begins now: {named}. Then {then}"


def _runs(job: Job, now: int) -> str:
    return "has no known end" if job.ends_by is None else f"may run until {at(job.ends_by, now)}"


def _unknown(order: ChangeOrder, limits: Limits) -> Iterable[str]:
    for drain in order.drains:
        if drain.kind == "namespace":
            yield f"namespace {drain.what} is deleted with everything in it: which jobs run there is not known"
        elif not drain.known:
            yield f"{drain.what}: which nodes drain and whose jobs are waited for is not known"
        elif limits.max_job_age_s is not None and drain.unlisted:
            yield f"{drain.what}: {drain.unlisted} jobs are not listed one by one, so how long they have run is not known"
    if limits.strict:
        yield from unjudged(order)


def _exceeded(order: ChangeOrder, limits: Limits) -> Iterable[str]:
    most = limits.max_share
    for drain in order.drains:
        if most is not None and drain.kind != "hosts" and drain.share > most + 1e-9:
            gone = f"{drain.gone} of {drain.before} nodes would be removed"
            yield f"{drain.what}: {gone}, more than the share {most:g} of --max-share"
    jobs = sum(node_drain.jobs_total for node_drain in order.drains)
    if limits.max_jobs is not None and jobs > limits.max_jobs:
        yield f"{jobs} jobs would be waited for, more than the {limits.max_jobs} of --max-jobs"
    if limits.max_job_age_s is not None:
        begun = order.taken_at - limits.max_job_age_s
        for drain in order.drains:
            if old := [job for job in drain.jobs if job.started is None or job.started < begun]:
                named = some((f"{job.label} of {job.user}" for job in old), 4)
                yield f"{drain.what}: running longer than --max-job-age {span(limits.max_job_age_s)}: {named}"


UNJUDGED: Final = "can't run policy '"
"""How pulumi_policy (Python) and @pulumi/policy begin the advisory of a policy that met an unknown value: it isn't the
policy's own level, so a mandatory rule that judged nothing would look like advice."""


def unjudged(order: ChangeOrder) -> Iterator[str]:
    """Each rule that did not judge all that it should, and that there was none to judge."""
    if order.policies is None:
        yield "what policies say isn't in this form of the preview; take it with PULUMI_ENABLE_STREAMING_JSON_PREVIEW=1"
        return
    if not order.policies.violations and not order.policies.passed:
        yield "no policy pack was applied to the preview; give --policy-pack"
    for said in order.policies.violations:
        if said.message.startswith(UNJUDGED):
            yield f"policy {said.name}: {said.message.partition(': ')[2] or 'not judged'}"
