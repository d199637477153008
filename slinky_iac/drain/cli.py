"""``python -m slinky_iac drain status|plan|cancel``: what our drains left behind, what a removal would wait for, and giving
it all back, without a `pulumi up`."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass

from slinky_iac import stack_state
from slinky_iac.drain import scale
from slinky_iac.drain.mark import foreign_tags, tag_of
from slinky_iac.drain.observation import Observation
from slinky_iac.drain.plan import ScaleInPlan
from slinky_iac.drain.progress import Report, Severity
from slinky_iac.drain.session import open_session
from slinky_iac.drain.settings import GateSettings
from slinky_iac.drain.teardown import plan_teardown
from slinky_iac.drain.text import iso
from slinky_iac.errors import DrainBlocked, SlinkyError, StateError


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
    strangers = {pod.name for pod in foreign_tags(seen.pods, settings.owner)}
    for pod in seen.pods:
        record = seen.cluster.nodes.get(pod.node) if seen.cluster is not None else None
        marked = tag_of(pod, settings.owner) is not None or pod.name in strangers
        if not marked and (record is None or not record.drained_flag):
            continue
        jobs = seen.cluster.jobs(pod.node) if seen.cluster is not None else ()
        owner = ""
        if record is not None and record.drained_flag:
            ours = settings.owner.owns(record.reason)
            owner = "ours" if ours else "operator" if record.held_by_operator() else "somebody else"
        rows.append(
            NodeStatus(
                nodeset=settings.owner.nodeset,
                node=pod.node,
                states="+".join(sorted(record.states)) if record is not None else "no record",
                reason=record.reason if record is not None else "",
                owner=owner,
                returns=iso(record.resume_after) if record is not None and record.resume_after else "",
                marked=marked,
                jobs=tuple(f"{job.shown} {job.user}" for job in jobs),
            )
        )
    return tuple(rows)


def console_report() -> Report:
    """Progress on stderr, so that stdout stays for answers."""

    def report(message: str, *, severity: Severity = "info", keep: bool = False) -> None:  # noqa: ARG001
        print(message if severity == "info" else f"warning: {message}", file=sys.stderr, flush=True)

    return report


def status(stack: str | None, nodeset: str | None) -> tuple[list[dict[str, object]], list[str]]:
    """Drains and marks of one NodeSet or all of a stack, and what could not be asked about them: without Slurm's answer a
    pod's mark is all that is seen. Raises what reading the state and asking Kubernetes raise."""
    rows: list[dict[str, object]] = []
    unknown: list[str] = []
    for settings in _chosen(stack, nodeset):
        with open_session(settings.reach, settings.urn, report=console_report()) as session:
            seen = session.observe(settings)
            if seen.problem:
                unknown.append(f"{settings.owner.text}: {seen.problem}")
            rows += [asdict(row) for row in status_of(settings, seen)]
    return rows, unknown


def plans(stack: str | None, nodeset: str | None) -> list[ScaleInPlan]:
    """What removing one NodeSet, or all of a stack, would wait for: a preview shows no deletion's plan, so this does.

    NodeSets that aren't there (any more) have none. Raises what reading the state and asking the clusters raise.
    """
    made: list[ScaleInPlan] = []
    for settings in _chosen(stack, nodeset):
        with open_session(settings.reach, settings.urn, report=console_report()) as session:
            seen = session.observe(settings)
            if seen.nodeset is None:
                continue
            plan = plan_teardown(
                seen.pods, seen.cluster, seen.nodeset, now=seen.now, owner=settings.owner, problem=seen.problem
            )
            made.append(plan)
    return made


def cancel(stack: str | None, nodeset: str | None) -> int:
    """Give back our drains and marks and nothing else; returns how many steps it took.

    Trouble with one NodeSet keeps none of the others; at the end all of it is raised as one DrainBlocked.
    """
    taken = 0
    left: list[str] = []
    for settings in _chosen(stack, nodeset):
        try:
            with open_session(settings.reach, settings.urn, report=console_report()) as session:
                taken += scale.give_back(session, settings)
        except SlinkyError as error:
            left.append(str(error))
    if left:
        raise DrainBlocked("\n".join(left))
    return taken


def _chosen(stack: str | None, nodeset: str | None) -> list[GateSettings]:
    found = stack_state.gates(stack_state.export(stack))
    if nodeset is None:
        return list(found.values())
    if nodeset not in found:
        known = ", ".join(found) or "none"
        raise StateError(f"the stack has no NodeSet {nodeset!r} (it has: {known})")
    return [found[nodeset]]
