"""Pods that slurm-operator is deleting for a number that is written: whether it is at it, and what makes it go on. Pure."""

from __future__ import annotations

from slinky_iac.drain import daemons, protocol
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import Owner
from slinky_iac.drain.tags import tag_of, triggered
from slinky_iac.kube.objects import NodeSet


def in_flight(seen: Observation, state: NodeSet) -> str:
    """Why nothing may be marked or drained while the operator is deleting pods, ``""`` when it isn't.

    It ranks again at every look: a cost or a drain of ours would turn it to another pod, which it deletes by its own rule
    of "drained", in which a suspended job is none.
    """
    surplus = len(seen.pods) - state.spec.replicas
    if surplus <= 0 or daemons.live_selection(seen) is not None:  # which pods go there, no mark of ours changes
        return ""
    return f"an earlier scale-in isn't over: {surplus} pod(s) more than the {state.spec.replicas} that {state.name} asks for"


def nudge(seen: Observation, owner: Owner) -> protocol.TriggerSync | None:
    """A touch of one pod that goes, where the operator has stopped on the way: it deletes 250 pods in one pass, and looks at
    the rest only when something changes (run with 288 of 576 pods: 38 stayed for seven minutes, until one was touched).
    Only where all that it would delete is drained by us and free."""
    state, cluster = seen.nodeset, seen.cluster
    if state is None or cluster is None or not state.observed or any(pod.terminating for pod in seen.pods):
        return None
    going = daemons.removed(seen)
    left = [pod for pod in seen.pods if pod.name in going]
    for pod in left:
        record = cluster.nodes.get(pod.slurm_node)
        if tag_of(pod, owner) is None or record is None or not owner.holds(record) or cluster.jobs(pod.slurm_node):
            return None
    mark = triggered(left[0], owner, seen.now) if left else None
    return None if mark is None else protocol.TriggerSync((mark,))
