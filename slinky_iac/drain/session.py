"""The hands of a gate: to look and to carry out one step, over one connection."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Final

from slinky_iac import names
from slinky_iac.cluster.connection import Connection
from slinky_iac.cluster.kube_connection import PATIENT_S
from slinky_iac.cluster.reach import Reach
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain import one_look, protocol
from slinky_iac.drain.daemons import SetSelection, record_stays
from slinky_iac.drain.free import LEFT_BEHIND
from slinky_iac.drain.fresh import TRIES, as_seen, same_marks, same_pod, selects_as_seen
from slinky_iac.drain.lease import THIS_RUN, ThisRun
from slinky_iac.drain.losses import named_by
from slinky_iac.drain.marks import Changes, changes
from slinky_iac.drain.observe import Answers, Look, look
from slinky_iac.drain.protocol import Observation, Replaced
from slinky_iac.drain.requester import actor
from slinky_iac.drain.settings import GateSettings, Owner
from slinky_iac.drain.words import jobs_in_words
from slinky_iac.engine import plugin_process
from slinky_iac.engine.plugin_process import Report, engine_report
from slinky_iac.errors import DrainBlocked, KubeConflict, KubeNotFound, SlurmrestRefused
from slinky_iac.kube.objects import NodeSet, Pod
from slinky_iac.kube.wire import Clock
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.concurrent_calls import several
from slinky_iac.slurmrest.controller import JobActionResult
from slinky_iac.slurmrest.drains import BulkResult, Outcome
from slinky_iac.slurmrest.lists import NodesAnswer

Writes = protocol.SetReplicas | SetSelection | protocol.DeleteNodeSet | protocol.RevokePermit
RECENT_S: Final = 2.0
"""Age up to which a drain is sent by the look's own list of nodes."""


