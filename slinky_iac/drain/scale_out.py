"""Records that an earlier pod of the same name left behind, and that keep a new node from work.

The operator names new pods by the lowest free ordinals, so names come again, and with them slurmctld's record: a preStop
hook sets the node DOWN ("Pod is terminating"; releases from 1.2 on leave the record so for good), on top of the drain
with which a scale-in took the pod. The new slurmd's registration may lift DOWN (ReturnToService=2 on the outside
slurmctld), never DRAIN.

Only reasons of ours and of the operator are cleared, and only those older than the pod: a younger one may be the sign of
the pod's own end, and then a job started there would die with it. A record whose pod is gone for good is deleted.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from slinky_iac import names
from slinky_iac.drain.observation import Observation
from slinky_iac.drain.owner import Owner
from slinky_iac.drain.view import ClusterView, NodeView, PodView

LEFT_BEHIND: Final = (names.OPERATOR_REASON_PREFIX, "Pod is terminating")
"""Beginnings of the operator's reasons; its preStop hook wrote no prefix before 1.1.1."""


def records_without_pods(cluster: ClusterView | None, owner: Owner, pods: Collection[PodView]) -> tuple[str, ...]:
    """Records of the NodeSet's removed nodes, which slurm-operator leaves DOWN from 1.2 on, by name.

    Nothing is behind them: dynamic, without a job and without a pod. Those with a person's reason stay.
    """
    if cluster is None:
        return ()
    own = re.compile(re.escape(names.nodeset_hostname(owner.nodeset)) + "[0-9]+")
    there = {pod.node for pod in pods}
    return tuple(
        sorted(
            node.name
            for node in cluster.nodes.values()
            if node.name not in there
            and node.known
            and {"DOWN", "DYNAMIC_NORM"} <= node.states
            and own.fullmatch(node.name)
            and not cluster.jobs(node.name)
            and (node.reason.startswith(LEFT_BEHIND) or owner.owns(node.reason))
        )
    )


def stale_records(seen: Observation, owner: Owner) -> tuple[str, ...]:
    """Nodes to be returned to service by RESUME, by name; none while the operator is deleting pods, or may be."""
    state, cluster = seen.nodeset, seen.cluster
    if state is None or cluster is None:
        return ()
    if state.generation != state.observed_generation or len(seen.pods) > state.replicas:
        return ()
    return tuple(
        sorted(
            pod.node
            for pod in seen.pods
            if not cluster.jobs(pod.node) and _is_stale(pod, cluster.nodes.get(pod.node), owner)
        )
    )


def _is_stale(pod: PodView, record: NodeView | None, owner: Owner) -> bool:
    return (
        record is not None
        and pod.healthy
        and not pod.terminating
        and not pod.cordon
        and bool(record.states & {"DOWN", "DRAIN"})
        and (record.reason.startswith(LEFT_BEHIND) or owner.owns(record.reason))
        and record.reason_at is not None
        and record.reason_at < pod.created
    )
