"""Whether a NodeSet's pods are Slurm nodes that take jobs, what keeps them from it, and what clears that. Pure.

The operator names new pods by the lowest free ordinals, so names come again, and with them slurmctld's record: a preStop
hook sets the node DOWN ("Pod is terminating"; releases from 1.2 on leave the record so for good), on top of the drain
with which a scale-in took the pod. The new slurmd's registration may lift DOWN (ReturnToService=2 on the outside
slurmctld), never DRAIN.

Only reasons of ours and of the operator are cleared, and only those older than the pod: a younger one may be the sign of
the pod's own end, and then a job started there would die with it. A record whose pod is gone for good is deleted. Drains of
people stay, are named, and don't hold up an update: they are somebody's decision. Nodes over an autoscaler's maximum stay
drained too, until it lowers its number. Those that slurm-operator drained for an autoscaler's lower number, which was raised
again before their pods were gone, are returned: with OnDelete the operator itself returns them only at the next new pod.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from slinky_iac import names
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.free import iso
from slinky_iac.drain.mark import drained_for_cordon, foreign_tags, release_steps, tag_of
from slinky_iac.drain.protocol import Done, Observation, Release, Resume, Step, Stop, Unmark, Wait
from slinky_iac.drain.settings import OPERATORS, GateSettings, Owner
from slinky_iac.kube.objects import Pod
from slinky_iac.slurmrest.objects import Node

LEFT_BEHIND: Final = (names.OPERATOR_REASON_PREFIX, "Pod is terminating")
"""Beginnings of the operator's reasons; its preStop hook wrote no prefix before 1.1.1."""
STARTS_S: Final = 60
"""Seconds in which a pod that isn't ready is starting; later its log says why it isn't."""
_NO_DAEMON: Final = frozenset({"DOWN", "NOT_RESPONDING", "UNKNOWN", "FUTURE", "POWERED_DOWN"})
"""States of a record that no slurmd answers for."""


def records_without_pods(cluster: ClusterView | None, owner: Owner, pods: Collection[Pod]) -> tuple[str, ...]:
    """Records of the NodeSet's removed nodes, which slurm-operator leaves DOWN from 1.2 on, by name.

    Nothing is behind them: dynamic, without a job and without a pod. Those with a person's reason stay.
    """
    if cluster is None:
        return ()
    own = re.compile(re.escape(names.nodeset_hostname(owner.nodeset)) + "[0-9]+")
    there = {pod.slurm_node for pod in pods}
    return tuple(
        sorted(
            node.name
            for node in cluster.nodes.values()
            if node.name not in there
            and node.known
            and {"DOWN", "DYNAMIC_NORM"} <= node.state
            and own.fullmatch(node.name)
            and not cluster.jobs(node.name)
            and (node.reason.startswith(LEFT_BEHIND) or owner.owns(node.reason))
        )
    )


def names_in_use(seen: Observation, owner: Owner, target: int, going: Collection[str] = ()) -> str:
    """Which names of the pods that ``target`` replicas add are somebody else's in Slurm, ``""`` where none is.

    ``going``: pods that end before, by name. A name may come again, and a pod that is ending gives its place to another.
    """
    if seen.cluster is None:
        return ""
    staying = [pod for pod in seen.pods if pod.name not in going and not pod.terminating]
    ordinals = {pod.ordinal for pod in staying}
    free = [number for number in range(target + len(ordinals)) if number not in ordinals]
    coming = (f"{names.nodeset_hostname(owner.nodeset)}{number}" for number in free[: max(target - len(staying), 0)])
    own = {pod.slurm_node for pod in seen.pods}
    used = [name for name in coming if name not in own and _in_use(seen.cluster, name, owner)]
    if not used:
        return ""
    shown = ", ".join(used[:8])
    return (
        f"{shown} {'is' if len(used) == 1 else 'are'} in use in Slurm, and no pod of this NodeSet belongs to it: a new"
        " pod of that name would take it over, and slurmctld would end the jobs there. `scontrol show node` shows"
        " where such a node"
        " is (NodeAddr). If another stack or Kubernetes cluster has it, give one of the two NodeSets another name"
    )