class Session(Connection):
    """Looks and acts for one gate."""

    def __init__(
        self,
        reach: Reach,
        report: Report,
        stack: ExitStack,
        *,
        budget_s: float,
        clock: Clock,
        tries: int = 4,
        this_run: ThisRun = THIS_RUN,
    ) -> None:
        super().__init__(reach, stack, budget_s=budget_s, clock=clock, tries=tries)
        self.report = report
        self.this_run = this_run
        self.asked_by = actor(os.environ, host=socket.gethostname())
        self._seen: Observation | None = None
        self._pods: dict[str, Pod] = {}
        self._begun = False
        self._answers: Answers | None = None
        self._told: set[str] = set()

    @property
    def run(self) -> str:
        """Stamp of this run (:attr:`slinky_iac.drain.protocol.Goal.run`)."""
        return self.this_run.id

    def pause(self, seconds: float) -> bool:
        """Wait; returns whether the engine has asked to stop."""
        return plugin_process.pause(seconds)

    @property
    def watched(self) -> bool:
        """Whether a terminal shows the lines of this gate, each in the place of the one before."""
        return plugin_process.watched()

    def engine_lives(self) -> bool:
        """Whether the engine that started this is still there."""
        return plugin_process.engine_lives()

    def begin(self, name: str, urn: str = "") -> None:
        """Say once on the NodeSet that this run is the last, and which gate owns it now, unless a person has frozen it. An
        earlier run ends at its next look. Raises what the clients raise, KubeConflict where it was written since."""
        state = None if self._begun else self.nodeset(name)
        if state is not None and names.ANNOTATION_FREEZE not in state.metadata.annotations:
            with suppress(KubeNotFound):
                noted: dict[str, str | None] = {names.ANNOTATION_RUN: self.run}
                self.kube.annotate_nodeset(
                    self.reach.namespace, state, noted | ({names.ANNOTATION_GATE_URN: urn} if urn else {})
                )
            self._begun = True

    def _require_last(self, state: NodeSet | None) -> None:
        """Raises DrainBlocked where a later run has begun: `pulumi cancel` takes a lock away and ends no run."""
        last = "" if state is None else state.metadata.annotations.get(names.ANNOTATION_RUN, "")
        if self._begun and state is not None and last not in {"", self.run}:
            raise DrainBlocked(
                f"{state.name}: another `pulumi` or `drain cancel` began after this run (annotation {names.ANNOTATION_RUN})."
                " This run ends and changes nothing more: the other run now owns what is drained. `slinky"
                " drain status` shows it"
            )

    def surplus_pods(self, state: NodeSet, target: int) -> int:
        """Pods over ``target``, terminating ones included."""
        return max(len(self.kube.pods_of(self.reach.namespace, state)) - target, 0)

    def may_be_outdated(self, name: str) -> bool:
        """Whether a pod is of an earlier template, or the operator has not said so yet; asks Kubernetes only."""
        state = self.nodeset(name)
        pods = () if state is None else self.kube.pods_of(self.reach.namespace, state)
        return state is not None and any(not state.observed or pod.revision != state.revision for pod in pods)

    def observe(self, settings: GateSettings, *, queue: bool = False) -> Observation:
        """One look: pods first, then Slurm's nodes, then its jobs. Slurm's silence is part of it; Kubernetes' is an error.

        ``queue``: for a plan, with jobs that wait too, and from one look of this process for all NodeSets
        (:mod:`slinky_iac.drain.one_look`). What acts rests on a look of its own.
        """
        if not queue:
            return self._look(settings, None).observation
        state = self.nodeset(settings.resource)
        return one_look.observed(self, settings, state) if state else Observation(self.now(), settings.version)

    def glance(self, settings: GateSettings) -> tuple[Observation, bool]:
        """One look, cheap where no drained node of the NodeSet has changed since the last one; and whether it is as good as
        :meth:`observe`'s. Where it isn't, it is good enough to continue to wait by, and for nothing else."""
        seen = self._look(settings, self._answers)
        return seen.observation, seen.whole

    def _look(self, settings: GateSettings, last: Answers | None) -> Look:
        seen = look(self.kube, lambda: self.slurm, settings, self.now(), last)
        self._require_last(seen.observation.nodeset)
        self._seen = seen.observation
        self._pods = seen.observation.pods_by_name
        self._answers = seen.answers
        return seen

    def act(self, step: protocol.Step, owner: Owner) -> None:
        """Carry out one step. Raises what the clients raise; a half-done step is found by the next look."""
        match step:
            case protocol.SetCosts(pods) | protocol.TriggerSync(pods):
                self._annotate(changes(pods))
            case protocol.CordonAnnotate(pods):
                self._annotate(changes((), cordoned=pods))
            case protocol.Release(pods):
                self._annotate(changes(pods))
            case protocol.SetReplicas() | SetSelection() | protocol.DeleteNodeSet() | protocol.RevokePermit():
                self._write(step)
            case protocol.DeletePods(pods):
                self._replace(pods)
            case _:
                if isinstance(step, protocol.RenewHold):
                    self._annotate(changes(step.marks, cordoned=step.cordoned))
                nodes = self._answers.nodes if self._answers is not None else None
                recent = nodes is not None and self.steady() - nodes.answered <= RECENT_S
                act_on_slurm(self.slurm, step, owner, self._tell, nodes if recent else None)
                if isinstance(step, protocol.ClearHold):
                    self._annotate(changes(step.marks))

    def _replace(self, pods: tuple[Replaced, ...]) -> None:
        """Delete pods, each after its record; where Slurm keeps the record, since a job has come, the pod stays."""
        records = {worker.record for worker in pods if worker.record}
        kube, records = self.kube, records - self._named(records)
        slurm = self.slurm if records else None

        def replaced(worker: Replaced) -> None:
            if slurm is not None and worker.record in records:
                slurm.delete_node(worker.record)
            self._on_pod(worker.pod, kube.delete_worker, same_pod)

        list(several(replaced, pods))

    def _named(self, records: Collection[str]) -> set[str]:
        """Those that a job names by ``--nodelist``: without its record slurmctld's next start would end the job. The record
        stays, with a warning: features, GRES, CPUs and memory stay those of the earlier template until it goes."""
        jobs = ClusterView.of((), self.slurm.jobs_after(self.steady(), wanted="live").jobs if records else ())
        naming = named_by(records, jobs)
        for record, named in naming.items():
            self._tell(
                f"Slurm's record of {record} stays, for --nodelist of {jobs_in_words(named)} names it: a new template's"
                f" features, GRES, CPUs and memory reach slurmctld once these jobs are over and the record is deleted"
                f" (`scontrol delete nodename={record}`, then its pod)"
            )
        return set(naming)

    def _write(self, step: Writes) -> None:
        """Write or delete the NodeSet, if all that the last look concluded from is still so. Raises KubeConflict where it
        isn't, or where others write the NodeSet faster than it can be read and written."""
        for left in reversed(range(TRIES)):
            try:
                state = self._as_seen(step)
            except KubeNotFound:
                if isinstance(step, protocol.SetReplicas | SetSelection):
                    raise
                return  # gone, and a permission on it too
            try:
                self._write_on(state, step)
            except KubeConflict:
                if not left:
                    raise
            else:
                return

    def _as_seen(self, step: Writes) -> NodeSet:
        """The NodeSet of the last look as it is at this moment. Raises KubeConflict where it or its pods changed."""
        seen, namespace = self._seen, self.reach.namespace
        if seen is None or seen.nodeset is None:
            raise AssertionError("a NodeSet is written only after a look at it")
        state = self.kube.nodeset(namespace, seen.nodeset.name)
        pods = self.kube.pods_of(namespace, state)
        if isinstance(step, SetSelection):
            same = selects_as_seen(seen, state, pods, self.kube.machines(), step.selection)
        else:
            same = as_seen(seen, state, pods, step.replicas if isinstance(step, protocol.SetReplicas) else 0)
        if not same:
            changed = f"NodeSet {namespace}/{state.name} or its pods changed during the look. Look again"
            raise KubeConflict(changed, status=409)
        return state

    def _write_on(self, state: NodeSet, step: Writes) -> None:
        namespace = self.reach.namespace
        if isinstance(step, protocol.RevokePermit):
            self._permit(state, None)
        elif isinstance(step, protocol.DeleteNodeSet):
            state = self._permit(state, names.permit_to_delete(state.metadata.generation))
            with suppress(KubeNotFound):
                self.kube.delete_nodeset(namespace, state)
        elif isinstance(step, SetSelection):
            if named := self._named(step.records):
                raise DrainBlocked(record_stays(named))
            for record in step.records:
                self.slurm.delete_node(record)
            self.kube.set_selection(namespace, state, step.selection)
        else:
            if step.replicas < state.spec.replicas:
                state = self._permit(state, names.permit_to_scale(step.replicas, state.metadata.generation))
            self.kube.set_replicas(namespace, state, step.replicas)

    def _permit(self, state: NodeSet, text: str | None) -> NodeSet:
        """Write on the NodeSet what the fence in the API server lets through next; None takes it back."""
        return self.kube.annotate_nodeset(self.reach.namespace, state, {names.ANNOTATION_PERMIT: text})

    def _tell(self, text: str) -> None:
        """Say a refusal once: the run would end with no more than that the job is still there."""
        if text not in self._told:
            self._told.add(text)
            self.report(text, severity="warning", keep=True)

    def _annotate(self, pods: Changes) -> None:
        """Write pods, several at once, since each is a request of its own. All are over at the end, whatever it is."""
        if not pods:
            return
        write = self.kube.annotate_pod  # opened by one thread
        wishes = [(name, partial(write, annotations=wanted), same_marks) for name, wanted in pods.items()]
        list(several(lambda wish: self._on_pod(*wish), wishes))

    def _on_pod(self, name: str, write: Callable[[str, Pod], None], same: Callable[[Pod, Pod], bool]) -> None:
        """Write a pod, if it is still the ``same``. One that is gone since the look took its annotations with it."""
        namespace, pod = self.reach.namespace, self._pods[name]
        for left in reversed(range(TRIES)):
            try:
                with suppress(KubeNotFound):
                    write(namespace, pod)
            except KubeConflict:
                live_pod = self.kube.pod(namespace, name)
                if not left or live_pod is None or not same(pod, live_pod):
                    raise
                pod = live_pod
            else:
                return


