"""What a preview says of a NodeSet in DaemonSet mode: nodes whose machines no longer fit, and a change of the mode. Pure.

Which pods go is the operator's rule (:mod:`slinky_iac.drain.daemons`); no choice is made here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from slinky_iac.drain import daemons
from slinky_iac.drain.cost import assess, choose
from slinky_iac.drain.free import exchanged, names_taken, of_neighbours
from slinky_iac.drain.plan import (
    DrainPlan,
    Seen,
    blocked_nodes,
    frozen,
    other_mode,
    plan_teardown,
    queue_warnings,
    state_blocks,
    unasked,
    warnings_about,
)
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import OPERATORS, GateSettings
from slinky_iac.drain.waiting import over_limits
from slinky_iac.drain.words import distinct, jobs_in_words, named
from slinky_iac.errors import SlinkyError
from slinky_iac.kube.machines import names_of_others
from slinky_iac.kube.objects import NodeSet
from slinky_iac.selection import DAEMON, Selection

MODE = "scalingMode"
"""Prop of a gate; absent in those of NodeSets that have a number of pods."""


def mode_of(olds: Mapping[str, Any]) -> str:
    """The scaling mode that a gate's props name."""
    return str(olds.get(MODE) or "StatefulSet")


def changes_mode(settings: GateSettings, olds: Mapping[str, Any]) -> bool:
    """Whether this update replaces the NodeSet, since it gets the other mode."""
    return mode_of(olds) != ("StatefulSet" if settings.selection is None else DAEMON)


def plan_of_mode(settings: GateSettings, olds: Mapping[str, Any], seen: Observation, state: NodeSet) -> Seen:
    """The plan of a change of mode: the NodeSet is replaced, so all its pods are drained and go."""
    plan = plan_teardown(seen, state, settings.owner)
    before, after = mode_of(olds), "StatefulSet" if settings.selection is None else DAEMON
    why = f"scalingMode goes from {before} to {after}: the NodeSet is replaced, and all its pods are drained and go first"
    jobs, count = plan.jobs, len(plan.selected)
    over = over_limits(settings.policy.limits, seen.now, jobs, count, len(seen.pods)) if plan.known else ()
    return Seen(replace(plan, warnings=(why, *plan.warnings), over=over).written, over, why)


def plan_of_selection(settings: GateSettings, seen: Observation, state: NodeSet, wanted: Selection) -> Seen:
    """The plan for writing which Kubernetes nodes fit; without an answer from Slurm it holds counts only."""
    leaving, limits = daemons.going(seen, wanted), settings.policy.limits
    total = len(seen.pods)
    plan = DrainPlan(settings.owner.nodeset, total, total - len(leaving), len(leaving), known=seen.cluster is not None)
    blocks = [*frozen(state), *state_blocks(seen, state, settings.owner)]
    blocks += [why] if (why := other_mode(state, seen.pods, on_each=True)) else []
    warnings: list[str] = []
    if seen.cluster is None:
        warnings.append(unasked(seen))
        over = over_limits(limits, seen.now, (), len(leaving), total)
    else:
        candidates = assess(seen.pods, seen.cluster, seen.now, settings.owner)
        selected = choose([candidate for candidate in candidates if candidate.name in leaving], 0)
        retained = tuple(candidate for candidate in candidates if candidate.name not in leaving)
        plan = replace(plan, selected=selected)
        blocks += blocked_nodes(selected)
        warnings += [*warnings_about(selected, retained), *queue_warnings(seen.cluster, selected)]
        over = over_limits(limits, seen.now, plan.jobs, len(selected), total)
    if settings.updates == OPERATORS:
        warnings += _replaced(seen, leaving)
    coming = daemons.coming(seen, wanted)
    if not coming and total == len(leaving):
        warnings.append("no Kubernetes node fits, so the NodeSet has no pod")
    if used := names_taken(seen, settings.owner, coming):
        policy = settings.policy
        most = policy.deadline_s if seen.neighbours else policy.register_deadline_s
        warnings.append(f"{used}. The update waits for it up to {most} s, and then ends with an error")
    refused = [why] if (why := exchanged(seen, [candidate.node for candidate in plan.selected])) else []
    plan = replace(plan, blocks=(*blocks, *refused), warnings=tuple(warnings), over=tuple(over))
    return Seen(plan.written, (*plan.over, *refused), f"which Kubernetes nodes fit {state.name} is not as asked for")


def told_first(session: Session, settings: GateSettings, seen: Observation, wanted: Selection) -> Iterable[str]:
    """What a preview says of a NodeSet that is not there yet: of which others the Kubernetes nodes are, if any answers."""
    try:
        look = replace(seen, machines=session.kube.machines())
        coming = daemons.names_coming(look, wanted)
        others = names_of_others(session.kube, settings.reach.namespace, look.nodeset) if coming else {}
    except SlinkyError as error:
        yield f"it is unknown whether other NodeSets have pods where {settings.resource} fits: {error}"
        return
    if held := sorted(coming & others.keys()):
        look = replace(look, neighbours={name: others[name] for name in held})
        yield f"{of_neighbours(look, held)}. The update waits for it up to {settings.policy.deadline_s} s"


def _replaced(seen: Observation, leaving: Collection[str]) -> Iterable[str]:
    """What slurm-operator does to the pods that stay, where it replaces pods of an earlier template itself."""
    stay = {pod.slurm_node for pod in seen.pods if pod.name not in leaving}
    if not stay:
        return
    jobs = () if seen.cluster is None else distinct(job for node in sorted(stay) for job in seen.cluster.jobs(node))
    busy = f", with {jobs_in_words(jobs)}" if jobs else ""
    yield (
        f"the template of the pods that stay changes too, and slurm-operator drains and replaces them by its own rule"
        f" (updateStrategy RollingUpdate): {named(stay)}{busy}. It counts no suspended job. With Gated this program does it"
    )
