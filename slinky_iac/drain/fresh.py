"""Whether what a look concluded from is still so, once it is over. Pure.

slurm-operator writes a NodeSet's status with each job that starts or ends there, and a pod's annotation with each job's end.
So on a busy cluster the version that a long look began with is soon an old one, and a write on it would never land. Such
writes change nothing that a look concludes from: the write then goes on the version of this moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from slinky_iac.drain.daemons import coming, going, names_of
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.ranking import predicted_victims
from slinky_iac.kube.objects import NodeSet, Pod
from slinky_iac.kube.selection import Machine
from slinky_iac.names import ANNOTATION_PERMIT
from slinky_iac.selection import Selection

TRIES: Final = 5
"""Writes on a version that was read a moment before, until one lands."""


def as_seen(seen: Observation, state: NodeSet, pods: tuple[Pod, ...], replicas: int) -> bool:
    """Whether the NodeSet and its pods are now what the look concluded from, and the operator would take the same pods."""
    if seen.nodeset is None or _nodeset(seen.nodeset) != _nodeset(state) or _pods(seen.pods) != _pods(pods):
        return False
    return predicted_victims(seen.pods, replicas, seen.version) == predicted_victims(pods, replicas, seen.version)


def selects_as_seen(
    seen: Observation, state: NodeSet, pods: tuple[Pod, ...], machines: tuple[Machine, ...], selection: Selection
) -> bool:
    """Whether the NodeSet and its pods are now what the look concluded from, and the Kubernetes nodes mean the same pods:
    those that go, and those that come, under the same names."""
    if seen.nodeset is None or _nodeset(seen.nodeset) != _nodeset(state) or _pods(seen.pods) != _pods(pods):
        return False
    now = replace(seen, pods=pods, machines=machines)
    names = [{names_of(look, machine) for machine in coming(look, selection)} for look in (seen, now)]
    return going(seen, selection) == going(now, selection) and names[0] == names[1]


def same_marks(seen: Pod, now: Pod) -> bool:
    """Whether it is the same pod with the same marks."""
    return _marks(seen) == _marks(now)


def same_pod(seen: Pod, now: Pod) -> bool:
    """The same, as ready as it was, and showing the same drain."""
    return _pods([seen]) == _pods([now])


def _nodeset(state: NodeSet) -> tuple[object, ...]:
    annotations = {key: text for key, text in state.metadata.annotations.items() if key != ANNOTATION_PERMIT}
    meta = state.metadata
    return meta.uid, meta.generation, state.deleting, state.observed, state.revision, annotations


def _marks(pod: Pod) -> tuple[object, ...]:
    return pod.metadata.uid, pod.terminating, pod.gate, pod.cost_text, pod.cordon


def _pods(pods: Iterable[Pod]) -> dict[str, tuple[object, ...]]:
    return {
        pod.name: (
            *_marks(pod),
            pod.scheduled,
            pod.status.phase,
            pod.ready,
            pod.revision,
            pod.slurm_node,
            "DRAIN" in pod.slurm_states,
            pod.slurm_reason,
        )
        for pod in pods
    }
