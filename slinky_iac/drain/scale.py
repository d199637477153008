"""What the gate of a NodeSet does, each a :class:`slinky_iac.drain.driver.Task`: bring it to its number of replicas, replace
pods of an earlier template, await its nodes, remove it, give everything back.

All deciding is pure: :func:`slinky_iac.drain.steps.next_step` and its like.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from slinky_iac import names
from slinky_iac.drain import conf_run, protocol
from slinky_iac.drain.closed import Record
from slinky_iac.drain.daemons import SetSelection, asked, going, names_coming
from slinky_iac.drain.driver import Task, drive
from slinky_iac.drain.free import records_without_pods
from slinky_iac.drain.members import members_step, not_in_service, told_of_fit, undo_steps, unreturnable
from slinky_iac.drain.observe import cluster_view
from slinky_iac.drain.proof import Met, still_running
from slinky_iac.drain.protocol import NEXT_STEP, Done, Goal, Observation, Step, Stop, Wait
from slinky_iac.drain.rollout import at_once, in_words, members, roll_step
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import GateSettings
from slinky_iac.drain.steps import next_step
from slinky_iac.drain.words import iso, named, touched
from slinky_iac.errors import DrainBlocked, DrainDeadline, KubeUnreachable, SlinkyError, SlurmrestError
from slinky_iac.kube.machines import names_of_others
from slinky_iac.kube.objects import NodeSet
from slinky_iac.kube.selection import selection_of
from slinky_iac.parts import writers
from slinky_iac.selection import Selection, Selects
from slinky_iac.slurmrest.concurrent_calls import several
from slinky_iac.text import counted

UNDO_LOOKS: Final = 30
"""Pauses that giving back may take; each look acts on what is still there."""


class NodeSetTask(Task[Observation]):
    """What all tasks of one NodeSet's gate look at, and how they act."""

    settings: GateSettings

    def look(self) -> Observation:
        """Read pods, nodes and jobs, in this order. The first look also stops an earlier run that still continues."""
        self.session.begin(self.settings.resource, self.settings.urn)
        return self.session.observe(self.settings)

    def glance(self) -> tuple[Observation, bool]:
        """Without what slurmctld says is unchanged."""
        self.session.begin(self.settings.resource, self.settings.urn)
        return self.session.glance(self.settings)


