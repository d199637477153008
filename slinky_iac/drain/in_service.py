"""Whether a pod is a Slurm node that takes jobs, and if not, why."""

from __future__ import annotations

from slinky_iac.drain.observation import Observation
from slinky_iac.drain.owner import Owner
from slinky_iac.drain.view import NodeView, PodView


def fault_of(pod: PodView, seen: Observation, owner: Owner) -> str:
    """What isn't as it should be, ``""`` where all is. A person's drain is a decision and no fault."""
    if not pod.scheduled:
        return f"{pod.name} has no Kubernetes node: {pod.trouble or '`kubectl describe pod` says why'}"
    if not pod.ready:
        return f"{pod.name} is {pod.phase} and not ready: {pod.trouble or '`kubectl logs` of its slurmd says why'}"
    return _record_fault(pod, None if seen.cluster is None else seen.cluster.nodes.get(pod.node), owner)


def _record_fault(pod: PodView, record: NodeView | None, owner: Owner) -> str:
    if record is None:
        return f"{pod.node} is not registered with slurmctld, though its pod is ready"
    if owner.owns(record.reason) and record.drained_flag:
        return f"{pod.node} still carries our own drain"
    if "INVALID_REG" in record.states:  # slurmctld drains such a node itself: nobody's decision
        return f"{pod.node} registered as something else than it is configured to be: {record.reason or 'no reason given'}"
    if record.states & {"DOWN", "UNKNOWN", "NOT_RESPONDING"} and not record.drained_flag:
        return f"{pod.node} is {'+'.join(sorted(record.states))}: {record.reason or 'no reason given'}"
    return ""
