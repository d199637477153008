"""Jobs that hold a change up: waited for until the deadline, then what the policy says is done to them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from slinky_iac.drain.losses import Loss
from slinky_iac.drain.plan import job_findings
from slinky_iac.drain.protocol import Cancel, Requeue, Signal, Step, Stop, Wait
from slinky_iac.drain.settings import DrainPolicy, Limits
from slinky_iac.drain.words import iso, jobs_in_words, some, whose
from slinky_iac.slurmrest.objects import Job


class Patience(Protocol):
    """How long one run waits, and what it did to jobs."""

    @property
    def policy(self) -> DrainPolicy: ...
    @property
    def deadline_at(self) -> int: ...
    @property
    def signalled_at(self) -> int | None:
        """When this run signalled jobs."""

    @property
    def ends_at(self) -> int:
        """End of the run, past the deadline where the policy acts then."""


def _never(_job: Job) -> bool:
    return False


def until_none(
    lost: Sequence[Loss],
    now: int,
    goal: Patience,
    *,
    then: str,
    late: tuple[str, str],
    more: Sequence[str] = (),
    movable: Callable[[Job], bool] = _never,
) -> Step | None:
    """The next step while jobs would be lost; None where none would.

    ``then``: what comes after. ``late``: what can't be at the deadline, and what stays. ``more``: what is waited for
    besides. ``movable``: whether a requeue takes a job out of the way.
    """
    if not lost and not more:
        return None
    why = "; ".join([*lines(lost), *more])
    if now < goal.deadline_at:
        return Wait(f"waiting for {why}; then {then}")
    step = _last_resort([each.job for each in lost], now, goal, movable) if now < goal.ends_at else None
    if step is not None:
        return step
    cannot, stays = late
    said = "Jobs were touched only as the policy says" if goal.policy.overtime_s else "No job was touched"
    text = f"the deadline ({iso(goal.deadline_at)}) is over, and {cannot}: {why}. {said}, {stays}"
    return Stop(text, cause="deadline", undo=goal.policy.on_deadline == "undo")


def limits_exceeded(lost: Sequence[Loss], limits: Limits, now: int) -> tuple[str, ...]:
    """A sentence for each limit that these jobs exceed."""
    return tuple(each.text for each in job_findings([each.job for each in lost], limits, now))


def _last_resort(holding: Sequence[Job], now: int, goal: Patience, movable: Callable[[Job], bool]) -> Step | None:
    """What the policy does after the deadline; None where that is nothing more."""
    fresh = [each for each in holding if "COMPLETING" not in each.job_state]
    if goal.policy.on_deadline == "cancel":
        running = [each for each in holding if not each.waits]
        if goal.signalled_at is None and running:
            return Signal(_handles(running), goal.policy.signal, ())
        if goal.signalled_at is not None and now < goal.signalled_at + goal.policy.grace_s:
            return Wait(f"jobs were sent {goal.policy.signal}, and are cancelled {goal.policy.grace_s} s later")
        return Cancel(_handles(fresh)) if fresh else Wait("cancelled jobs are ending")
    if goal.policy.on_deadline == "requeue":
        able = [each for each in holding if not each.waits and each.requeue and movable(each)]
        fresh = [each for each in able if each in fresh]
        return Requeue(_handles(fresh)) if fresh else Wait("requeued jobs are leaving their hosts") if able else None
    return None


def _handles(jobs: Iterable[Job]) -> tuple[int | str, ...]:
    return tuple(dict.fromkeys(each.handle for each in jobs))


def lines(lost: Iterable[Loss]) -> tuple[str, ...]:
    """A sentence for each thing that jobs lose and the jobs; running and waiting apart."""
    by: dict[str, tuple[list[Job], list[Job]]] = {}
    for each in lost:
        by.setdefault(each.what, ([], []))[each.job.waits].append(each.job)
    return tuple(f"{what}: {_in_words(*groups)}" for what, groups in sorted(by.items()))


def _in_words(running: list[Job], waiting: list[Job]) -> str:
    queue = some(map(whose, waiting), 4)
    parts = [jobs_in_words(running)] if running else []
    return "; ".join([*parts, *([f"{len(waiting)} waiting in the queue ({queue})"] if waiting else [])])
