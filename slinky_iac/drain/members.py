"""The pods of a NodeSet: giving back what is ours and nothing else, and whether they are Slurm nodes that take jobs. Pure.

Order of an undo: the permission on the NodeSet, our hold under other people's drains, annotations of pods, then the drain
(with ``pod-cordon`` left on, the operator would drain the node again), then the reason of a node that stays down. A drain is
ours by its reason, an annotation by its tag; whatever carries neither is left alone, also where we suspect our own hand.

What the operator is already deleting is not given back: a node undrained then takes a job and loses it with the pod. So
pods beyond ``spec.replicas`` keep drain and marks until they are gone, and nothing is given back while the operator has
not yet seen the newest spec.

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

from collections.abc import Collection, Iterator
from typing import Final

from slinky_iac import names
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain import daemons, holds, protocol
from slinky_iac.drain.deletions import nudge
from slinky_iac.drain.free import LEFT_BEHIND, registered_wrongly
from slinky_iac.drain.marks import Unmark
from slinky_iac.drain.protocol import Done, Observation, Step, Stop, Wait
from slinky_iac.drain.settings import OPERATORS, DrainPolicy, GateSettings, Owner
from slinky_iac.drain.tags import Tag, tag_of, unmark
from slinky_iac.drain.words import jobs_in_words
from slinky_iac.kube.objects import Pod
from slinky_iac.kube.selection import HOSTNAME_OVERRIDE, machine_of
from slinky_iac.slurmrest.objects import Node

RELEASED_REASON: Final = "Not responding (drain taken back by slinky-iac)"
"""For a node that is down: UNDRAIN leaves the reason there, and slurmctld's own words were overwritten by our drain. With
``Not responding`` in it the operator treats the node as slurmctld's (IsNodeDownForUnresponsive)."""


FOR_A_CORDON: Final = "Pod ("
"""How the operator's reason begins where it drained a node for its pod. For a cordoned Kubernetes node: ``Node (``."""


def undo_steps(seen: Observation, owner: Owner, keep: Collection[str] = ()) -> tuple[Step, ...]:
    """All that is left to give back, but for what is on these pods, in order; a Wait at the end where something can't be
    given back yet. Empty when nothing of ours is there. A run that was cut off before its write leaves a permission."""
    permit = (protocol.RevokePermit(),) if seen.nodeset is not None and seen.nodeset.permitted else ()
    return (*permit, *release_steps(seen, owner, keep, podless=True))


def release_steps(seen: Observation, owner: Owner, keep: Collection[str], *, podless: bool = False) -> tuple[Step, ...]:
    """Steps that give back our marks and drains on all pods and their nodes but these, and with ``podless`` our drains on
    nodes that have no pod."""
    clear = holds.under_others(seen, owner)
    kept = {pod.slurm_node for pod in seen.pods if pod.name in keep}
    others = {pod.slurm_node for pod in seen.pods if pod.name not in keep}
    steps: list[Step] = [] if clear is None else [clear]
    doomed = _doomed(seen)
    tagged = ((pod, tag_of(pod, owner)) for pod in seen.pods if pod.name not in keep)
    # Without an answer it is unknown whether a hold is under another's drain by now, so its note stays.
    marked = [(pod, tag) for pod, tag in tagged if tag is not None and (seen.cluster is not None or tag.hold is None)]
    unmarks = tuple(_unmark(pod, tag, seen.cluster) for pod, tag in marked if pod.name not in doomed)
    if unmarks:
        steps.append(protocol.Release(unmarks))
    if seen.cluster is None and seen.nodeset is None and not seen.pods:
        return ()  # no NodeSet, so Slurm was not asked: its pods took the marks with them, and nothing is behind its nodes
    if seen.cluster is None:
        return (*steps, Wait(f"Slurm could not be asked which drains are ours: {seen.problem}"))
    doomed_nodes = {pod.slurm_node for pod in seen.pods if pod.name in doomed}
    records = seen.cluster.nodes
    wanted = records.keys() - kept if podless else records.keys() & others
    ours = [node for name, node in records.items() if name in wanted and owner.owns(node.reason)]
    ours = [node for node in ours if not registered_wrongly(node)]  # slurmctld refuses; `unreturnable` names them
    free_to_go = [node for node in ours if node.name not in doomed_nodes]
    drained = tuple(sorted(node.name for node in free_to_go if node.drained_or_draining))
    down = tuple(sorted(node.name for node in free_to_go if not node.drained_or_draining and "DOWN" in node.state))
    if drained:
        steps.append(protocol.Undrain(drained))
    if down:
        steps.append(protocol.SetReason(down, RELEASED_REASON))
    withheld = sorted({pod.name for pod, _ in marked} & doomed | {node.name for node in ours} & doomed_nodes)
    if withheld:
        steps.append(Wait(f"the operator is deleting {', '.join(withheld)}: what is ours there goes with the pods"))
    return tuple(steps)


def unreturnable(seen: Observation, owner: Owner) -> tuple[str, ...]:
    """A sentence for each drain of ours that slurmctld doesn't let us take back."""
    records = () if seen.cluster is None else seen.cluster.nodes.values()
    return tuple(wrongly(record) for record in records if registered_wrongly(record) and owner.holds(record))


