"""A plan in the words of a preview: plain values with absolute times, and one line a node for people.

It stands in a resource's inputs, so it must not change by itself between two looks at an unchanged cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slinky_iac.drain.cost import Candidate
from slinky_iac.drain.mark import foreign_tags, tag_of
from slinky_iac.drain.plan import DrainPlan
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import GateSettings
from slinky_iac.drain.text import iso
from slinky_iac.slurmrest.objects import Job

SCHEMA = 1

MAX_JOBS = 200
"""Jobs listed by name. A plan stands in every state and diff; of a NodeSet with 100,000 jobs it says the number."""
MAX_JOBS_OF_A_NODE = 16


def plan_props(plan: DrainPlan) -> dict[str, Any]:
    """The plan as flat JSON: what is selected, whose jobs are waited for, until when, and what stands in the way."""
    jobs = plan.jobs
    return {
        "schema": SCHEMA,
        "nodeset": plan.nodeset,
        "from": plan.current,
        "to": plan.target,
        "known": plan.known,
        "nodes": [node_props(each) for each in plan.selected],
        "jobs": [job_props(job) for job in jobs[:MAX_JOBS]],
        "jobs_total": len(jobs),
        "free_at": when(plan.free_at if plan.known else None),
        "blocks": [block.text for block in plan.blocks],
        "warnings": [warning.text for warning in plan.warnings],
    }


def when(free_at: int | None) -> str:
    """``now``, a time, or ``unknown``."""
    return "now" if free_at == 0 else iso(free_at)


def node_props(each: Candidate) -> dict[str, Any]:
    """One node that is selected."""
    return {
        "node": each.pod.slurm_node,
        "pod": each.pod.name,
        "kind": each.kind.name.lower(),
        "free_at": when(None if each.unforeseen else each.end if each.jobs else 0),
        "jobs": [job.label for job in each.jobs[:MAX_JOBS_OF_A_NODE]],
        "jobs_total": len(each.jobs),
    }


def job_props(job: Job) -> dict[str, Any]:
    """One job that is waited for."""
    return {
        "job": job.label,
        "user": job.user_name,
        "partition": job.partition,
        "state": "+".join(sorted(job.job_state)),
        "nodes": len(job.node_names),
        "started": iso(job.start_time.value),
        "ends_by": iso(job.expected_end),
        **({"stack_job": job.of_stack} if job.of_stack else {}),
    }


def lines(plan: DrainPlan) -> tuple[str, ...]:
    """One line a node that is selected, for people."""
    shown = []
    for each in plan.selected:
        jobs = ", ".join(_of(job) for job in each.jobs[:4]) or "no job"
        known = f"until {iso(each.end)}" if each.jobs else "free now"
        until = "of no known end" if each.unforeseen else known
        shown.append(f"{each.pod.slurm_node} ({each.kind.name.lower()}): {jobs}, {until}")
    return tuple(shown)


def _of(job: Job) -> str:
    return f"{job.label} of {job.user_name or 'unknown'}" + (f", {job.of_stack}" if job.of_stack else "")


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
    """When slurmctld returns it by itself, ISO 8601, or empty."""
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
