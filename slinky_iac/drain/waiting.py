"""Jobs that hold a change up: waited for until the deadline, then what the policy says is done to them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from slinky_iac.drain.losses import Change, Loss, stays_lost
from slinky_iac.drain.protocol import Cancel, Patience, Requeue, Signal, Step, Stop, Wait
from slinky_iac.drain.settings import LAST_RESORT_S, Limits
from slinky_iac.drain.words import distinct, iso, jobs_in_words, touched, whose
from slinky_iac.slurmrest.objects import Job
from slinky_iac.text import some

_NEED: Final = "which need what goes (a node of --nodelist, their partition, slurmctld, or their srun or salloc)"


def until_none(
    lost: Sequence[Loss],
    now: int,
    goal: Patience,
    change: Change,
    *,
    then: str,
    late: tuple[str, str],
    more: Sequence[str] = (),
) -> Step | None:
    """The next step while jobs would be lost by ``change``; None where none would.

    ``then``: what comes after. ``late``: what can't be at the deadline, and what stays. ``more``: what is waited for
    besides.
    """
    if not lost and not more:
        return None
    why = "; ".join([*lines(lost), *more])
    if now < goal.deadline_at:
        return Wait(f"waiting for {why}; then {then}")
    step = last_resort([loss.job for loss in lost], now, goal, change) if now < goal.ends_at else ""
    if isinstance(step, Step):
        return step
    cannot, stays = late
    why = f"{why}; {step}" if step else why
    text = f"the deadline ({iso(goal.deadline_at)}) is over, and {cannot}: {why}. {touched(goal, now)}, {stays}"
    return Stop(text, cause="deadline", undo=goal.policy.on_deadline == "undo")


def over_limits(limits: Limits, now: int, jobs: Iterable[Job], removed: int = 0, of: int = 0) -> tuple[str, ...]:
    """A sentence for each limit that a change exceeds by the pods that it removes, ``of`` so many, or by these jobs.

    One that waits has no age; one that runs and whose start isn't known is older than any limit.
    """
    excesses = []
    if limits.max_share is not None and of > 0 and removed / of > limits.max_share:
        excesses.append(
            f"{removed} of {of} pods would be removed, more than the share {limits.max_share:g} that drain.limits allows: go"
            " in smaller steps, or raise maxShare on purpose"
        )
    if limits.max_jobs is None and limits.max_job_age_s is None:
        return tuple(excesses)
    every = distinct(jobs)
    if limits.max_jobs is not None and len(every) > limits.max_jobs:
        excesses.append(
            f"{jobs_in_words(every)}: more than the {limits.max_jobs} that drain.limits allows; wait, or raise maxJobs"
        )
    oldest = now - (limits.max_job_age_s or 0)
    old = [job for job in every if not job.waits and (job.start_time.value is None or job.start_time.value < oldest)]
    if old and limits.max_job_age_s is not None:
        excesses.append(
            f"{jobs_in_words(old)}: drain.limits allows no job that has run longer than {limits.max_job_age_s} s; wait for"
            " its end, or raise maxJobAge"
        )
    return tuple(excesses)


def last_resort(
    jobs: Sequence[Job],
    now: int,
    goal: Patience,
    change: Change,
    progress: tuple[str, ...] = (),
) -> Step | str:
    """What the policy does after the deadline to jobs that are in the way; a text where it does nothing more, which says why
    where it began. ``progress``: lines of a wait."""
    working = [job for job in distinct(jobs) if "COMPLETING" not in job.job_state]
    if goal.policy.on_deadline == "requeue" and jobs:
        return _requeue(working, now, goal, change, progress)
    return _cancel(working, now, goal, progress) if goal.policy.on_deadline == "cancel" and jobs else ""


def _requeue(working: Sequence[Job], now: int, goal: Patience, change: Change, progress: tuple[str, ...]) -> Step | str:
    """Only jobs that are out of the way then: one that would still be lost by the change runs on."""
    if now >= goal.ends_at:
        return "jobs are still there though they were requeued"
    allowed = [job for job in working if not job.waits and job.requeue]
    bound = [job for job in allowed if stays_lost(job, change)]
    if able := [job for job in allowed if job not in bound]:
        return Requeue(_handles(able))
    if not working:
        return Wait("requeued jobs are leaving their nodes", progress)
    fixed = [job for job in working if job not in bound]
    parts = [f"these jobs may not be requeued: {jobs_in_words(fixed)}"] if fixed else []
    parts += [f"a requeue would not save these, {_NEED}: {jobs_in_words(bound)}"] if bound else []
    return "; ".join(parts)


def _cancel(working: Sequence[Job], now: int, goal: Patience, progress: tuple[str, ...]) -> Step | str:
    """A signal first; what waits gets none. A job that began after it gets one of its own."""
    running = [job for job in working if not job.waits]
    if unwarned := [job for job in running if _warned(job, goal) is None]:
        return Signal(_handles(unwarned), goal.policy.signal)
    warned = [at for job in running if (at := _warned(job, goal)) is not None]
    cancel_at = max([goal.deadline_at, *warned]) + (0 if working and not running else goal.policy.grace_s)
    if now < cancel_at:
        return Wait(f"jobs were sent {goal.policy.signal}; they are cancelled at {iso(cancel_at)}", progress)
    if now >= cancel_at + LAST_RESORT_S:
        return "jobs are still there though they were cancelled"
    return Cancel(_handles(working)) if working else Wait("cancelled jobs are leaving their nodes", progress)


def _warned(job: Job, goal: Patience) -> int | None:
    """When this run signalled the job; a signal before its deadline is of an earlier part of the run."""
    at, start = goal.signalled.get(job.handle), job.start_time.value
    return at if at is not None and at >= goal.deadline_at and start is not None and start < at else None


def _handles(jobs: Iterable[Job]) -> tuple[int | str, ...]:
    return tuple(dict.fromkeys(job.handle for job in jobs))


def lines(lost: Iterable[Loss]) -> tuple[str, ...]:
    """A sentence for each thing that jobs lose and the jobs; running and waiting apart."""
    by: dict[str, tuple[list[Job], list[Job]]] = {}
    for loss in lost:
        by.setdefault(loss.what, ([], []))[loss.job.waits].append(loss.job)
    return tuple(f"{what}: {_in_words(*groups)}" for what, groups in sorted(by.items()))


def _in_words(running: list[Job], waiting: list[Job]) -> str:
    queue = some(map(whose, waiting), 4)
    parts = [jobs_in_words(running)] if running else []
    return "; ".join([*parts, *([f"{len(waiting)} waiting in the queue ({queue})"] if waiting else [])])
