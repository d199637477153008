"""What a preview says of pods that an update replaces: which, in what batches, and whose jobs are waited for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from slinky_iac.drain.cost import Candidate, choose
from slinky_iac.drain.describe import MAX_JOBS, SCHEMA, job_props, node_props
from slinky_iac.drain.observation import Observation
from slinky_iac.drain.plan import foreign_gates
from slinky_iac.drain.rollout import at_once, batch_size, in_words, limits_exceeded, members
from slinky_iac.drain.settings import OPERATORS, GateSettings
from slinky_iac.drain.text import iso, jobs_in_words
from slinky_iac.drain.view import STANDS_STILL, NodeSetView, PodView

Props = dict[str, Any]


@dataclass(frozen=True)
class Rollout:
    """The plan of a rollout, its part of a plan that has other work too, and what must stop the preview."""

    plan: Props
    rolls: Props
    failures: tuple[str, ...]
    due: str
    """Why the update must run even if the configuration has not changed."""


def plan_rollout(
    settings: GateSettings, seen: Observation, olds: Mapping[str, Any], going: Collection[str]
) -> Rollout | None:
    """The rollout of this update; None where no pod is replaced. ``going``: pods that the update removes before it."""
    state = seen.nodeset
    if state is None or not settings.rolls:
        return None
    every = _template_changes(settings, state)
    old = tuple(pod for pod in seen.pods if pod.name not in going and (every or pod.name in seen.outdated))
    if not old:
        return None
    most = batch_size(at_once(settings.max_unavailable, state.replicas), settings.policy, state.replicas)
    if seen.cluster is None:
        names = sorted(pod.name for pod in old)
        rolls: Props = {"pods": names, "of": len(seen.pods), "at_once": most, "held": [], "text": _text(names, seen, most)}
        plan = _plan(settings, state, (), [f"Slurm could not be asked whose jobs are waited for: {seen.problem}"])
        return Rollout({**plan, "known": False, "free_at": "unknown"}, rolls, (), "")
    found = members(seen, settings.owner, seen.cluster, old)
    if not found.ours:
        return None
    names = [each.pod.name for each in found.ours]
    held = [in_words(each) for each in found.held]
    text = _text(sorted(names), seen, most, found.ours)
    rolls = {"pods": sorted(names), "of": len(seen.pods), "at_once": most, "held": held, "text": text}
    batch = choose(found.ours, max(len(found.ours) - most, 0))
    over = limits_exceeded(found.ours, batch, state, settings.policy, seen.now)
    plan = _plan(settings, state, found.ours, [*held, *_new_operator(settings, olds)])
    blocks = [*over, *(each.text for each in foreign_gates(seen.pods, settings.owner))]
    live = [name for name in names if name in seen.outdated]
    due = f"{len(live)} pods of {state.name} are of an earlier template: {', '.join(sorted(live))}" if live else ""
    return Rollout({**plan, "blocks": blocks}, rolls, tuple(over), due)


def refusals(settings: GateSettings, seen: Observation, olds: Mapping[str, Any]) -> tuple[str, ...]:
    """What slurm-operator would do to jobs by itself in this update, each with what to do instead."""
    state = seen.nodeset
    if state is None or state.on_delete or not seen.pods:
        return ()
    before = str(olds.get("operatorVersion") or "")
    after = f"{settings.version}"
    newer = bool(before) and before != after
    changes = _template_changes(settings, state)
    found: list[str] = []
    if newer and (settings.rolls or changes):
        found.append(
            f"slurm-operator goes from {before} to {after} while {state.name} has the update strategy RollingUpdate: the new"
            " operator may replace its pods before it has a Slurm client, and then takes busy pods for drained. Nothing was"
            f" changed. Set operator.version back to {before} and run `pulumi up`, which "
            + ("writes OnDelete and replaces pods drained" if settings.rolls else "changes the pods")
            + f"; then set {after} and run `pulumi up` again"
        )
    still = [job for pod in seen.pods for job in _jobs(seen, pod) if job.states & STANDS_STILL]
    if changes and settings.updates == OPERATORS and still:
        distinct = list({job.job_id: job for job in still}.values())
        found.append(
            f"slurm-operator would replace the pods of {state.name} and end these jobs, which it doesn't count:"
            f" {jobs_in_words(distinct)}. Resume them and wait for their end, or set updateStrategy.type to Gated"
        )
    return tuple(found)


def _template_changes(settings: GateSettings, state: NodeSetView) -> bool:
    """Whether the update writes another template. An update that ended before its rollout did has written it already."""
    return bool(state.template) and state.template != settings.template


def _jobs(seen: Observation, pod: PodView) -> tuple[Any, ...]:
    return () if seen.cluster is None else seen.cluster.jobs(pod.node)


def _new_operator(settings: GateSettings, olds: Mapping[str, Any]) -> list[str]:
    before = str(olds.get("operatorVersion") or "")
    if not before or before == f"{settings.version}":
        return []
    return [f"slurm-operator {settings.version} may count pods of {before} as of an earlier template: then all are replaced"]


def _plan(settings: GateSettings, state: NodeSetView, old: tuple[Candidate, ...], warnings: list[str]) -> Props:
    jobs = {job.job_id: job for each in old for job in each.jobs}
    return {
        "schema": SCHEMA,
        "nodeset": settings.owner.nodeset,
        "from": state.replicas,
        "to": state.replicas,
        "known": True,
        "nodes": [node_props(each) for each in old],
        "jobs": [job_props(job) for _, job in sorted(jobs.items())[:MAX_JOBS]],
        "jobs_total": len(jobs),
        "free_at": _free_at(old),
        "blocks": [],
        "warnings": warnings,
    }


def _free_at(old: tuple[Candidate, ...]) -> str:
    if any(each.unforeseen for each in old):
        return "unknown"
    last = max((each.end for each in old), default=0)
    return iso(last) if last else "now"


def _text(names: list[str], seen: Observation, most: int, old: tuple[Candidate, ...] = ()) -> str:
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    busy = sum(1 for each in old if each.jobs)
    until = "of no known end" if _free_at(old) == "unknown" else f"until {_free_at(old)}"
    jobs = f"; {busy} busy, {until}" if busy else ""
    return f"rolls {len(names)} of {len(seen.pods)} pods, {most} at once: {shown}{jobs}"
