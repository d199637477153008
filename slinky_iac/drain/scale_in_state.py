"""What a look means for a goal: which pods are selected, how far each of their nodes is, and what a deadline does then.

At the deadline only what the policy names is done, and only to jobs on held nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.cost import Candidate, Kind, assess, choose, drainable, seen_elsewhere
from slinky_iac.drain.daemons import going
from slinky_iac.drain.free import Free, NotHeld, Unknown, Verdict, said, verdict
from slinky_iac.drain.losses import Change
from slinky_iac.drain.protocol import NEXT_STEP, Goal, Observation, Step, Stop, Wait
from slinky_iac.drain.ranking import overrides_reasons
from slinky_iac.drain.tags import tag_of
from slinky_iac.drain.waiting import last_resort
from slinky_iac.drain.words import iso, touched, waiting_line
from slinky_iac.kube.objects import Pod
from slinky_iac.slurmrest.objects import BUSY_STATES, STANDS_STILL, Job

REGISTER_GRACE_S: Final = 120
"""A ready pod without a Slurm record may still register within this time (a live slurmd that lost its record does not:
90 s were watched); after it, no job can come there."""
SETTLE_S: Final = 60
"""A pod that became unready, or was made, more recently than this may be well in a moment: nothing is decided on it."""


@dataclass(frozen=True)
class ScaleInState:
    """One look, judged."""

    seen: Observation
    goal: Goal
    cluster: ClusterView
    selected: tuple[Candidate, ...]
    """In the order in which they are selected."""
    retained: tuple[Pod, ...]
    verdicts: Mapping[str, Verdict]
    """How far each selected pod's node is, by pod name."""

    @property
    def begun(self) -> bool:
        """Whether a drain or a mark of ours is on a selected node."""
        owner = self.goal.owner
        return any(candidate.kind is Kind.OURS or tag_of(candidate.pod, owner) is not None for candidate in self.selected)

    @property
    def unfree(self) -> tuple[Candidate, ...]:
        """Chosen pods whose nodes aren't free yet."""
        return tuple(candidate for candidate in self.selected if not isinstance(self.verdicts[candidate.name], Free))

    @property
    def held_jobs(self) -> tuple[Job, ...]:
        """Jobs on selected nodes that are drained already, and can be read: the only ones a policy may touch."""
        return tuple(job for candidate in self.unfree if candidate.drained for job in candidate.jobs if not job.trouble)

    @property
    def to_drain(self) -> tuple[Candidate, ...]:
        """Chosen pods whose nodes need our drain, as many as the policy allows at once."""
        waiting = [candidate for candidate in self.selected if self._needs_drain(candidate)]
        limit = self.goal.policy.max_at_once
        if limit is None:
            return tuple(waiting)
        return tuple(waiting[: max(limit - sum(1 for candidate in self.unfree if candidate.kind is Kind.OURS), 0)])

    @property
    def to_mark(self) -> tuple[Candidate, ...]:
        """Chosen pods that must carry our mark now: all but those whose turn to be drained hasn't come."""
        now = {candidate.name for candidate in self.to_drain}
        return tuple(candidate for candidate in self.selected if candidate.name in now or not self._needs_drain(candidate))

    @property
    def of_earlier_runs(self) -> tuple[str, ...]:
        """Nodes under our drain whose reason does not carry this run's stamp."""
        return tuple(
            candidate.node
            for candidate in self.selected
            if candidate.kind is Kind.OURS and candidate.record is not None and self.goal.run not in candidate.record.reason
        )

    def _needs_drain(self, candidate: Candidate) -> bool:
        record = candidate.record
        return (
            record is not None
            and candidate.kind not in {Kind.LEAVING, Kind.BLOCKED}
            and "DRAIN" not in record.state
            and drainable(record, self.goal.owner)
        )

    def waiting(self, then: str, of: str = "nodes") -> str:
        """How far the nodes are, which job ends last, and what comes next."""
        unfree = self.unfree
        jobs = {job.job_id: job for candidate in unfree for job in candidate.jobs}
        return waiting_line(
            len(self.selected) - len(unfree),
            len(self.selected),
            tuple(jobs.values()),
            self.seen.now,
            self.goal,
            then,
            of,
        )

    def progress(self) -> tuple[str, ...]:
        """A line for each node that is waited for."""
        return tuple(
            f"{candidate.node}: {candidate.trouble or said(self.verdicts[candidate.name])}" for candidate in self.unfree
        )

    def operator_saw(self, candidate: Candidate) -> bool:
        """Whether the operator's view holds the drain that is there now, and not one that it made and lifted before.

        A drain of ours must be shown with the stamp of this run: conditions of a pod outlive the operator that wrote them.
        """
        if "DRAIN" not in candidate.pod.slurm_states:
            return False
        if candidate.kind is not Kind.OURS:
            return True
        return self.goal.owner.owns(candidate.pod.slurm_reason) and self.goal.run in candidate.pod.slurm_reason

    @property
    def _registered(self) -> tuple[Candidate, ...]:
        """Chosen pods on which the operator shows what it sees."""
        return tuple(
            candidate
            for candidate in self.selected
            if candidate.record is not None and candidate.pod.scheduled and not candidate.pod.terminating
        )

    @property
    def unseen(self) -> tuple[Candidate, ...]:
        """Chosen pods whose drain the operator has not seen; for releases that override reasons, also not seen idle."""
        busy = BUSY_STATES if overrides_reasons(self.seen.version) else frozenset()
        return tuple(
            candidate
            for candidate in self._registered
            if not self.operator_saw(candidate) or candidate.pod.slurm_states & busy
        )

    def endangered(self) -> str:
        """A retained pod that the operator may take instead of a selected one, with its job; ``""`` where there is none.

        Pods that aren't ready go first, so if a selected one recovers before the operator looks, it takes a retained one
        that has not. It waits for jobs that it sees; a suspended one it does not.
        """
        for pod in self.retained:
            still = [job for job in self.cluster.jobs(pod.slurm_node) if job.job_state & STANDS_STILL]
            if not pod.healthy and still:
                return (
                    f"{pod.name} is retained and not ready, so the operator may remove it instead, and doesn't count"
                    f" its suspended job {still[0].label}"
                )
        return ""

    def operator_unaware(self) -> str:
        """Why the operator can't be trusted with a lower number yet, ``""`` when it can.

        A drain seen by it (the pod's condition) proves two things: that it won't mistake the node for one in service,
        and that it has a Slurm client, without which it deletes any pod at once (IsNodeDrained fails open).
        """
        unseen = self.unseen
        if unseen:
            names = ", ".join(candidate.name for candidate in unseen)
            return f"the operator has not yet seen the drain of {names} (its view is up to 30 s old)"
        return "" if self._registered else without_client(self.retained, self.cluster)


