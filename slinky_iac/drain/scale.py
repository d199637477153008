"""The loop of a gate: look, decide one step, act, look again, until done, blocked, late or interrupted.

All deciding is in :func:`slinky_iac.drain.steps.next_step`; all state is in the cluster. So the loop may end at any
point, also by SIGKILL, and the next one goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from slinky_iac.drain import conf_run
from slinky_iac.drain.actions import DeleteNodeSet, DeletePod, Done, Drain, SetReplicas, Signal, Step, Stop, Wait
from slinky_iac.drain.deadline import NEXT_STEP, touched
from slinky_iac.drain.observation import Goal, Observation
from slinky_iac.drain.observe import cluster_view
from slinky_iac.drain.proof import Met
from slinky_iac.drain.rollout import at_once, in_words, members, roll_step
from slinky_iac.drain.scale_out import records_without_pods
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import GateSettings
from slinky_iac.drain.steady import Clocks
from slinky_iac.drain.steps import next_step
from slinky_iac.drain.text import iso
from slinky_iac.drain.undo import undo_steps
from slinky_iac.drain.waiting import rest
from slinky_iac.errors import (
    DrainBlocked,
    DrainDeadline,
    KubeConflict,
    KubeUnreachable,
    SlinkyError,
    SlurmrestError,
    SlurmrestUnreachable,
)
from slinky_iac.kube.models import NodeSetState

UNDO_ROUNDS: Final = 30
"""Looks that giving back may take; each round acts on what is still there."""
SOON_S: Final = 0.5
"""Between two looks while the operator's own look is due."""
_PASSING: Final = (KubeUnreachable, KubeConflict, SlurmrestUnreachable)
"""Trouble that may be over at the next look: no answer, or somebody else's write came between."""
Decide = Callable[[Observation, Goal], Step]


def settle(session: Session, settings: GateSettings, *, first: bool = False) -> Met:
    """Bring the NodeSet to the number of replicas that is asked for, and give back what is left of an earlier run.

    Nodes selected for removal are drained first. An autoscaler's number is written only where the NodeSet is new
    (``first``): after that the gate drains down to the maximum and the autoscaler lowers the number. Returns the nodes that
    it drained and the jobs that it met there.

    Raises DrainBlocked, DrainDeadline, or what the clients raise; then no job was ended that the policy does not name.
    """
    state = session.nodeset(settings.resource)
    if state is None:
        raise DrainBlocked(
            f"{settings.owner.text}: there is no NodeSet {settings.resource}: it was deleted outside Pulumi. Nothing was"
            " changed. Run `pulumi up --refresh`, which makes it again"
        )
    met = Met(settings.owner)
    drive(session, settings, _scale_goal(session, settings, state, first=first), met=met)
    return met


def _scale_goal(session: Session, settings: GateSettings, state: NodeSetState, *, first: bool) -> Goal:
    """What this run wants, from the live number."""
    live = state.replicas_spec
    by_stack = settings.scaler == "stack" or (first and live == 0)
    target = settings.replicas if by_stack else min(live, settings.maximum)
    # With replicas lowered already, surplus pods are still on their way out: their drains must stand.
    current = live if live != target else target + session.surplus_pods(state, target)
    return _goal(session, settings, current, target, f"scale-in {current}->{target}", writes=by_stack)


def roll(session: Session, settings: GateSettings, met: Met | None = None) -> None:
    """Replace the pods of an earlier template, drained, batch by batch; nothing where the strategy leaves it to others.

    Each batch may wait for its jobs as long as a scale-in. Raises what :func:`settle` raises; what is replaced stays so.
    ``met``: nodes and jobs are added to it.
    """
    state = session.nodeset(settings.resource)
    if state is None or not settings.rolls or state.replicas_spec > settings.ceiling:
        return  # an autoscaler's surplus is held, and replaced once that has lowered its number
    if not session.may_be_outdated(settings.resource):
        return
    live = state.replicas_spec
    goal = replace(_goal(session, settings, live, live, "rollout"), deadline_at=session.now() + settings.policy.deadline_s)
    drive(session, settings, goal, roll_step, met=met)
    seen = session.observe(settings)
    if seen.cluster is not None:
        left = members(seen, goal.owner, seen.cluster, (pod for pod in seen.pods if pod.name in seen.outdated)).held
        for each in left:
            session.report(in_words(each), severity="warning", keep=True)


def tear_down(session: Session, settings: GateSettings) -> Met:
    """Drain every node of the NodeSet, then delete it and wait until it is gone. Without the NodeSet nothing is done."""
    met = Met(settings.owner)
    state = session.nodeset(settings.resource)
    if state is not None:
        goal = _goal(session, settings, state.replicas_spec, 0, "NodeSet is removed", teardown=True)
        drive(session, settings, goal, met=met)
    return met


def forget_removed(session: Session, settings: GateSettings, seen: Observation | None = None) -> None:
    """Delete Slurm's records of nodes whose pods were removed. One that stays harms nothing, so its refusal is a warning.

    ``seen``: a whole look at the NodeSet; without one the NodeSet is gone, and so are all its pods.
    """
    try:
        cluster, pods = (cluster_view(session.slurm, allow_none=True), ()) if seen is None else (seen.cluster, seen.pods)
        for name in records_without_pods(cluster, settings.owner, pods):
            session.slurm.delete_node(name)
            session.report(f"deleted Slurm's record of {name}, which has no pod any more")
    except (SlurmrestError, KubeUnreachable) as error:
        session.report(
            f"records of removed nodes may be left in Slurm as DOWN: {error}. They take no jobs; `scontrol delete"
            " nodename=…` removes one, and so does the next update of this NodeSet",
            severity="warning",
        )