class ScaleTask(NodeSetTask):
    """Drain what is selected and lower the number, raise it, or remove the NodeSet: the steps of ``next_step``."""

    acts_at_deadline = True
    steps: Callable[[Observation, Goal], Step] = staticmethod(next_step)

    def __init__(self, session: Session, settings: GateSettings, goal: Goal, met: Met) -> None:
        super().__init__(session, settings, goal.deadline_at - session.now(), met)
        self._goal = goal
        self.doing = goal.why
        self.bound_at = session.now() + settings.policy.bound_s

    @property
    def goal(self) -> Goal:
        """What this run wants."""
        return self.timed(self._goal)

    def decide(self, seen: Observation) -> Step:
        return self.steps(seen, self.goal)

    def check(self, seen: Observation, step: Step) -> Step:
        """Note what is seen of drained nodes and their jobs; a removal asks for its partition's queue first, and before pods
        go that slurmctld knows nothing of, slurmdbd is asked."""
        self.met.see(seen)
        return self._accounts_first(seen, self._queue_first(step) if self.goal.teardown else step)

    def ended(self, seen: Observation) -> str:
        state = seen.nodeset
        drained = f"; drained for it: {named(self.met.nodes)}" if self.met.nodes else ""
        if state is None:
            return f"the NodeSet is removed{drained}"
        if self.goal.selects is not None:
            return f"{asked(seen)} Kubernetes nodes fit{drained}"
        return f"replicas are {state.spec.replicas}{drained}"

    def did(self, step: Step) -> None:
        """Pods that a part of a scale-out starts have as long to register as those of a whole one."""
        super().did(step)
        if isinstance(step, protocol.SetReplicas) and step.replicas != self._goal.target:
            self._goal = replace(self._goal, current=step.replicas)
            self.deadline_at = self.session.now() + self.policy.register_deadline_s
            self.bound_at = self.session.now() + self.policy.bound_s

    def undo(self) -> None:
        give_back(self.session, self.settings)

    def clock_was_set(self, jump: int) -> None:
        super().clock_was_set(jump)
        self.bound_at += jump

    def over(self, _last: Step | None) -> SlinkyError | None:
        """One call has a bound of its own."""
        if self.session.now() < self.bound_at:
            return None
        over = f"this step may take {self.policy.bound_s} s, and that time is over"
        return DrainDeadline(f"{self.owner.text}: {over}; drained nodes stay drained. {NEXT_STEP}")

    def stays(self) -> str:
        return f"{touched(self.goal, self.session.now())}; drained nodes stay so. {NEXT_STEP}"

    def _accounts_first(self, seen: Observation, step: Step) -> Step:
        """A step that ends pods, once no job runs there by slurmdbd where slurmctld has no record of their nodes."""
        match step:
            case protocol.SetReplicas(pods=going) | SetSelection(pods=going) | protocol.DeleteNodeSet(pods=going):
                ending = set(going)
            case protocol.DeletePods(pods):
                ending = {replacement.pod for replacement in pods}
            case _:
                return step
        known = {} if seen.cluster is None else seen.cluster.nodes
        unknown = [
            pod for pod in seen.pods if pod.name in ending and pod.status.phase == "Running" and pod.slurm_node not in known
        ]
        why = still_running(self.session, self.settings, unknown)
        return self._until(why, "No pod was ended") if why else step

    def _until(self, why: str, left: str) -> Step:
        """The wait for what holds a step up, until the run ends. ``left``: what is so then."""
        if self.session.now() < self.ends_at:
            return Wait(why)
        return Stop(f"the deadline ({iso(self.deadline_at)}) is over: {why}. {left}. {NEXT_STEP}", "deadline")

    def _queue_first(self, step: Step) -> Step:
        """A removal's step, once no job waits in the NodeSet's own partition, and once none runs there before the NodeSet
        goes.

        slurmctld in Kubernetes loses that partition with the NodeSet, and ends every job of it. What waits can start only
        until the nodes are drained.
        """
        session, settings = self.session, self.settings
        state = session.nodeset(settings.resource) if isinstance(step, protocol.Drain | protocol.DeleteNodeSet) else None
        if state is None or not state.spec.partition.enabled:
            return step
        why = conf_run.partition_holds(session, settings, waiting_only=isinstance(step, protocol.Drain))
        if not why:
            return step
        return self._until(
            f"slurmctld would end the jobs of {settings.resource}'s partition with it: {why}",
            "The NodeSet stays, and its partition takes no new job. Wait for these jobs to end, or move them (scontrol"
            " update jobid=… partition=…)",
        )


class RollTask(ScaleTask):
    """Replace the pods of an earlier template: each batch may wait for its jobs as long as a scale-in."""

    steps = staticmethod(roll_step)

    def __init__(self, session: Session, settings: GateSettings, goal: Goal, met: Met) -> None:
        super().__init__(session, settings, goal, met)
        self._before = frozenset(met.nodes)
        """Nodes that a scale-in of the same run drained: they are gone, and not replaced."""

    def ended(self, seen: Observation) -> str:
        new = counted(len(seen.pods) - len(seen.outdated), "pod")
        return f"{new} of the newest template; replaced: {named(self.met.nodes - self._before) or 'none'}"

    def did(self, step: Step) -> None:
        """A new batch has a deadline and a bound of its own."""
        super().did(step)
        if isinstance(step, protocol.Drain):
            self.deadline_at = self.session.now() + self.policy.deadline_s
        if isinstance(step, protocol.Drain | protocol.DeletePods):
            self.bound_at = self.session.now() + self.policy.bound_s


