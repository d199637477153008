"""The plan of a scale-in or a removal: which pods are selected, what runs on them, until when, and what blocks it.

Pure: the same look gives the same plan, so that a preview and the `up` after it agree unless the cluster changed. The
choice is :func:`slinky_iac.drain.cost.choose`'s; the prediction of what the operator will delete is
:func:`slinky_iac.drain.ranking.predicted_victims`'s.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import UNSET, UnsetType

from slinky_iac import names
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.cost import Candidate, Kind, assess, choose, seen_elsewhere
from slinky_iac.drain.free import queue_losses
from slinky_iac.drain.losses import Change, losers
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.ranking import HEALTHY, class_of, predicted_victims
from slinky_iac.drain.settings import DrainPolicy, Owner
from slinky_iac.drain.tags import NO_COST_BELOW, cost_below, foreign_tags
from slinky_iac.drain.waiting import over_limits
from slinky_iac.drain.words import distinct, iso, jobs_in_words, marked_by
from slinky_iac.drain.written_plan import SCHEMA, Plan, PlannedJob, PlannedNode
from slinky_iac.kube.objects import NodeSet, Pod
from slinky_iac.releases import OperatorVersion
from slinky_iac.selection import DAEMON
from slinky_iac.slurmrest.objects import Job
from slinky_iac.text import latest, some

MAX_JOBS = 200
"""Jobs listed by name. A plan is in every state and diff; of a NodeSet with 100,000 jobs it says the number."""
MAX_JOBS_OF_A_NODE = 16


@dataclass(frozen=True)
class Seen:
    """What a preview adds to a gate's inputs, and what must stop it."""

    plan: Plan | None = None
    """None: nothing is to do, so the state's stays, and a second preview is empty."""
    failures: tuple[str, ...] = ()
    due: str = ""
    """Why the update must run even if the configuration has not changed; ``""`` where there is nothing to do."""

    def props(self, olds: Mapping[str, Any]) -> dict[str, Any]:
        """The plan as an input. ``olds``: inputs of the state."""
        return dict(olds.get("plan") or {}) if self.plan is None else self.plan.props

    def because(self, why: str) -> Seen:
        """The same with another reason to run."""
        return replace(self, due="; ".join(reason for reason in (self.due, why) if reason))


