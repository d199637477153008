"""What a preview says of a NodeSet in DaemonSet mode: nodes whose machines no longer fit, and a change of the mode. Pure.

Which pods go is the operator's rule (:mod:`slinky_iac.drain.daemons`); no choice is made here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from slinky_iac.drain import daemons
from slinky_iac.drain.cost import assess, choose
from slinky_iac.drain.free import names_taken
from slinky_iac.drain.plan import (
    DrainPlan,
    Seen,
    blocked_nodes,
    frozen,
    other_mode,
    plan_props,
    plan_teardown,
    queue_warnings,
    state_blocks,
    warnings_about,
)
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.settings import OPERATORS, GateSettings
from slinky_iac.drain.waiting import over_limits
from slinky_iac.drain.words import distinct, jobs_in_words, named
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
    return Seen(plan_props(replace(plan, warnings=(why, *plan.warnings), over=tuple(over))), tuple(over), why)


def plan_of_selection(settings: GateSettings, seen: Observation, state: NodeSet, wanted: Selection) -> Seen:
    """The plan for writing which Kubernetes nodes fit; without an answer from Slurm it holds counts only."""
    leaving, limits = daemons.going(seen, wanted), settings.policy.limits
    total = len(seen.pods)
    plan = DrainPlan(settings.owner.nodeset, total, total - len(leaving), len(leaving), known=seen.cluster is not None)
    blocks = [*frozen(state), *state_blocks(seen, state, settings.owner)]
    blocks += [why] if (why := other_mode(state, on_each=True)) else []
    warnings: list[str] = []
    if seen.cluster is None:
        warnings.append(f"Slurm could not be asked, so nodes and jobs are not in this plan: {seen.problem}")
        over = over_limits(limits, seen.now, (), len(leaving), total)
    else:
        candidates = assess(seen.pods, seen.cluster, seen.now, settings.owner)
        selected = choose([each for each in candidates if each.name in leaving], 0)
        retained = tuple(each for each in candidates if each.name not in leaving)
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
        warnings.append(f"{used}. The update waits until the name is free, and ends with an error where it is not")
    plan = replace(plan, blocks=tuple(blocks), warnings=tuple(warnings), over=tuple(over))
    return Seen(plan_props(plan), plan.over, f"which Kubernetes nodes fit {state.name} is not as asked for")


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