def act_on_slurm(
    slurm: SlurmrestClient, step: protocol.Step, owner: Owner, tell: Callable[[str], None], seen: NodesAnswer | None = None
) -> None:
    """Carry out a step that is slurmctld's to take. ``tell``: for each job that Slurm refuses to touch and each node that it
    doesn't return to service, with the reason; the others are returned.

    ``seen``: a list of nodes younger than :data:`RECENT_S`, by which a drain is sent without another list, which costs
    eight times as much as the drain. Where the list of jobs took longer, the nodes are listed again, to keep the time short
    in which a person's drain, set since, is overwritten (R4 of :mod:`slinky_iac.drain.steps`). What lifts a drain or
    replaces a reason always lists again, since a node that a person has taken meanwhile would go back to work.
    """
    match step:
        case protocol.Drain(nodes, reason, hold):
            _accepted(slurm.drain(nodes, reason, hold, seen=seen), "drain")
        case protocol.RenewHold(nodes, hold):
            _accepted(slurm.drain(nodes, owner.reason("hold"), hold, seen=seen), "renew the hold of")
        case protocol.ClearHold(ends):
            _accepted(slurm.clear_hold(ends), "clear the hold of")
        case protocol.Undrain(nodes):
            undrain(slurm, nodes, owner, tell)
        case protocol.Resume(nodes):
            _told(slurm.resume(nodes, owners=[owner.prefix, *LEFT_BEHIND]), "resume", tell)
        case protocol.SetReason(nodes, reason):
            _accepted(slurm.set_reason(nodes, reason, owners=[owner.prefix]), "write the reason of")
        case protocol.Requeue(jobs):
            _touched(slurm.requeue_jobs(jobs), "requeued", tell)
        case protocol.Signal(jobs, signal):
            _touched(slurm.cancel_jobs(jobs, signal) if jobs else (), "signalled", tell)
        case protocol.Cancel(jobs):
            _touched(slurm.cancel_jobs(jobs), "cancelled", tell)
        case _:
            raise AssertionError(f"{type(step).__name__} is no act on Slurm")