@dataclass(frozen=True)
class DrainPlan:
    """What a scale-in, a removal or a rollout will do, as of one look."""

    nodeset: str
    current: int
    target: int
    removes: int
    """Pods that the operator will delete: all that exist, failed and terminating included, over the target."""
    selected: tuple[Candidate, ...] = ()
    """Pods selected, in the order in which they are. Empty when Slurm could not be asked."""
    blocks: tuple[str, ...] = ()
    """What keeps the number from being lowered as things stand. Nodes that can't be freed by this program don't keep it from
    draining the others."""
    over: tuple[str, ...] = ()
    """Limits that it exceeds, which forbid it too."""
    warnings: tuple[str, ...] = ()
    known: bool = True
    """False when Slurm could not be asked: then nothing is claimed about nodes and jobs."""

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Distinct jobs on the selected nodes, by id."""
        return distinct(job for candidate in self.selected for job in candidate.jobs)

    @property
    def unforeseen(self) -> bool:
        """Whether it is unknown of a selected node when it is free."""
        return any(candidate.unforeseen for candidate in self.selected)

    @property
    def free_at(self) -> int | None:
        """When all selected nodes are expected to be free: None when that is unknown, 0 when they are now."""
        return None if self.unforeseen else max((candidate.end for candidate in self.selected), default=0)

    @property
    def written(self) -> Plan:
        """What is selected, whose jobs are waited for, until when, and what blocks it."""
        jobs = self.jobs
        return Plan(
            schema=SCHEMA,
            nodeset=self.nodeset,
            current=self.current,
            target=self.target,
            known=self.known,
            nodes=tuple(map(_planned_node, self.selected)),
            jobs=tuple(map(planned_job, jobs[:MAX_JOBS])),
            jobs_total=len(jobs),
            free_at=when(self.free_at if self.known else None),
            blocks=(*self.blocks, *self.over),
            warnings=self.warnings,
        )


def plan_scale_in(seen: Observation, state: NodeSet, target: int, policy: DrainPolicy, owner: Owner) -> DrainPlan:
    """The plan for lowering ``state.spec.replicas`` to ``target``; without an answer from Slurm it holds counts only."""
    pods, cluster, current = seen.pods, seen.cluster, state.spec.replicas
    blocks, warnings = [*frozen(state), *state_blocks(seen, state, owner)], [*_count_warnings(pods, state, target)]
    blocks += [why] if (why := other_mode(state, pods)) else []
    plan = DrainPlan(owner.nodeset, current, target, max(len(pods) - target, 0), known=cluster is not None)
    if cluster is None:
        plan = replace(plan, over=over_limits(policy.limits, seen.now, (), plan.removes, current))
        warnings.append(unasked(seen))
    else:
        candidates = assess(pods, cluster, seen.now, owner)
        selected = choose(candidates, target)
        names_selected = {candidate.name for candidate in selected}
        retained = tuple(candidate for candidate in candidates if candidate.name not in names_selected)
        cost = cost_below(candidate.pod for candidate in retained)
        blocks += _choice_blocks(selected, retained, cost, target, seen.version)
        warnings += [*warnings_about(selected, retained), *queue_warnings(cluster, selected)]
        plan = replace(plan, selected=selected)
        plan = replace(plan, over=over_limits(policy.limits, seen.now, plan.jobs, len(selected), current))
    return replace(plan, blocks=tuple(blocks), warnings=tuple(warnings))


def plan_teardown(seen: Observation, state: NodeSet, owner: Owner) -> DrainPlan:
    """The plan of a removal: every node is selected, because the NodeSet is removed, replaced or destroyed.

    Nothing is ranked here, for Kubernetes takes all pods at once; so costs, autoscalers and the operator's view don't
    matter, and limits on a scale-in don't either: a destroy means everything. The wait for jobs is the same.
    """
    blocks = [*frozen(state), *foreign_gates(seen.pods, owner)]
    warnings = list(_delays(seen.pods, state))
    selected: tuple[Candidate, ...] = ()
    if seen.cluster is None:
        warnings.append(unasked(seen))
    else:
        selected = choose(assess(seen.pods, seen.cluster, seen.now, owner), 0)
        blocks += blocked_nodes(selected)
        warnings += _own_partition(seen.cluster, state, owner)
        warnings += [*warnings_about(selected, ()), *queue_warnings(seen.cluster, selected)]
    number, known = _number(seen.pods, state), seen.cluster is not None
    return DrainPlan(owner.nodeset, number, 0, len(seen.pods), selected, tuple(blocks), (), tuple(warnings), known)


def plan_machine(seen: Observation, state: NodeSet, owner: Owner, machine: str) -> DrainPlan | None:
    """What the service of one Kubernetes node would have to wait for: its pods of this NodeSet, and their jobs. None where
    it has none. Nothing is removed by this plan: the numbers are today's."""
    pods = tuple(pod for pod in seen.pods if pod.scheduled and pod.spec.node_name == machine)
    if not pods:
        return None
    number = _number(seen.pods, state)
    plan = DrainPlan(owner.nodeset, number, number, len(pods), known=seen.cluster is not None)
    if seen.cluster is None:
        return replace(plan, warnings=(unasked(seen),))
    selected = choose(assess(pods, seen.cluster, seen.now, owner), 0)
    return replace(plan, selected=selected, warnings=tuple(queue_warnings(seen.cluster, selected)))


def _own_partition(cluster: ClusterView, state: NodeSet, owner: Owner) -> Iterable[str]:
    """The queue of the NodeSet's own partition, which slurmctld in Kubernetes loses with it."""
    going = Change(partitions=frozenset([owner.nodeset] if state.spec.partition.enabled else []))
    if waiting := [job for job in losers(going, cluster) if job.waits]:
        yield f"{jobs_in_words(waiting)} wait in its own partition, and are waited for first"


def unknown_plan(nodeset: str, current: int, target: int, why: str) -> DrainPlan:
    """The plan where nothing could be asked."""
    warning = f"unknown, because there was no answer: {why}"
    return DrainPlan(nodeset, current, target, max(current - target, 0), warnings=(warning,), known=False)


def unasked(seen: Observation) -> str:
    """What a plan without Slurm's answer says of that."""
    return f"Slurm could not be asked, so nodes and jobs are not in this plan: {seen.problem}"


def is_forced(pod: Pod) -> bool:
    """Whether the operator takes the pod before any healthy one, whatever its cost."""
    return class_of(pod) < HEALTHY


def frozen(state: NodeSet) -> Iterable[str]:
    """A person has forbidden all changes: the update will refuse."""
    if state.frozen_in_words:
        yield f"{state.frozen_in_words}. Until then the update changes nothing of it"


