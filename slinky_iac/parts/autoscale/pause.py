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

from collections.abc import Iterator
from contextlib import contextmanager

from slinky_iac import names
from slinky_iac.drain.driver import Task, drive
from slinky_iac.drain.protocol import Step, Stop, Wait
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import GateSettings
from slinky_iac.errors import DrainBlocked, KubeNotFound, SlinkyError
from slinky_iac.parts.autoscale import keda
from slinky_iac.parts.autoscale.pause_steps import PauseScaler, ResumeScaler, ScalerView, Told, pause_step, resume_step


class ScalerTask(Task["ScalerView | None"]):
    """Pause, or give back."""

    doing = "pausing the autoscaler"

    settings: GateSettings

    _found: keda.ScaledObject | None = None
    """That of the last look: what is written is on this one's condition."""

    def look(self) -> ScalerView | None:
        """The ScaledObject; None where there is none."""
        self._found = found(self.session, self.settings)
        return None if self._found is None else view(self.session, self.settings, self._found)

    def act(self, step: Step) -> None:
        """Write the ScaledObject, which no step of the session's does."""
        if self._found is None or not isinstance(step, PauseScaler | ResumeScaler):
            raise AssertionError("a ScaledObject is written only after a look at it")
        mark, max_replicas = (step.mark, None) if isinstance(step, PauseScaler) else (None, step.max_replicas)
        wanted = {keda.PAUSED: "true" if mark else None, names.ANNOTATION_PAUSED_BY: mark}
        keda.write(self.session.kube, self.settings.reach.namespace, self._found, wanted, max_replicas)

    def decide(self, seen: ScalerView | None) -> Step:
        step = pause_step(seen, self.owner, self.session.run)
        if isinstance(step, Wait) and self.session.now() >= self.deadline_at:
            return Stop(
                f"KEDA did not stop scaling within {self.policy.register_deadline_s} s, so nothing was drained. See that its"
                " operator runs, then run `pulumi up` again",
                "deadline",
            )
        return step

    def stays(self) -> str:
        """Nothing but the pause."""
        return "Nothing was drained; the next run takes the pause over."


class ResumeTask(ScalerTask):
    """Give the autoscaler back."""

    doing = "giving the autoscaler back"

    def __init__(self, session: Session, settings: GateSettings, run: str, max_replicas: int | None) -> None:
        super().__init__(session, settings)
        self._run = run
        self._max_replicas = max_replicas

    def decide(self, seen: ScalerView | None) -> Step:
        return resume_step(seen, self.owner, self._run, self._max_replicas)

    def stays(self) -> str:
        return "The autoscaler stays paused; `pulumi up` resumes it."

    def over(self, _last: Step | None) -> SlinkyError | None:
        if self.session.now() < self.deadline_at:
            return None
        return DrainBlocked(f"{self.owner.text}: the autoscaler is still paused. Run `pulumi up` again, which resumes it")


@contextmanager
def standing_still(session: Session, settings: GateSettings, current: int) -> Iterator[bool]:
    """Inside of it KEDA scales nothing, where there are more replicas than the maximum or an earlier run paused it; yields
    whether that is so. After it KEDA continues: with the maximum of the settings, or after an error as before."""
    seen = seen_now(session, settings)
    if seen is None or not (settings.leaving or current > settings.target or seen.is_ours(settings.owner)):
        yield False
        return
    try:
        drive(ScalerTask(session, settings))
        yield True
    except SlinkyError:
        _give_back_after_error(session, settings)
        raise
    if not settings.leaving:  # it stays paused until the engine removes it, else it would write the stack's number
        drive(ResumeTask(session, settings, session.run, settings.target))


def _give_back_after_error(session: Session, settings: GateSettings) -> None:
    if not session.engine_lives():
        return  # the next run may have begun, and takes the pause over
    try:
        drive(ResumeTask(session, settings, session.run, None))
    except SlinkyError as error:
        session.report(f"the autoscaler stays paused: {error}", severity="warning", keep=True)


def stop_for_removal(session: Session, settings: GateSettings) -> None:
    """Before a NodeSet is removed: an autoscaler that is still there adds no pod any more. Pulumi removes it before."""
    if seen_now(session, settings) is not None:
        drive(ScalerTask(session, settings))


def give_back(session: Session, settings: GateSettings) -> int:
    """Take back a pause of any run of this gate; returns how many steps it took."""
    seen = seen_now(session, settings)
    if seen is None or not seen.is_ours(settings.owner):
        return 0
    drive(ResumeTask(session, settings, "", None))
    return 1


def found(session: Session, settings: GateSettings) -> keda.ScaledObject | None:
    """KEDA's ScaledObject of the NodeSet; None where the stack makes none, or none is there. Raises what the clients
    raise."""
    if not (name := Told.of(settings).pausable):
        return None
    try:
        return keda.scaled_object(session.kube, settings.reach.namespace, name)
    except KubeNotFound:
        return None


def view(session: Session, settings: GateSettings, state: keda.ScaledObject) -> ScalerView:
    """The same with what of it still writes the NodeSet, which is asked for after it."""
    left = keda.autoscalers(session.kube, settings.reach.namespace, settings.resource)
    return ScalerView(
        paused=state.paused,
        mark=state.metadata.annotations.get(names.ANNOTATION_PAUSED_BY, ""),
        stopped=state.status.says("Paused") is not None and not left,
        max_replicas=state.spec.max_replica_count,
    )


def seen_now(session: Session, settings: GateSettings) -> ScalerView | None:
    """One look at it."""
    state = found(session, settings)
    return None if state is None else view(session, settings, state)
