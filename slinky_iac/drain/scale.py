"""The loop of a gate: look, decide one step, act, look again, until done, blocked, late or interrupted.

All deciding is in :func:`slinky_iac.drain.steps.next_step`; all state is in the cluster. So the loop may end at any
point, also by SIGKILL, and the next one goes on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from slinky_iac.drain.actions import Done, Signal, Step, Stop, Wait
from slinky_iac.drain.deadline import NEXT_STEP, touched
from slinky_iac.drain.observation import Goal
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import GateSettings
from slinky_iac.drain.steady import Clocks
from slinky_iac.drain.steps import next_step
from slinky_iac.drain.undo import begun, undo_steps
from slinky_iac.errors import DrainBlocked, DrainDeadline, KubeConflict, KubeUnreachable, SlinkyError, SlurmrestUnreachable

UNDO_ROUNDS: Final = 30
"""Looks that giving back may take; each round acts on what is still there."""
SOON_S: Final = 0.5
"""Between two looks while the operator's own look is due."""
_PASSING: Final = (KubeUnreachable, KubeConflict, SlurmrestUnreachable)
"""Trouble that may be over at the next look: no answer, or somebody else's write came between."""


def settle(session: Session, settings: GateSettings, *, unchanged: bool = False) -> None:
    """Bring the NodeSet to where lowering its replicas to the gate's number harms no job; give back what is left of an
    earlier run where it is there already.

    ``unchanged``: the state has the gate's number already. Then more replicas are either an earlier run's, whose write of
    the NodeSet failed and which has left its marks, or somebody's own: those the engine, which compares with its state,
    won't write, so nothing is drained.

    Raises DrainBlocked, DrainDeadline, or what the clients raise; then nothing was killed that policy didn't name.
    """
    goal = scale_in_goal(session, settings)
    if goal is None:
        return
    if unchanged and goal.target < goal.current:
        seen = session.observe(settings)
        if seen.nodeset is not None and seen.nodeset.replicas > goal.target and not begun(seen, settings.owner):
            session.report(by_hand(settings, seen.nodeset.replicas), severity="warning", keep=True)
            return
    drive(session, settings, goal)


def by_hand(settings: GateSettings, live: int) -> str:
    """What is told where somebody has raised a NodeSet's replicas and the state doesn't know."""
    return (
        f"{settings.resource} has {live} replicas where the stack says {settings.replicas}: somebody scaled it. Only with"
        f" --refresh does `pulumi up` come back to {settings.replicas}, and drain first; without, it leaves it so"
    )


def scale_in_goal(session: Session, settings: GateSettings) -> Goal | None:
    """What this run wants, from the live NodeSet; None where there is no NodeSet and so nothing to guard."""
    live = session.live_replicas(settings.resource)
    if live is None:
        return None
    target = settings.ceiling
    if settings.scaler == "autoscaler" and live <= target:
        target = live
    # With replicas lowered already, surplus pods are still on their way out: their drains must stand.
    current = live if live != target else target + session.surplus_pods(settings.resource, target)
    return _goal(session, settings, current, target, f"scale-in {current}->{target}", teardown=False)


def tear_down(session: Session, settings: GateSettings) -> None:
    """Drain every node of the NodeSet, which is about to be removed. Without the NodeSet there is nothing to do."""
    live = session.live_replicas(settings.resource)
    if live is None:
        return
    drive(session, settings, _goal(session, settings, live, 0, "NodeSet is removed", teardown=True))


def last_look(session: Session, settings: GateSettings) -> None:
    """Right before the NodeSet is written: nodes that a lower number gives up are drained and free still, or stop.

    Raises DrainBlocked where they aren't: somebody undrained one, or the number was lowered past the gate.
    """
    goal = scale_in_goal(session, settings)
    if goal is None or goal.target >= goal.current:
        return
    step = next_step(session.observe(settings), goal)
    if isinstance(step, Done):
        return
    why = step.why if isinstance(step, Wait | Stop) else f"{_in_words(step)} is needed again"
    raise DrainBlocked(
        f"{settings.owner.text}: replicas are not lowered to {goal.target}: {why}. Nothing was changed by this step; run"
        " `pulumi up --refresh`, and the gate drains first"
    )


def give_back(session: Session, settings: GateSettings) -> int:
    """Undo our drains and annotations on this NodeSet and nothing else; returns how many steps it took."""
    taken = 0
    for _ in range(UNDO_ROUNDS):
        try:
            steps = undo_steps(session.observe(settings), settings.owner)
            if not steps:
                return taken
            step = steps[0]
            if isinstance(step, Wait):
                session.report(step.why)
            else:
                session.act(step, settings)
                taken += 1
        except _PASSING as error:
            session.report(f"{error}", severity="warning")
        session.pause(settings.policy.poll_s)
    raise DrainBlocked(
        f"{settings.owner.text}: after {UNDO_ROUNDS} looks something of ours is still there; `python -m slinky_iac drain"
        " status` shows what, and the same command goes on"
    )