def open_again(session: Session, settings: GateSettings) -> None:
    """After a NodeSet was made: open its own partition where the removal of its predecessor closed it."""
    state = session.nodeset(settings.resource)
    if state is not None and state.own_partition:
        conf_run.reopen(session, settings.controller, settings.owner.nodeset)


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
        rest(session, settings.owner, settings.policy.poll_s, "giving drains back")
    raise DrainBlocked(
        f"{settings.owner.text}: after {UNDO_ROUNDS} looks something of ours is still there; `python -m slinky_iac drain"
        " status` shows what, and the same command goes on"
    )


def drive(
    session: Session, settings: GateSettings, goal: Goal, decide: Decide = next_step, *, met: Met | None = None
) -> Done:
    """Loop until done; adds to ``met``. Raises DrainBlocked or DrainDeadline where it can't be.

    After an act the next look comes at once; where it asks for the very same act again, after a pause: Slurm takes its
    time, and a job that is being requeued needs no second word.
    """
    met = Met(settings.owner) if met is None else met
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
            step = _next(session, settings, goal, decide, met)
            if isinstance(step, Done):
                return step
            if isinstance(step, Stop):
                _end(session, settings, step)
            if not isinstance(step, Wait):
                session.report(_in_words(step))
                session.act(step, settings)
                met.did(step)
                if decide is roll_step and isinstance(step, Drain):  # a new batch, with a deadline of its own
                    goal = replace(goal, deadline_at=session.now() + settings.policy.deadline_s)
                if decide is roll_step and isinstance(step, Drain | DeletePod):
                    bound_at = session.now() + settings.policy.bound_s
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
        seconds = min(SOON_S, settings.policy.poll_s) if soon else settings.policy.poll_s
        rest(session, settings.owner, seconds, goal.why, touched(goal, session.now()))


def _untimed(step: Step) -> Step:
    """The step without the moment in it: a signal to the same jobs is the same act a second later."""
    return replace(step, marks=()) if isinstance(step, Signal) else step


def _next(session: Session, settings: GateSettings, goal: Goal, decide: Decide, met: Met) -> Step:
    """The next step. Only waiting rests on a cheap look: what is done, or ends the wait, rests on a whole one."""
    seen, whole = session.glance(settings)
    step = decide(seen, goal)
    if not whole and not isinstance(step, Wait):
        seen = session.observe(settings)
        step = decide(seen, goal)
    met.see(seen)
    return _queue_first(session, settings, goal, step) if goal.teardown else step


def _queue_first(session: Session, settings: GateSettings, goal: Goal, step: Step) -> Step:
    """A removal's step, once no job waits in the NodeSet's own partition, and once none runs there before the NodeSet goes.

    slurmctld in Kubernetes loses that partition with the NodeSet, and ends every job of it. What waits can start only until
    the nodes are drained.
    """
    state = session.nodeset(settings.resource) if isinstance(step, Drain | DeleteNodeSet) else None
    if state is None or not state.own_partition:
        return step
    name, hide = settings.owner.nodeset, settings.policy.hide_by(settings.owner.stack)
    why = conf_run.partition_holds(session, settings.controller, name, hide, waiting_only=isinstance(step, Drain))
    if not why:
        return step
    if session.now() < goal.ends_at:
        return Wait(f"slurmctld ends the jobs of {settings.resource}'s partition with it: {why}")
    return Stop(
        f"the deadline ({iso(goal.deadline_at)}) is over, and slurmctld would end the jobs of {settings.resource}'s"
        f" partition with it: {why}. The NodeSet stays, and its partition takes no new job. Wait for these jobs to end, or"
        f" move them (scontrol update jobid=… partition=…). {NEXT_STEP}",
        "deadline",
    )


def _goal(
    session: Session,
    settings: GateSettings,
    current: int,
    target: int,
    why: str,
    *,
    teardown: bool = False,
    writes: bool = True,
) -> Goal:
    # Where no node is selected, there are no jobs to wait for: only an answer, and nodes that are given back.
    patience = settings.policy.deadline_s if teardown or target < current else settings.policy.register_deadline_s
    return Goal(
        owner=settings.owner,
        current=current,
        target=target,
        policy=settings.policy,
        deadline_at=session.now() + patience,
        why=why,
        teardown=teardown,
        writes=writes,
        run=session.run,
        by=session.asked_by,
        cluster=settings.cluster,
        rolls=at_once(settings.max_unavailable, current) if settings.rolls else 0,
    )


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
    if isinstance(step, SetReplicas):
        return f"writing replicas: {step.replicas}"
    words = {
        "SetCosts": "marking the pods that go",
        "Nudge": "making the operator look",
        "Drain": "draining",
        "RenewHold": "renewing the hold",
        "CordonAnnotate": "cordoning the pods",
        "Release": "taking marks back",
        "RevokePermit": "taking an unused permission back",
        "Undrain": "returning nodes",
        "Resume": "returning what earlier pods left behind",
        "Reword": "writing the reason of",
        "DeleteNodeSet": "deleting the NodeSet; its pods",
        "DeletePod": "deleting, so that the operator makes a new one",
        "Requeue": "requeueing jobs",
        "Signal": "signalling jobs",
        "Cancel": "cancelling jobs",
    }[name]
    members: tuple[object, ...] = next(
        (getattr(step, name) for name in ("nodes", "pods", "jobs") if hasattr(step, name)), (getattr(step, "pod", ""),)
    )
    shown = ", ".join(str(getattr(member, "pod", member)) for member in members[:8])
    return f"{words}: {shown}{' …' if len(members) > 8 else ''}"