class MembersTask(NodeSetTask):
    """Wait until exactly the pods that are asked for are ready and registered with slurmctld."""

    doing = "waiting for nodes to register"

    _uncordoned: frozenset[str] = frozenset()

    def decide(self, seen: Observation) -> Step:
        """Done when nothing is missing. A cordon that the operator sets again has another cause, and stays."""
        left = replace(seen, cordoned=seen.cordoned - self._uncordoned)
        return members_step(left, self.settings, self.deadline_at)

    def did(self, step: Step) -> None:
        if isinstance(step, protocol.Release):
            self._uncordoned |= {mark.pod for mark in step.pods}

    def unanswered(self, error: SlinkyError) -> SlinkyError:
        """What the last look met is what is missing."""
        return DrainDeadline(f"{self.owner.text}: {not_in_service(self.policy, str(error))}")

    def over(self, _last: Step | None) -> SlinkyError | None:
        if isinstance(_last, Wait) or self.session.now() < self.deadline_at:
            return None
        return DrainDeadline(
            f"{self.owner.text}: after {self.policy.register_deadline_s} s drains of ours, or records of earlier pods, are"
            " still on nodes of the NodeSet. `slinky drain status` shows them; `pulumi up` continues"
        )


class UndoTask(NodeSetTask):
    """Give back our drains and annotations on a NodeSet, and nothing else."""

    doing = "giving drains back"

    def __init__(self, session: Session, settings: GateSettings) -> None:
        super().__init__(session, settings, UNDO_LOOKS * settings.policy.poll_s)
        self.taken = 0

    def glance(self) -> tuple[Observation, bool]:
        """Always a whole look: what is given back is put to work."""
        return self.look(), True

    def decide(self, seen: Observation) -> Step:
        steps = undo_steps(seen, self.owner)
        return steps[0] if steps else Done()

    def did(self, step: Step) -> None:
        self.taken += not isinstance(step, Wait)

    def ended(self, seen: Observation) -> str:
        return f"nothing of ours is left on {seen.nodeset.name if seen.nodeset else self.owner.nodeset}"

    def unanswered(self, error: SlinkyError) -> SlinkyError:
        """The same as without trouble."""
        return self.over(None) or error

    def over(self, _last: Step | None) -> SlinkyError | None:
        if self.session.now() < self.deadline_at:
            return None
        return DrainBlocked(
            f"{self.owner.text}: after {UNDO_LOOKS} looks, marks or drains of this stack are still there; `slinky drain"
            " status` shows them. Run the same command again"
        )


def settle(session: Session, settings: GateSettings, *, first: bool = False) -> Met:
    """Bring the NodeSet to its number of replicas, or to its machines, and give back what is left of an earlier run. Nodes
    selected for removal are drained first. An autoscaler's number is written only where the NodeSet is new
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
    if settings.selection is not None:
        drive(ScaleTask(session, settings, _select_goal(session, settings, state, settings.selection), met))
        return met
    with writers.standing_still(session, settings, state.spec.replicas) as still:
        state = session.nodeset(settings.resource) or state  # the autoscaler may have written it until then
        drive(ScaleTask(session, settings, _scale_goal(session, settings, state, first=first, still=still), met))
    return met


def _scale_goal(session: Session, settings: GateSettings, state: NodeSet, *, first: bool, still: bool) -> Goal:
    """What this run wants, from the live number. ``still``: its autoscaler is paused, so the number is the gate's."""
    current = state.spec.replicas
    by_stack = settings.by_stack or (first and current == 0)
    target = settings.replicas if by_stack else min(current, settings.max_replicas)
    by_stack = by_stack or still
    # With replicas lowered already, surplus pods are still on their way out: their drains must stand.
    current = current if current != target else target + session.surplus_pods(state, target)
    return replace(_goal(session, settings, current, target, f"scale-in {current}->{target}"), writes=by_stack)


def _select_goal(session: Session, settings: GateSettings, state: NodeSet, wanted: Selection) -> Goal:
    """What this run wants of which Kubernetes nodes fit, from the live NodeSet."""
    pods = session.kube.pods_of(settings.reach.namespace, state)
    look = Observation(session.now(), settings.version, pods, state, machines=session.kube.machines())
    left, comes = len(pods) - len(leaving := going(look, wanted)), names_coming(look, wanted)
    goal = _goal(session, settings, len(pods), left, f"machines that fit {len(pods)}->{left}")
    if comes and comes & names_of_others(session.kube, settings.reach.namespace, state).keys():
        goal = replace(goal, deadline_at=session.now() + settings.policy.deadline_s)  # their gates wait for jobs
    return replace(goal, selects=Selects(wanted, selection_of(state), leaving))