def undrain(slurm: SlurmrestClient, nodes: Iterable[str], owner: Owner, tell: Callable[[str], None]) -> BulkResult:
    """Lift an owner's drains; ``tell`` as for :func:`act_on_slurm`. Others' drains are left as they are."""
    result = slurm.undrain(nodes, owners=[owner.prefix])
    _told(result, "undrain", tell)
    return result


def _touched(words: Iterable[JobActionResult], what: str, tell: Callable[[str], None]) -> None:
    for word in words:
        if not word.done and not word.gone:
            tell(f"job {word.job} was not {what}: {word.text or 'Slurm says no more'}")


def _told(result: BulkResult, what: str, tell: Callable[[str], None]) -> None:
    """Say which nodes Slurm doesn't return to service; the run continues with the others."""
    for node in result.results:
        if node.outcome is Outcome.REFUSED:
            tell(f"Slurm refuses to {what} {node.name}: {node.why}")


def _accepted(result: BulkResult, what: str) -> None:
    """Raise where Slurm refused a node. Unknown outcomes, foreign drains and absent nodes are the next look's matter."""
    refused = [node for node in result.results if node.outcome is Outcome.REFUSED]
    if not refused:
        return
    numbers = [error.error_number for error in result.errors if isinstance(error, SlurmrestRefused)]
    nodes = ", ".join(node.name for node in refused[:8])
    raise SlurmrestRefused(
        f"Slurm refuses to {what} {nodes}: {refused[0].why}. Nothing was killed; `slinky drain status` shows"
        " what is drained",
        error_number=numbers[0] if numbers else 0,
    )


@contextmanager
def open_session(
    reach: Reach, urn: str, *, budget_s: float = PATIENT_S, report: Report | None = None, tries: int = 4
) -> Iterator[Session]:
    """A session whose connections are closed at the end."""
    with ExitStack() as stack:
        yield Session(reach, report or engine_report(urn), stack, budget_s=budget_s, clock=Clock(), tries=tries)
