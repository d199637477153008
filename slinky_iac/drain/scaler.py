"""KEDA's ScaledObject of a NodeSet, while its gate lowers the maximum: paused, then written and given back.

While nodes are drained, an autoscaler would replace them, and lower the number before they are free. So a gate that finds
more replicas than the new maximum pauses KEDA (its annotation, and ours that says who), waits until KEDA has removed its
HorizontalPodAutoscaler, drains, writes the number and the maximum, and takes the pause back. A run that fails takes it back
too, with the old maximum. Where the stack takes the number over from its autoscaler, KEDA stays paused until the engine
removes the ScaledObject, which it does after the gate. A run that was killed leaves the pause: the next run of the gate
takes it over, and so does `drain cancel`. A person's pause is left alone.

The mark is ``stack/nodeset run``, by which an earlier run that still continues doesn't take back a later one's pause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slinky_iac import names
from slinky_iac.drain.actions import Done, PauseScaler, ResumeScaler, Step, Stop, Wait
from slinky_iac.drain.driver import Task, drive
from slinky_iac.errors import DrainBlocked, SlinkyError

if TYPE_CHECKING:
    from slinky_iac.drain.session import Session
    from slinky_iac.drain.settings import GateSettings, Owner


@dataclass(frozen=True)
class ScalerView:
    """A ScaledObject in one look."""

    paused: bool
    mark: str
    """Our annotation; ``""`` where it has none."""
    stopped: bool
    """KEDA has seen the pause, and no HorizontalPodAutoscaler is left that writes the NodeSet."""
    maximum: int | None

    def is_ours(self, owner: Owner) -> bool:
        """Whether a run of this gate has paused it."""
        return self.mark.partition(" ")[0] == owner.text

    def is_of(self, owner: Owner, run: str) -> bool:
        """Whether this very run has."""
        return self.mark == mark(owner, run)


def mark(owner: Owner, run: str) -> str:
    """Value of the annotation by which a gate says that the pause is its own."""
    return f"{owner.text} {run}"


def pause_step(seen: ScalerView | None, owner: Owner, run: str) -> Step:
    """The next act towards an autoscaler that stands still. Done where there is none, or where a person has paused it."""
    if seen is None:
        return Done()
    if not seen.paused or (seen.is_ours(owner) and not seen.is_of(owner, run)):
        return PauseScaler(mark(owner, run))
    return (
        Done() if seen.stopped else Wait("KEDA has not yet stopped: its HorizontalPodAutoscaler is still there", soon=True)
    )


def resume_step(seen: ScalerView | None, owner: Owner, run: str, maximum: int | None) -> Step:
    """What gives the autoscaler back. ``run``: ``""`` for a pause of any run of this gate."""
    if seen is None or not (seen.is_of(owner, run) if run else seen.is_ours(owner)):
        return Done()
    return ResumeScaler(None if maximum == seen.maximum else maximum)


def rivals(found: Iterable[str], own: str) -> tuple[str, ...]:
    """Autoscalers of a NodeSet, ``kind/name``, besides the ScaledObject ``own`` and what KEDA makes of it."""
    ours = {f"ScaledObject/{own}", f"HorizontalPodAutoscaler/{names.KEDA_HPA}{own}"}
    return tuple(each for each in found if each not in ours)


class ScalerTask(Task["ScalerView | None"]):
    """Pause, or give back."""

    doing = "pausing the autoscaler"

    def __init__(self, session: Session, settings: GateSettings) -> None:
        super().__init__(session, settings.owner, settings.policy, settings.policy.register_deadline_s)
        self.settings = settings

    def look(self) -> ScalerView | None:
        """The ScaledObject; None where there is none."""
        return self.session.scaler(self.settings)

    def decide(self, seen: ScalerView | None) -> Step:
        """Pause; at the deadline stop."""
        step = pause_step(seen, self.owner, self.session.run)
        if isinstance(step, Wait) and self.session.now() >= self.deadline_at:
            return Stop(
                f"KEDA did not stop scaling within {self.policy.register_deadline_s} s, so nothing was drained. See that its"
                " operator runs, then run `pulumi up` again",
                "deadline",
            )
        return step

    def act(self, step: Step) -> None:
        """By the session."""
        self.session.act(step, self.owner)

    def stays(self) -> str:
        """Nothing but the pause."""
        return "Nothing was drained; the next run takes the pause over."


class ResumeTask(ScalerTask):
    """Give the autoscaler back."""

    doing = "giving the autoscaler back"

    def __init__(self, session: Session, settings: GateSettings, run: str, maximum: int | None) -> None:
        super().__init__(session, settings)
        self._run = run
        self._maximum = maximum

    def decide(self, seen: ScalerView | None) -> Step:
        """What is left of it."""
        return resume_step(seen, self.owner, self._run, self._maximum)

    def stays(self) -> str:
        """The pause."""
        return "The autoscaler stays paused; `pulumi up` resumes it."

    def over(self, _last: Step | None) -> SlinkyError | None:
        """An act that doesn't take."""
        if self.session.now() < self.deadline_at:
            return None
        return DrainBlocked(f"{self.owner.text}: the autoscaler is still paused. Run `pulumi up` again, which resumes it")


@contextmanager
def standing_still(session: Session, settings: GateSettings, live: int) -> Iterator[bool]:
    """Inside of it KEDA scales nothing, where there are more replicas than the maximum or an earlier run paused it; yields
    whether that is so. After it KEDA continues: with the maximum of the settings, or after an error as before."""
    seen = _seen(session, settings)
    if seen is None or not (settings.leaving or live > settings.ceiling or seen.is_ours(settings.owner)):
        yield False
        return
    try:
        drive(ScalerTask(session, settings))
        yield True
    except SlinkyError:
        _give_back_after_error(session, settings)
        raise
    if not settings.leaving:  # it stays paused until the engine removes it, else it would write the stack's number
        drive(ResumeTask(session, settings, session.run, settings.ceiling))


def _give_back_after_error(session: Session, settings: GateSettings) -> None:
    if not session.engine_lives():
        return  # the next run may have begun, and takes the pause over
    try:
        drive(ResumeTask(session, settings, session.run, None))
    except SlinkyError as error:
        session.report(f"the autoscaler stays paused: {error}", severity="warning", keep=True)


def stop_for_removal(session: Session, settings: GateSettings) -> None:
    """Before a NodeSet is removed: an autoscaler that is still there adds no pod any more. Pulumi removes it before."""
    if _seen(session, settings) is not None:
        drive(ScalerTask(session, settings))


def give_back(session: Session, settings: GateSettings) -> int:
    """Take back a pause of any run of this gate; returns how many steps it took."""
    seen = _seen(session, settings)
    if seen is None or not seen.is_ours(settings.owner):
        return 0
    drive(ResumeTask(session, settings, "", None))
    return 1


def _seen(session: Session, settings: GateSettings) -> ScalerView | None:
    return session.scaler(settings) if settings.scaled_object else None
