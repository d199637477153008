"""Giving back what is ours, and nothing else.

Order: the permission on the NodeSet, annotations of pods, then the drain (with ``pod-cordon`` left on, the operator would
drain the node again), then the reason of a node that stays down. A drain is ours by its reason, an annotation by its tag;
whatever carries neither is left alone, also where we suspect our own hand in it.

What the operator is already deleting is not given back: a node undrained then takes a job and loses it with the pod. So
pods beyond ``spec.replicas`` keep drain and marks until they are gone, and nothing is given back while the operator has
not yet seen the newest spec.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from slinky_iac.drain.actions import Release, RevokePermit, SetReason, Step, Undrain, Wait
from slinky_iac.drain.mark import Tag, Unmark, tag_of, unmark
from slinky_iac.drain.observation import ClusterView, Observation
from slinky_iac.drain.ranking import predicted_victims
from slinky_iac.drain.settings import Owner
from slinky_iac.kube.objects import Pod
from slinky_iac.slurmrest.objects import Node

RELEASED_REASON: Final = "Not responding (drain taken back by slinky-iac)"
"""For a node that is down: UNDRAIN leaves the reason there, and slurmctld's own words were overwritten by our drain. With
``Not responding`` in it the operator treats the node as slurmctld's (IsNodeDownForUnresponsive)."""


def undo_steps(seen: Observation, owner: Owner) -> tuple[Step, ...]:
    """All that is left to give back, in order; a Wait at the end where something can't be given back yet. Empty when
    nothing of ours is there."""
    return (*unused_permit(seen), *release_steps(seen, owner, lambda _pod: True, lambda _node: True))


def unused_permit(seen: Observation) -> tuple[RevokePermit, ...]:
    """What takes back a permission that a run wrote and did not use, because it was cut off between the two."""
    return (RevokePermit(),) if seen.nodeset is not None and seen.nodeset.permitted else ()


def release_steps(
    seen: Observation,
    owner: Owner,
    wants_pod: Callable[[Pod], bool],
    wants_node: Callable[[str], bool],
) -> tuple[Step, ...]:
    """Steps that give back our marks on the pods and our drains on the nodes that the two filters name."""
    steps: list[Step] = []
    doomed = _doomed(seen)
    tagged = ((pod, tag_of(pod, owner)) for pod in seen.pods if wants_pod(pod))
    marked = [(pod, tag) for pod, tag in tagged if tag is not None]
    unmarks = tuple(_unmark(pod, tag, seen.cluster) for pod, tag in marked if pod.name not in doomed)
    if unmarks:
        steps.append(Release(unmarks))
    if seen.cluster is None and seen.nodeset is None and not seen.pods:
        return ()  # no NodeSet, so nobody asked: its pods took the marks with them, and nothing is behind its nodes
    if seen.cluster is None:
        return (*steps, Wait(f"Slurm could not be asked which drains are ours: {seen.problem}"))
    doomed_nodes = {pod.slurm_node for pod in seen.pods if pod.name in doomed}
    ours = [node for node in seen.cluster.nodes.values() if owner.owns(node.reason) and wants_node(node.name)]
    free_to_go = [node for node in ours if node.name not in doomed_nodes]
    drained = tuple(sorted(node.name for node in free_to_go if node.drained_or_draining))
    down = tuple(sorted(node.name for node in free_to_go if not node.drained_or_draining and "DOWN" in node.state))
    if drained:
        steps.append(Undrain(drained))
    if down:
        steps.append(SetReason(down, RELEASED_REASON))
    withheld = sorted({pod.name for pod, _ in marked} & doomed | {node.name for node in ours} & doomed_nodes)
    if withheld:
        steps.append(Wait(f"the operator is deleting {', '.join(withheld)}: what is ours there goes with the pods"))
    return tuple(steps)


def _doomed(seen: Observation) -> frozenset[str]:
    """Pods that the operator is deleting, or may be by the spec it has seen last."""
    leaving = {pod.name for pod in seen.pods if pod.terminating}
    if seen.nodeset is None:
        return frozenset(leaving)
    if not seen.nodeset.observed:
        return frozenset(pod.name for pod in seen.pods)
    prediction = predicted_victims(seen.pods, seen.nodeset.spec.replicas, seen.version)
    return frozenset(leaving | set(prediction.victims) | prediction.uncertain)


def _unmark(pod: Pod, tag: Tag, cluster: ClusterView | None) -> Unmark:
    record = cluster.nodes.get(pod.slurm_node) if cluster is not None else None
    return unmark(pod, tag, uncordon=pod.cordon and not _operators(record))


def _operators(record: Node | None) -> bool:
    """Whether the operator itself holds the node: then the cordon on its pod is the operator's to lift."""
    return record is not None and record.drained_or_draining and record.held_by_operator