def without_client(retained: Iterable[Pod], cluster: ClusterView) -> str:
    """Why the operator has no Slurm client, by what it shows of pods that stay; ``""`` where it has one, or none of them can
    tell."""
    witnesses = [pod for pod in retained if pod.healthy and pod.slurm_node in cluster.nodes]
    if not witnesses or any(pod.slurm_states for pod in witnesses):
        return ""
    return "the operator shows no Slurm state on any pod: it has no Slurm client and would delete pods without draining"


def replaced_after(seen: Observation, cluster: ClusterView, going: Collection[str]) -> str:
    """Why a selection may not be written yet after which the operator replaces the pods that stay: with RollingUpdate it
    waits for their jobs, but for suspended ones, and for none without a Slurm client. ``""`` where it may."""
    if seen.nodeset is None or seen.nodeset.on_delete:
        return ""
    stay = [pod for pod in seen.pods if pod.name not in going and not pod.terminating]
    for pod in stay:
        if still := [job for job in cluster.jobs(pod.slurm_node) if job.job_state & STANDS_STILL]:
            return (
                f"{pod.name} stays and its template changes, so slurm-operator replaces it (updateStrategy RollingUpdate),"
                f" and doesn't count its suspended job {still[0].label}"
            )
    return without_client(stay, cluster)


def judge(seen: Observation, goal: Goal, cluster: ClusterView) -> ScaleInState:
    """Judge a look. In a teardown every pod is selected; in DaemonSet mode all whose Kubernetes nodes no longer fit."""
    candidates = assess(seen.pods, cluster, seen.now, goal.owner)
    if goal.selects is None or goal.teardown:
        return staged(seen, goal, cluster, choose(candidates, 0 if goal.teardown else goal.target))
    leaving = going(seen, goal.selects.wanted)
    return staged(seen, goal, cluster, choose([candidate for candidate in candidates if candidate.name in leaving], 0))


def staged(seen: Observation, goal: Goal, cluster: ClusterView, selected: tuple[Candidate, ...]) -> ScaleInState:
    """The look with these pods selected."""
    names = {candidate.name for candidate in selected}
    return ScaleInState(
        seen=seen,
        goal=goal,
        cluster=cluster,
        selected=selected,
        retained=tuple(pod for pod in seen.pods if pod.name not in names),
        verdicts={candidate.name: _verdict(candidate, cluster, seen.now, teardown=goal.teardown) for candidate in selected},
    )