def _in_use(cluster: ClusterView, name: str, owner: Owner) -> bool:
    """Whether a job or a daemon is behind a record. What a pod of ours left is DOWN, doesn't answer, or has our reason."""
    record = cluster.nodes.get(name)
    if cluster.jobs(name):
        return True
    if record is None or record.state & _NO_DAEMON:
        return False
    return not (record.reason.startswith(LEFT_BEHIND) or owner.owns(record.reason))


def stale_records(seen: Observation, owner: Owner) -> tuple[str, ...]:
    """Nodes to be returned to service by RESUME, by name; none while the operator is deleting pods, or may be."""
    state, cluster = seen.nodeset, seen.cluster
    if state is None or cluster is None:
        return ()
    if not state.observed or len(seen.pods) > state.spec.replicas:
        return ()
    return tuple(
        sorted(
            pod.slurm_node
            for pod in seen.pods
            if not cluster.jobs(pod.slurm_node) and _is_stale(pod, cluster.nodes.get(pod.slurm_node), owner)
        )
    )


def taken_back(seen: Observation, settings: GateSettings) -> tuple[Pod, ...]:
    """Pods whose nodes slurm-operator holds for ``pod-cordon`` though the NodeSet has its number, an autoscaler's.

    A person may have set that annotation: :func:`slinky_iac.kube.marks.is_makers` says.
    """
    state, cluster = seen.nodeset, seen.cluster
    if settings.scaler != "autoscaler" or settings.updates == OPERATORS or state is None or cluster is None:
        return ()
    if not state.observed or len(seen.pods) != state.spec.replicas or state.spec.replicas > settings.target:
        return ()
    held = (pod for pod in seen.pods if pod.cordon and not pod.gate and not pod.terminating)
    return tuple(pod for pod in held if drained_for_cordon(cluster.nodes.get(pod.slurm_node)))


def _is_stale(pod: Pod, record: Node | None, owner: Owner) -> bool:
    return (
        record is not None
        and pod.healthy
        and not pod.terminating
        and not pod.cordon
        and bool(record.state & {"DOWN", "DRAIN"})
        and (record.reason.startswith(LEFT_BEHIND) or owner.owns(record.reason))
        and record.reason_changed_at.value is not None
        and record.reason_changed_at.value < pod.created
    )


def fault_of(pod: Pod, seen: Observation, owner: Owner) -> str:
    """What isn't as it should be, ``""`` where all is. A person's drain is a decision and no fault."""
    if not pod.scheduled:
        return f"{pod.name} has no Kubernetes node: {pod.trouble or '`kubectl describe pod` says why'}"
    if not pod.ready and not pod.trouble and seen.now - pod.created < STARTS_S:
        return f"{pod.name} is starting ({pod.status.phase}); `kubectl logs` of its slurmd says more"
    if not pod.ready:
        return f"{pod.name} is {pod.status.phase} and not ready: {pod.trouble or '`kubectl logs` of its slurmd says why'}"
    return _record_fault(pod, None if seen.cluster is None else seen.cluster.nodes.get(pod.slurm_node), owner)


def _record_fault(pod: Pod, record: Node | None, owner: Owner) -> str:
    if record is None:
        return f"{pod.slurm_node} is not registered with slurmctld, though its pod is ready"
    if owner.holds(record):
        return f"{pod.slurm_node} still carries our own drain"
    if drained_for_cordon(record) and not pod.cordon:
        why = "which it drained for a mark that is gone"
        return f"slurm-operator has not yet returned {pod.slurm_node}, {why}: {record.reason}"
    if "INVALID_REG" in record.state:  # slurmctld drains such a node itself: nobody's decision
        said = record.reason or "no reason given"
        return f"{pod.slurm_node} registered as something else than it is configured to be: {said}"
    if record.state & {"DOWN", "UNKNOWN", "NOT_RESPONDING"} and not record.drained_or_draining:
        return f"{pod.slurm_node} is {record.state_text}: {record.reason or 'no reason given'}"
    return ""


def members_step(seen: Observation, settings: GateSettings, deadline_at: int) -> Step:
    """The next act towards all nodes in service."""
    missing = absent(seen, settings)
    if not missing:
        return Done()
    step = _given_back(settings, seen)
    if step is not None:
        return step
    if seen.now >= deadline_at:
        return Stop(
            f"after {settings.policy.register_deadline_s} s these are not in service: {'; '.join(missing)}. Repair"
            " them, then run `pulumi up` again; nodes that are in service stay in service",
            "deadline",
        )
    return Wait(f"waiting for {len(missing)}: {'; '.join(missing[:3])}")