def other_mode(state: NodeSet, pods: Collection[Pod], *, on_each: bool = False) -> str:
    """Why this NodeSet isn't the gate's to change: it has another mode than the stack sets; ``""`` where it has that one.
    ``on_each``: the stack sets DaemonSet. A StatefulSet without a pod is how such a NodeSet begins. ``pods``: its own, as
    they are: its status may be that of a NodeSet of the same name that was deleted a moment ago (1.1.0, run). Source:
    ``nodeset_sync.go`` of 1.1.0 to 1.2.1: a change of mode deletes the pods of the other one, drained or not."""
    mode, wanted = state.spec.scaling_mode, DAEMON if on_each else "StatefulSet"
    empty = mode == "StatefulSet" and state.spec.replicas == 0 and not pods
    if mode == wanted or (on_each and empty):
        return ""
    return (
        f"{state.name} has scalingMode {mode}, which somebody else wrote. The stack sets {wanted}. slurm-operator deletes"
        " all pods of a NodeSet whose scalingMode changes. So first drain its nodes (`scontrol update nodename=… state=drain"
        f" reason=…`) and wait for their jobs, then set scalingMode {wanted} again. Or remove the NodeSet from the stack and"
        " run `pulumi up`, which drains them"
    )


def state_blocks(seen: Observation, state: NodeSet, owner: Owner) -> Iterable[str]:
    """What in Kubernetes forbids a scale-in."""
    pods = seen.pods
    if seen.writers:
        yield (
            f"replicas of {state.name} are written by {', '.join(seen.writers)}, so this program doesn't: lower the "
            "autoscaler's maximum, or remove it, or set `owner: autoscaler`"
        )
    if state.rolling(len(pods)):
        yield (
            f"a rolling update of {state.name} is on ({state.status.updated_replicas} of {len(pods)} pods are up to date)"
            " and picks pods by rules of its own: wait for its end, then run `pulumi up` again"
        )
    yield from foreign_gates(pods, owner)


def foreign_gates(pods: Sequence[Pod], owner: Owner) -> Iterable[str]:
    """Pods that another gate is at work on."""
    foreign = foreign_tags(pods, owner)
    if foreign:
        yield (
            f"{some(pod.name for pod in foreign)} carry the tag of another gate ({foreign[0].gate[:80]!r}): end that"
            " scale-in or cancel it with `slinky drain cancel` in its stack; if that stack is gone for good, remove the"
            f" annotation {names.ANNOTATION_GATE} from the pods"
        )


def blocked_nodes(selected: Sequence[Candidate]) -> Iterable[str]:
    """Chosen nodes that can't be made free by us."""
    for candidate in selected:
        if candidate.kind is Kind.BLOCKED:
            yield (
                f"{candidate.node} is among the nodes to remove, and this program can't free it: {candidate.trouble}. The"
                " update drains the others, waits, and fails at its deadline. Drain this one yourself (scontrol update"
                " nodename=… state=drain) or return it to service"
            )


def _choice_blocks(
    selected: Sequence[Candidate], retained: Sequence[Candidate], cost: int | None, target: int, version: OperatorVersion
) -> Iterable[str]:
    """What about the selected pods forbids it."""
    yield from blocked_nodes(selected)
    if cost is None:
        yield NO_COST_BELOW
        return
    pods = [candidate.pod for candidate in (*selected, *retained)]
    victims = [candidate.name for candidate in selected]
    if not predicted_victims(pods, target, version, dict.fromkeys(victims, cost)).is_exactly(victims):
        yield "the operator would not delete exactly the selected pods: nothing will be drained"


def _count_warnings(pods: Sequence[Pod], state: NodeSet, target: int) -> Iterable[str]:
    if len(pods) != state.spec.replicas:
        yield (
            f"{state.name} asks for {state.spec.replicas} pods and has {len(pods)}: the operator will delete "
            f"{max(len(pods) - target, 0)} to come to {target}"
        )