def unsettled(seen: Observation) -> tuple[Pod, ...]:
    """Pods that the operator would take first now, and perhaps not in a minute."""
    return tuple(
        pod
        for pod in seen.pods
        if not pod.healthy and not pod.terminating and seen.now - max(pod.ready_changed or 0, pod.created) < SETTLE_S
    )


def another_slurm(goal: Goal, cluster: ClusterView) -> str:
    """Why this slurmctld is not the one of the NodeSet, ``""`` when it is, or when either name is unknown."""
    if not goal.cluster or not cluster.name or goal.cluster == cluster.name:
        return ""
    return f"slurmctld of cluster {cluster.name!r} answers, and the NodeSet belongs to {goal.cluster!r}"


def none_listed(seen: Observation, goal: Goal, cluster: ClusterView) -> str:
    """Why missing records prove nothing: pods have long been ready, slurmctld lists none of them, and nothing shows that it
    is the right one. ``""`` otherwise."""
    if goal.cluster and goal.cluster == cluster.name:
        return ""
    long_ready = [
        pod
        for pod in seen.pods
        if pod.healthy and not pod.terminating and seen.now - (pod.ready_changed or 0) >= REGISTER_GRACE_S
    ]
    if not long_ready or any(pod.slurm_node in cluster.nodes for pod in seen.pods):
        return ""
    return (
        f"slurmctld lists none of the nodes of this NodeSet, though {long_ready[0].name} has been ready for more than"
        f" {REGISTER_GRACE_S} s: it may be another cluster's slurmctld, or one that lost its state (StateSaveLocation)."
        " Check slurmrest.url; give slurmctld its state back, and the gate continues. If that is impossible and no job"
        " runs in these pods, delete the pods: the new ones register"
    )


def _verdict(candidate: Candidate, cluster: ClusterView, now: int, *, teardown: bool) -> Verdict:
    """The rule of :mod:`slinky_iac.drain.free`, and what only the pod can tell."""
    if candidate.kind is Kind.LEAVING:
        return Free("its pod is being deleted already, and not by this program")
    if candidate.kind is Kind.BLOCKED:
        return Unknown(candidate.trouble)
    pod = candidate.pod
    if candidate.record is None and pod.slurm_node in cluster.nodes:
        return Free("its pod waits for a place, and the Slurm node of that name is another's")
    if candidate.record is None and pod.healthy and now - (pod.ready_changed or 0) < REGISTER_GRACE_S:
        return NotHeld("its pod is ready and may register with slurmctld at any moment")
    if (
        teardown
        and candidate.record is None
        and pod.status.phase == "Running"
        and not pod.ready
        and now - pod.created < REGISTER_GRACE_S
    ):
        return NotHeld("its pod has just started and may register with slurmctld at any moment")
    elsewhere = seen_elsewhere(candidate)
    return Unknown(elsewhere) if elsewhere else verdict(pod.slurm_node, cluster, now, forgets=True)


def late(goal: Goal, why: str, progress: Sequence[str] = ()) -> Stop:
    """The end of a run whose wait is over."""
    return stopped(goal, f"the deadline ({iso(goal.deadline_at)}) is over; {why}. {touched(goal, goal.ends_at)}", progress)


def stopped(goal: Goal, why: str, progress: Sequence[str] = ()) -> Stop:
    """The same with other words."""
    undo = goal.policy.on_deadline == "undo"
    what = "the drains are taken back" if undo else f"what is drained stays drained. {NEXT_STEP}"
    return Stop("\n  ".join((f"{why}, and {what}", *progress)), "deadline", undo=undo)


def deadline_step(stage: ScaleInState) -> Step:
    """The policy's next act for jobs that still hold selected nodes."""
    goal, progress = stage.goal, stage.progress()
    change = Change(records=frozenset(candidate.node for candidate in stage.selected))
    step = last_resort(stage.held_jobs, stage.seen.now, goal, change, progress)
    if isinstance(step, Step):
        return step
    acts, soon = goal.policy.on_deadline in {"requeue", "cancel"}, stage.seen.now < goal.ends_at
    if acts and not step and soon and all(candidate.drained and not candidate.jobs for candidate in stage.unfree):
        # slurmctld ends a job before it calls its node idle
        return Wait("the jobs are gone; their nodes will be free in a moment", progress)
    return late(goal, step or "these nodes are not free", progress)