def wrongly(record: Node) -> str:
    """Why slurmctld returns a node to service neither by UNDRAIN nor by RESUME."""
    said = record.reason or "no reason given"
    return (
        f"{record.name} registered as something else than it is configured to be: {said}. slurmctld returns it to service"
        " once it registers as configured and an admin resumes it"
    )


def _doomed(seen: Observation) -> frozenset[str]:
    """Pods that the operator is deleting, or may be by the spec it has seen last."""
    leaving = frozenset(pod.name for pod in seen.pods if pod.terminating)
    if seen.nodeset is None:
        return leaving
    if not seen.nodeset.observed:
        return frozenset(pod.name for pod in seen.pods)
    return leaving | daemons.removed(seen)


def _unmark(pod: Pod, tag: Tag, cluster: ClusterView | None) -> Unmark:
    """The same. Where the operator holds the node for a reason of its own, the cordon on its pod is its own to lift."""
    record = cluster.nodes.get(pod.slurm_node) if cluster is not None else None
    held = record is not None and record.drained_or_draining and record.held_by_operator
    uncordon = pod.cordon and (not held or drained_for_cordon(record))
    return unmark(pod, tag, uncordon=uncordon)


def drained_for_cordon(record: Node | None) -> bool:
    """Whether the operator drained a node because its pod has a cordon, and not because its Kubernetes node has one.

    With OnDelete, which Gated is, it lifts neither. Once the pod has no cordon any more, it returns the node.
    """
    if record is None or not record.drained_or_draining or not record.held_by_operator:
        return False
    return record.reason.removeprefix(names.OPERATOR_REASON_PREFIX).lstrip().startswith(FOR_A_CORDON)


STARTS_S: Final = 60
"""Seconds in which a pod that isn't ready is starting; later its log says why it isn't."""


def stale_records(seen: Observation, owner: Owner) -> tuple[str, ...]:
    """Nodes to be returned to service by RESUME, by name; none while the operator is deleting pods, or may be."""
    state, cluster = seen.nodeset, seen.cluster
    if state is None or cluster is None:
        return ()
    selection = daemons.live_selection(seen)
    if not state.observed or (selection is None and daemons.surplus(seen)):
        return ()
    leaving = frozenset() if selection is None else daemons.going(seen, selection)
    return tuple(
        sorted(
            pod.slurm_node
            for pod in seen.pods
            if pod.name not in leaving
            and not cluster.jobs(pod.slurm_node)
            and _is_stale(pod, cluster.nodes.get(pod.slurm_node), owner)
        )
    )


def taken_back(seen: Observation, settings: GateSettings) -> tuple[Pod, ...]:
    """Pods whose nodes slurm-operator holds for ``pod-cordon`` though the NodeSet has its number, an autoscaler's, or though
    their Kubernetes nodes fit (again).

    A person may have set that annotation: :func:`slinky_iac.kube.marks.is_makers` says.
    """
    state, cluster = seen.nodeset, seen.cluster
    if settings.updates == OPERATORS or state is None or cluster is None or not state.observed:
        return ()
    if settings.selection is None:
        number = state.spec.replicas
        if settings.by_stack or len(seen.pods) != number or number > settings.target:
            return ()
    elif settings.selection != daemons.live_selection(seen):
        return ()
    leaving = frozenset() if settings.selection is None else daemons.going(seen, settings.selection)
    held = (pod for pod in seen.pods if pod.cordon and not pod.gate and not pod.terminating and pod.name not in leaving)
    return tuple(pod for pod in held if drained_for_cordon(cluster.nodes.get(pod.slurm_node)))