def absent(seen: Observation, settings: GateSettings) -> tuple[str, ...]:
    """What isn't as it should be, one sentence each; empty when all is well."""
    if seen.nodeset is None:
        return (f"there is no NodeSet {settings.resource}",)
    if seen.cluster is None:
        return (f"Slurm could not be asked: {seen.problem}",)
    wanted = seen.nodeset.spec.replicas
    faults = [f"{len(seen.pods)} pods where {wanted} are asked for"] if len(seen.pods) != wanted else []
    held = _held(seen, settings)
    faults += [fault for pod in seen.pods if pod.slurm_node not in held and (fault := fault_of(pod, seen, settings.owner))]
    faults += [f"{node} carries what an earlier pod of its name left" for node in stale_records(seen, settings.owner)]
    marked = (pod for pod in seen.pods if pod.slurm_node not in held and tag_of(pod, settings.owner) is not None)
    faults += [f"{pod.name} still carries our mark for a removal or a rollout" for pod in marked]
    faults += [
        f"{pod.slurm_node} is still drained by slurm-operator, though no pod is selected for removal now"
        for pod in seen.pods
        if pod.name in seen.cordoned
    ]
    return tuple(faults)


def _held(seen: Observation, settings: GateSettings) -> frozenset[str]:
    """Nodes that this gate has drained for an autoscaler, which lowers the number."""
    if settings.scaler != "autoscaler" or seen.nodeset is None or seen.nodeset.spec.replicas <= settings.target:
        return frozenset()
    return frozenset(pod.slurm_node for pod in seen.pods if tag_of(pod, settings.owner) is not None)


def _given_back(settings: GateSettings, seen: Observation) -> Step | None:
    """What gives back ours on pods that are here to stay, or clears what earlier pods of their names left."""
    if seen.nodeset is None or len(seen.pods) != seen.nodeset.spec.replicas:
        return None
    stale = stale_records(seen, settings.owner)
    if stale:
        return Resume(stale)
    if seen.cordoned:
        return Release(tuple(Unmark(name, restore_cost=False, was=None, uncordon=True) for name in sorted(seen.cordoned)))
    held = _held(seen, settings)
    steps = release_steps(seen, settings.owner, {pod.name for pod in seen.pods if pod.slurm_node in held})
    return None if not steps or isinstance(steps[0], Wait) else steps[0]


@dataclass(frozen=True)
class NodeStatus:
    """One node of a NodeSet that carries a drain or a mark."""

    nodeset: str
    node: str
    states: str
    reason: str
    owner: str
    """``ours``, ``operator``, ``somebody else`` or empty for none."""
    returns: str
    """When slurmctld undrains the node without a request, ISO 8601, or empty."""
    marked: bool
    jobs: tuple[str, ...]


def status_of(settings: GateSettings, seen: Observation) -> tuple[NodeStatus, ...]:
    """What one look says about drains and marks on a NodeSet's pods, ours and others'."""
    rows: list[NodeStatus] = []
    foreign = {pod.name for pod in foreign_tags(seen.pods, settings.owner)}
    for pod in seen.pods:
        record = seen.cluster.nodes.get(pod.slurm_node) if seen.cluster is not None else None
        marked = tag_of(pod, settings.owner) is not None or pod.name in foreign
        if not marked and (record is None or not record.drained_or_draining):
            continue
        jobs = seen.cluster.jobs(pod.slurm_node) if seen.cluster is not None else ()
        owner = ""
        if record is not None and record.drained_or_draining:
            ours = settings.owner.owns(record.reason)
            owner = "ours" if ours else "operator" if record.held_by_operator else "somebody else"
        rows.append(
            NodeStatus(
                nodeset=settings.owner.nodeset,
                node=pod.slurm_node,
                states=record.state_text if record is not None else "no record",
                reason=record.reason if record is not None else "",
                owner=owner,
                returns=iso(record.resume_after.value) if record is not None and record.resume_after.value else "",
                marked=marked,
                jobs=tuple(f"{job.label} {job.user_name}" for job in jobs),
            )
        )
    return tuple(rows)