def roll(session: Session, settings: GateSettings, met: Met | None = None) -> None:
    """Replace the pods of an earlier template, drained, batch by batch; nothing where the strategy leaves it to others.

    Each batch may wait for its jobs as long as a scale-in. Raises what :func:`settle` raises; what is replaced stays so.
    ``met``: nodes and jobs are added to it.
    """
    state = session.nodeset(settings.resource)
    if state is None or not settings.rolls or (settings.selection is None and state.spec.replicas > settings.target):
        return  # an autoscaler's surplus is held, and replaced once that has lowered its number
    if not session.may_be_outdated(settings.resource):
        return
    selects = None if settings.selection is None else Selects(settings.selection, selection_of(state))
    current = state.spec.replicas if selects is None else session.surplus_pods(state, 0)
    goal = _goal(session, settings, current, current, "rollout")
    goal = replace(goal, deadline_at=session.now() + settings.policy.deadline_s, selects=selects)
    seen = drive(RollTask(session, settings, goal, met or Met(settings.owner)))
    if seen.cluster is not None:
        left = members(seen, goal.owner, seen.cluster, (pod for pod in seen.pods if pod.name in seen.outdated)).held
        for candidate in left:
            session.report(in_words(candidate), severity="warning", keep=True)


def tear_down(session: Session, settings: GateSettings) -> Met | None:
    """Drain every node of the NodeSet, then delete it and wait until it is gone. Without the NodeSet nothing is done; None,
    and nothing is done, where another gate owns it: then this one was renamed, and the NodeSet is in the program."""
    met = Met(settings.owner)
    state = session.nodeset(settings.resource)
    other = "" if state is None else state.metadata.annotations.get(names.ANNOTATION_GATE_URN, "")
    if other and settings.urn and other != settings.urn:
        session.report(
            f"{settings.resource} stays: since this gate's last run another one owns it ({other}), and removes it",
            severity="warning",
            keep=True,
        )
        return None
    if state is not None:
        writers.stop_for_removal(session, settings)
        goal = _goal(session, settings, state.spec.replicas, 0, "NodeSet is removed", teardown=True)
        drive(ScaleTask(session, settings, goal, met))
    return met


def forget_removed(session: Session, settings: GateSettings, seen: Observation | None = None) -> None:
    """Delete Slurm's records of nodes whose pods were removed. One that stays harms nothing, so its refusal is a warning.

    ``seen``: a whole look at the NodeSet; without one the NodeSet is gone, and so are all its pods.
    """
    try:
        cluster, pods = (cluster_view(session.slurm, allow_none=True), ()) if seen is None else (seen.cluster, seen.pods)
        records = records_without_pods(cluster, settings.owner, pods)
        if records:  # a job that waits may name one
            records = records_without_pods(cluster_view(session.slurm, allow_none=True, waits=True), settings.owner, pods)
        for name, _ in zip(records, several(session.slurm.delete_node, records), strict=True):
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
    if state is not None and state.spec.partition.enabled:
        Record(session, settings).reopen(settings.owner.nodeset)


def give_back(session: Session, settings: GateSettings) -> int:
    """Undo our drains and annotations on this NodeSet and nothing else; returns how many steps it took."""
    task = UndoTask(session, settings)
    for text in unreturnable(drive(task), settings.owner):
        session.report(f"our drain stays: {text}", severity="warning", keep=True)
    return task.taken + writers.give_back(session, settings)


def await_members(session: Session, settings: GateSettings) -> Observation:
    """Wait until exactly the pods that are asked for are there, ready and registered with slurmctld; the whole look that
    shows it. In DaemonSet mode none may fit, which is said.

    With an autoscaler, however many it asks for now. Raises DrainDeadline naming each pod that isn't there, and why.
    """
    seen = drive(MembersTask(session, settings))
    for text in told_of_fit(seen, settings):
        session.report(text, severity="warning", keep=True)
    session.report(f"{len(seen.pods)} of {len(seen.pods)} nodes registered")
    return seen


def _goal(session: Session, settings: GateSettings, current: int, target: int, why: str, *, teardown: bool = False) -> Goal:
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
        run=session.run,
        by=session.asked_by,
        cluster=settings.cluster,
        rolls=at_once(settings.max_unavailable, current) if settings.rolls else 0,
    )