def _is_stale(pod: Pod, record: Node | None, owner: Owner) -> bool:
    return (
        record is not None
        and pod.healthy
        and not pod.terminating
        and not pod.cordon
        and bool(record.state & {"DOWN", "DRAIN"})
        and not registered_wrongly(record)
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
    if registered_wrongly(record):  # slurmctld drains such a node itself; no person decided it
        return wrongly(record)
    if owner.holds(record):
        return f"{pod.slurm_node} still carries our own drain"
    if drained_for_cordon(record) and not pod.cordon:
        why = "which it drained for a mark that is gone"
        return f"slurm-operator has not yet returned {pod.slurm_node}, {why}: {record.reason}"
    if record.state & {"DOWN", "UNKNOWN", "NOT_RESPONDING"} and not record.drained_or_draining:
        return f"{pod.slurm_node} is {record.state_text}: {record.reason or 'no reason given'}"
    return ""


SWAP: Final = (
    ". Where a NodeSet that leaves in the same update has the place, first remove that one in an update of its own: Pulumi"
    " deletes last"
)
"""From slurm-operator 1.1 on, two NodeSet pods are never on one Kubernetes node."""


def members_step(seen: Observation, settings: GateSettings, deadline_at: int) -> Step:
    """The next act towards all nodes in service."""
    missing = absent(seen, settings)
    if not missing:
        return Done()
    step = _given_back(settings, seen)
    if step is not None:
        return step
    if seen.now >= deadline_at:
        no_place = any(not pod.scheduled for pod in seen.pods)
        return Stop(not_in_service(settings.policy, "; ".join(missing)) + (SWAP if no_place else ""), "deadline")
    return nudge(seen, settings.owner) or Wait(f"waiting for {len(missing)}: {'; '.join(missing[:3])}")


def not_in_service(policy: DrainPolicy, what: str) -> str:
    """The end of a wait for pods that don't register."""
    return (
        f"after {policy.register_deadline_s} s these are not in service: {what}. Repair them, then run `pulumi up`"
        " again; nodes that are in service stay in service"
    )


def absent(seen: Observation, settings: GateSettings) -> tuple[str, ...]:
    """What isn't as it should be, one sentence each; empty when all is well."""
    if seen.nodeset is None:
        return (f"there is no NodeSet {settings.resource}",)
    if seen.cluster is None:
        return (seen.unasked,)
    others = left_to_others(seen, settings.owner)
    faults = _count_faults(seen, len(others))
    held = _held(seen, settings) | {pod.slurm_node for pod in others}
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


def left_to_others(seen: Observation, owner: Owner) -> tuple[Pod, ...]:
    """Pods of DaemonSet mode that the operator drains and removes since their Kubernetes nodes no longer fit (a label that
    somebody took away), and not for a write of this gate; and such as wait for one that Kubernetes has no more, which it
    never looks at. This run doesn't wait for them."""
    if daemons.live_selection(seen) is None:
        return ()
    leaving, known = daemons.removed(seen), {machine.name for machine in seen.machines or ()}
    there = (pod for pod in seen.pods if pod.name in leaving and not pod.terminating)
    return tuple(pod for pod in there if tag_of(pod, owner) is None or not (pod.scheduled or machine_of(pod) in known))


def told_of_fit(seen: Observation, settings: GateSettings) -> Iterator[str]:
    """What the end of a wait for pods of DaemonSet mode doesn't show."""
    for pod in left_to_others(seen, settings.owner):
        yield f"{_removed_by_operator(pod, seen)}; not waited for"
    if settings.selection is not None and not daemons.asked(seen):
        yield f"no Kubernetes node fits {settings.resource}, so it has no pod"


def _removed_by_operator(pod: Pod, seen: Observation) -> str:
    """Why the operator removes a pod of DaemonSet mode without this gate, and whose jobs are there."""
    name, machines = machine_of(pod), {machine.name: machine for machine in seen.machines or ()}
    jobs = () if seen.cluster is None else seen.cluster.jobs(pod.slurm_node)
    busy = f", with {jobs_in_words(jobs)}" if jobs else ""
    if name not in machines:
        how = "Kubernetes removes it" if pod.scheduled else f"`kubectl delete pod {pod.name}` removes it"
        return f"Kubernetes has no node {name or 'of its name'} for {pod.name} any more: {how}{busy}"
    if pod not in daemons.renamed(seen):
        return f"the Kubernetes node of {pod.name} no longer fits: slurm-operator drains and removes it{busy}"
    return (
        f"Kubernetes node {name} is to be called {machines[name].host_name(by_annotation=True)} in Slurm, and {pod.name} is"
        f" {pod.slurm_node} (annotation {HOSTNAME_OVERRIDE}): slurm-operator drains and replaces it, by its own rule, which"
        f" counts no suspended job{busy}"
    )


def _count_faults(seen: Observation, others: int) -> list[str]:
    here, wanted, selection = len(seen.pods) - others, daemons.asked(seen), daemons.live_selection(seen)
    if here == wanted:
        return []
    if selection is None:
        return [f"{here} pods where {wanted} are asked for"]
    missing = ", ".join(machine.name for machine in daemons.coming(seen, selection)[:8])
    return [f"{here} pods where {wanted} Kubernetes nodes fit" + (f"; none yet on {missing}" if missing else "")]


def _held(seen: Observation, settings: GateSettings) -> frozenset[str]:
    """Nodes that this gate has drained for an autoscaler, which lowers the number."""
    if settings.by_stack or seen.nodeset is None or seen.nodeset.spec.replicas <= settings.target:
        return frozenset()
    return frozenset(pod.slurm_node for pod in seen.pods if tag_of(pod, settings.owner) is not None)


def _given_back(settings: GateSettings, seen: Observation) -> Step | None:
    """What gives back ours on pods that are here to stay, or clears what earlier pods of their names left."""
    if seen.nodeset is None or _count_faults(seen, len(left_to_others(seen, settings.owner))):
        return None
    stale = stale_records(seen, settings.owner)
    if stale:
        return protocol.Resume(stale)
    if seen.cordoned:
        return protocol.Release(
            tuple(Unmark(name, restore_cost=False, was=None, uncordon=True) for name in sorted(seen.cordoned))
        )
    held = _held(seen, settings)
    steps = release_steps(seen, settings.owner, {pod.name for pod in seen.pods if pod.slurm_node in held})
    return None if not steps or isinstance(steps[0], Wait) else steps[0]
