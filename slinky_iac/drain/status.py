"""Which nodes of a NodeSet are drained or marked, whose drains they are, and which jobs run there, from one look."""

from __future__ import annotations

from dataclasses import dataclass

from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import GateSettings
from slinky_iac.drain.tags import foreign_tags, tag_of
from slinky_iac.drain.words import iso


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
        jobs = seen.cluster.jobs(pod.slurm_node) if seen.cluster is not None else ()
        marked, owner = tag_of(pod, settings.owner) is not None or pod.name in foreign, ""
        if record is not None and record.drained_or_draining:
            ours = settings.owner.owns(record.reason)
            owner = "ours" if ours else "operator" if record.held_by_operator else "somebody else"
        if not marked and not owner:
            continue
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