def drive(session: Session, settings: GateSettings, goal: Goal) -> Done:
    """Loop until done. Raises DrainBlocked or DrainDeadline where it can't be.

    After an act the next look comes at once; where it asks for the very same act again, after a pause: Slurm takes its
    time, and a job that is being requeued needs no second word.
    """
    bound_at = session.now() + settings.policy.bound_s
    clocks = Clocks(session.now(), session.steady())
    last: Step | None = None
    while True:
        soon = False
        jump = clocks.jumped(session.now(), session.steady())
        if jump:
            goal, bound_at = replace(goal, deadline_at=goal.deadline_at + jump), bound_at + jump
            session.report(f"the clock was set by {jump} s; the wait is as long as before", severity="warning")
        try:
            step = _next(session, settings, goal)
            if isinstance(step, Done):
                return step
            if isinstance(step, Stop):
                _end(session, settings, step)
            if not isinstance(step, Wait):
                session.report(_in_words(step))
                session.act(step, settings)
                if _untimed(step) != last:
                    last = _untimed(step)
                    continue
            else:
                soon = step.soon
                session.report("; ".join([step.why, *step.progress[:4]]))
        except _PASSING as error:
            session.report(f"{error}", severity="warning")
            if session.now() >= goal.ends_at:
                raise DrainDeadline(
                    f"{settings.owner.text}: the deadline is over without an answer: {error} {touched(goal, session.now())};"
                    f" what is drained stays drained. {NEXT_STEP}"
                ) from error
        if session.now() >= bound_at:
            raise DrainDeadline(
                f"{settings.owner.text}: one call may take {settings.policy.bound_s} s and has; what is drained stays"
                f" drained. {NEXT_STEP}"
            )
        _rest(session, settings, goal, soon=soon)


def _untimed(step: Step) -> Step:
    """The step without the moment in it: a signal to the same jobs is the same act a second later."""
    return replace(step, marks=()) if isinstance(step, Signal) else step


def _next(session: Session, settings: GateSettings, goal: Goal) -> Step:
    """The next step. Only waiting rests on a cheap look: what is done, or ends the wait, rests on a whole one."""
    seen, whole = session.glance(settings)
    step = next_step(seen, goal)
    return step if whole or isinstance(step, Wait) else next_step(session.observe(settings), goal)


def _goal(session: Session, settings: GateSettings, current: int, target: int, why: str, *, teardown: bool) -> Goal:
    return Goal(
        owner=settings.owner,
        current=current,
        target=target,
        policy=settings.policy,
        deadline_at=session.now() + settings.policy.deadline_s,
        why=why,
        teardown=teardown,
    )


def _rest(session: Session, settings: GateSettings, goal: Goal, *, soon: bool) -> None:
    """Wait for the next look. Raises DrainBlocked where the engine has asked to stop, or is gone."""
    if session.pause(min(SOON_S, settings.policy.poll_s) if soon else settings.policy.poll_s):
        raise DrainBlocked(
            f"{settings.owner.text}: interrupted in {goal.why}. {touched(goal, session.now())}; drained nodes stay so."
            f" {NEXT_STEP}"
        )
    if not session.engine_lives():
        raise DrainBlocked(f"{settings.owner.text}: the engine is gone; this gate changes nothing more")


def _end(session: Session, settings: GateSettings, stop: Stop) -> None:
    kind = DrainDeadline if stop.cause == "deadline" else DrainBlocked
    try:
        if stop.undo:
            give_back(session, settings)
    except SlinkyError as left:
        raise kind(f"{settings.owner.text}: {stop.why}\nThat was not done to its end: {left}") from left
    raise kind(f"{settings.owner.text}: {stop.why}")


def _in_words(step: Step) -> str:
    """What is done now, for the progress line."""
    name = type(step).__name__
    words = {
        "SetCosts": "marking the pods that go",
        "Nudge": "making the operator look",
        "Drain": "draining",
        "RenewHold": "renewing the hold",
        "CordonAnnotate": "cordoning the pods",
        "Release": "taking marks back",
        "Undrain": "returning nodes",
        "Resume": "returning what earlier pods left behind",
        "Reword": "rewording reasons of nodes that are down",
        "Requeue": "requeueing jobs",
        "Signal": "signalling jobs",
        "Cancel": "cancelling jobs",
    }[name]
    members: tuple[object, ...] = next(
        (getattr(step, name) for name in ("nodes", "pods", "jobs") if hasattr(step, name)), ()
    )
    shown = ", ".join(str(getattr(member, "pod", member)) for member in members[:8])
    return f"{words}: {shown}{' …' if len(members) > 8 else ''}"