def warnings_about(selected: Sequence[Candidate], retained: Sequence[Candidate]) -> Iterable[str]:
    """What the reader of the plan should know."""
    forced = [candidate.name for candidate in selected if is_forced(candidate.pod)]
    if forced:
        yield (
            f"{some(forced)}: not scheduled or not ready, and slurm-operator takes such pods first, so they are selected."
            " Jobs on their nodes are waited for"
        )
    unregistered = [candidate.name for candidate in selected if candidate.kind is Kind.UNREGISTERED]
    if unregistered:
        yield f"{some(unregistered)}: slurmctld has no record of them, so they can't be drained"
    for candidate in selected:
        if candidate.kind is Kind.UNREGISTERED and (why := seen_elsewhere(candidate)):
            yield f"{candidate.node} is not called free: {why}"
    for part, members in (("selected", selected), ("retained", retained)):
        yield from _foreign_holds(part, members)
    for candidate in retained:
        if candidate.kind is Kind.BLOCKED:
            yield f"{candidate.node} is retained: {candidate.trouble}"
    for candidate in selected:
        if candidate.endless:
            endless = [job for job in candidate.jobs if job.expected_end is None]
            yield f"{candidate.node}: unknown when it becomes free: {jobs_in_words(endless)}"
        if candidate.reservations:
            yield f"{candidate.node} is counted on by reservation {', '.join(candidate.reservations)}"
    yield from _split_jobs(selected, retained)


def queue_warnings(cluster: ClusterView, selected: Sequence[Candidate]) -> Iterable[str]:
    """Jobs that are on none of the selected nodes, and lose by their end."""
    nodes = [candidate.node for candidate in selected if candidate.record is not None]
    return queue_losses(cluster, nodes)


def _foreign_holds(part: str, members: Sequence[Candidate]) -> Iterable[str]:
    """Drains of people and of the operator, on nodes selected or retained."""
    for candidate in members:
        if candidate.foreign_hold and candidate.record is not None:
            who = "slurm-operator" if candidate.record.held_by_operator else marked_by(candidate.record)
            goes = " This update still removes the node, once its jobs have ended" if part == "selected" else ""
            yield (
                f"{candidate.node} ({part}) is drained by {who}: {candidate.record.reason!r}. That drain is neither"
                f" overwritten nor undone.{goes}"
            )


def _split_jobs(selected: Sequence[Candidate], retained: Sequence[Candidate]) -> Iterable[str]:
    """Multi-node jobs that run on both sides: they end as a whole."""
    wide = {job.job_id for candidate in selected for job in candidate.jobs if len(job.node_names) > 1}
    split = distinct(job for candidate in retained for job in candidate.jobs if job.job_id in wide)
    if split:
        yield f"{jobs_in_words(split)} also run on nodes that stay, and are waited for as a whole"


def _number(pods: Sequence[Pod], state: NodeSet) -> int:
    """Pods that it asks for; in DaemonSet mode, where the number isn't read, those that it has."""
    return len(pods) if state.spec.scaling_mode == DAEMON else state.spec.replicas


def _delays(pods: Sequence[Pod], state: NodeSet) -> Iterable[str]:
    """What is waited out before the first drain."""
    if state.rolling(len(pods)):
        yield f"a rolling update of {state.name} is on, and its end is waited for first"
    if len(pods) > _number(pods, state):
        yield f"an earlier scale-in of {state.name} isn't over, and its end is waited for first"


def when(free_at: int | None) -> str:
    """``now``, a time, or ``unknown``."""
    return "now" if free_at == 0 else iso(free_at)


def _planned_node(candidate: Candidate) -> PlannedNode:
    return PlannedNode(
        node=candidate.node,
        pod=candidate.name,
        kind=candidate.kind.name.lower(),
        free_at=when(None if candidate.unforeseen else candidate.end if candidate.jobs else 0),
        jobs=tuple(job.label for job in candidate.jobs[:MAX_JOBS_OF_A_NODE]),
        jobs_total=len(candidate.jobs),
    )


def planned_job(job: Job, *, waits: bool | UnsetType = UNSET) -> PlannedJob:
    """One job that is waited for."""
    return PlannedJob(
        job=job.label,
        user=job.user_name,
        partition=job.partition,
        state="+".join(sorted(job.job_state)),
        nodes=len(job.node_names),
        started=iso(job.start_time.value),
        ends_by=iso(job.expected_end),
        stack_job=job.of_stack or UNSET,
        waits=waits,
    )


def waited_for(plan: Plan, jobs: Sequence[Job]) -> Plan:
    """The plan with jobs that hold a change up, and when the last ends. One that waits has no known end."""
    last = latest(None if job.waits else job.expected_end for job in jobs) if plan.known else None
    named = tuple(planned_job(job, waits=job.waits) for job in jobs[:MAX_JOBS])
    return Plan(jobs=named, jobs_total=len(jobs), free_at=when(last)).completed(plan)
