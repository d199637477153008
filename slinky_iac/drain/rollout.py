"""Replacing pods of an earlier template: from a look and a goal to the next step, and what a preview says of it.

The NodeSet's update strategy is OnDelete, so the operator replaces no pod; it makes a new one, of the newest template,
where one is gone. So the gate drains a batch of nodes by the rules of a scale-in (limits, deadline, stamp of the run),
deletes each pod as soon as its node is free, and begins the next batch when those are back in service. All state is in the
cluster: a pod is of the batch while its node carries our drain.

A node that a person holds, or the operator for a cordoned Kubernetes node, is not replaced: 1.0 and 1.1 delete a node's
record with its pod, and the drain with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain import daemons, holds, steps
from slinky_iac.drain.cost import Candidate, Kind, assess, choose
from slinky_iac.drain.free import Free, names_in_use, registered_wrongly
from slinky_iac.drain.members import fault_of, stale_records
from slinky_iac.drain.plan import DrainPlan, Seen, foreign_gates, frozen, when
from slinky_iac.drain.protocol import DeletePods, Done, Goal, Observation, Replaced, Resume, Step, Stop, Wait
from slinky_iac.drain.scale_in_state import ScaleInState, another_slurm, deadline_step, none_listed, staged, stopped
from slinky_iac.drain.settings import OPERATORS, DrainPolicy, GateSettings, Owner
from slinky_iac.drain.tags import tag_of
from slinky_iac.drain.waiting import over_limits
from slinky_iac.drain.words import distinct, jobs_in_words, named
from slinky_iac.drain.written_plan import Plan, Rolls
from slinky_iac.kube.objects import NodeSet, Pod
from slinky_iac.kube.selection import selection_of
from slinky_iac.names import SLURM_USER
from slinky_iac.selection import Selection
from slinky_iac.slurmrest.concurrent_calls import AT_ONCE
from slinky_iac.slurmrest.objects import STANDS_STILL, Job
from slinky_iac.text import some

CONDEMNED: Final = "pending termination"
"""In the reason of a drain of the operator's, where it had selected the pod in a rolling update of its own."""

LAST: Final = "on a Kubernetes node that takes no new pod now (a taint with NoSchedule, or a cordon)"

RESERVED: Final = frozenset({"RESERVED", "MAINTENANCE"})
"""States of a node in a reservation that is active, whose record slurmctld doesn't delete."""


@dataclass(frozen=True)
class Members:
    """The pods of an earlier template."""

    ours: tuple[Candidate, ...]
    """Those that the gate replaces."""
    held: tuple[Candidate, ...]
    """Those that it leaves to the holders of their nodes."""


def at_once(most: int | str, replicas: int) -> int:
    """Pods that may be away at once, at least one: a number, or a percentage of ``replicas``, rounded up."""
    if isinstance(most, str):
        return max(-(-int(most.removesuffix("%")) * replicas // 100), 1)
    return max(most, 1)


def members(
    seen: Observation, owner: Owner, cluster: ClusterView, pods: Iterable[Pod], wanted: Selection | None = None
) -> Members:
    """``pods`` as candidates, by whose they are to replace. ``wanted``: the selection that is written before."""
    candidates = assess(pods, cluster, seen.now, owner)
    last = daemons.last_ones(seen, wanted)
    held = {
        candidate.name: candidate if _held(candidate) else replace(candidate, trouble=LAST)
        for candidate in candidates
        if _held(candidate) or candidate.name in last
    }
    return Members(tuple(candidate for candidate in candidates if candidate.name not in held), tuple(held.values()))


def roll_step(seen: Observation, goal: Goal) -> Step:
    """The next act towards pods that are all of the newest template. Stateless, as :func:`next_step`."""
    state, cluster = seen.nodeset, seen.cluster
    if state is None:
        return steps.gone()
    if (stop := steps.refused(state, seen.pods, goal) or _unfit(seen, goal, state)) is not None:
        return stop
    why = seen.unasked if cluster is None else another_slurm(goal, cluster) or steps.operator_blind(seen, state)
    if cluster is None or why:
        return steps.wait(seen, goal, why)
    if (flying := steps.until_gone(seen, goal, state)) is not None:
        return flying
    stale = stale_records(seen, goal.owner)
    if first := holds.under_others(seen, goal.owner) or (Resume(stale) if stale else None):
        return first
    leaving = frozenset() if goal.selects is None else daemons.removed(seen)  # the operator's to end
    outdated = seen.outdated - leaving
    old = members(seen, goal.owner, cluster, (pod for pod in seen.pods if pod.name in outdated))
    return _replace(seen, goal, cluster, old) if old.ours else _end(old)


def _unfit(seen: Observation, goal: Goal, state: NodeSet) -> Stop | None:
    if not state.on_delete:
        return Stop(
            f"the update strategy of {state.name} is not OnDelete, so slurm-operator replaces pods at the same time: nothing"
            " was changed. Run `pulumi up` without --target, which writes it",
            "blocked",
        )
    foreign = tuple(foreign_gates(seen.pods, goal.owner))
    return Stop(foreign[0], "blocked") if foreign else None


def _held(candidate: Candidate) -> bool:
    """Whether somebody else holds the node, so that it isn't ours to replace."""
    record = candidate.record
    if candidate.kind in {Kind.LEAVING, Kind.OURS} or record is None:
        return False
    if candidate.kind is Kind.BLOCKED:
        return True
    if not record.drained_or_draining:
        return False
    if registered_wrongly(record) and record.reason_set_by_user == SLURM_USER:  # slurmctld's own drain
        return False
    return not (record.held_by_operator and CONDEMNED in record.reason)


def in_words(candidate: Candidate) -> str:
    """Why a pod of an earlier template stays."""
    record = candidate.record
    who = candidate.trouble or (f"drained: {record.reason!r}" if record is not None else "")
    return f"{candidate.name} stays of an earlier template: {candidate.node} is {who}"


def _end(old: Members) -> Step:
    blocked = [candidate for candidate in old.held if candidate.kind is Kind.BLOCKED]
    if blocked:
        told = "; ".join(in_words(candidate) for candidate in blocked)
        return Stop(f"{told}. Drain it yourself or return it to service, then run `pulumi up` again", "blocked")
    return Done()


def _replace(seen: Observation, goal: Goal, cluster: ClusterView, old: Members) -> Step:
    leaving = frozenset() if goal.selects is None else daemons.removed(seen)  # not of those that are asked for
    away = _away(seen, goal, leaving)
    number = daemons.asked(seen)
    room = goal.rolls - (number - len(seen.pods) + len(leaving)) - len(away)
    failed = [fault for pod, fault in away if seen.now - pod.created > goal.policy.register_deadline_s]
    if failed and room <= 0:
        told = "; ".join(failed[:4])
        count = len(old.ours) + len(old.held)
        why = f"pods of the newest template are not in service after {goal.policy.register_deadline_s} s: {told}"
        return stopped(goal, f"{why}. {count} of the earlier one were not replaced")
    begun = tuple(candidate for candidate in old.ours if candidate.kind in {Kind.LEAVING, Kind.OURS})
    batch = begun or choose(old.ours, len(old.ours) - batch_size(room, goal.policy, number))
    if not batch:
        told = "; ".join(fault for _, fault in away[:3]) or "the operator makes new pods"
        return Wait(f"{len(old.ours)} pods are still to be replaced; {told}")
    over = [] if begun else over_limits(goal.policy.limits, seen.now, _jobs(old), len(batch), number)
    if over:
        return Stop(f"nothing more was drained: {'; '.join(over)}", "blocked")
    used = names_in_use(seen, goal.owner, number, {candidate.name for candidate in batch})
    if used:
        return steps.wait(seen, goal, used)
    stage = staged(seen, goal, cluster, batch)
    retained = (pod for pod in stage.retained if tag_of(pod, goal.owner) is None)
    staying = [candidate for candidate in stage.to_mark if candidate.kind is not Kind.LEAVING]
    return steps.marked_by_us(stage, retained, staying) or steps.drained_by_us(stage) or _delete(stage)


def batch_size(room: int, policy: DrainPolicy, replicas: int) -> int:
    """Pods of the next batch: what the strategy leaves room for, within ``maxAtOnce`` and ``maxShare``."""
    bounds = [room]
    if policy.max_at_once is not None:
        bounds.append(policy.max_at_once)
    if policy.limits.max_share is not None:
        bounds.append(max(int(policy.limits.max_share * replicas), 1))
    return max(min(bounds), 0)


def _jobs(old: Members) -> Iterable[Job]:
    """Jobs by which limits are judged: those of all batches, where the share is one batch's."""
    return (job for candidate in old.ours for job in candidate.jobs)


def _away(seen: Observation, goal: Goal, leaving: Collection[str]) -> list[tuple[Pod, str]]:
    """Pods of the newest template that are not in service, and why; but for those that the operator removes."""
    new = (pod for pod in seen.pods if pod.name not in seen.outdated and pod.name not in leaving)
    judged = ((pod, "is being deleted" if pod.terminating else fault_of(pod, seen, goal.owner)) for pod in new)
    return [(pod, fault) for pod, fault in judged if fault]


def _delete(stage: ScaleInState) -> Step:
    """The deletion of pods whose nodes are free and seen so by the operator in this run, or the wait for one."""
    seen, goal = stage.seen, stage.goal
    why = none_listed(seen, goal, stage.cluster)
    if why:
        return steps.wait(seen, goal, why)
    unseen = {candidate.name for candidate in stage.unseen}
    staying = [candidate for candidate in stage.selected if candidate.kind is not Kind.LEAVING]
    free = [candidate.name for candidate in staying if isinstance(stage.verdicts[candidate.name], Free)]
    ready = {*free} - unseen
    going = [
        Replaced(candidate.name, _record_to_delete(seen, candidate)) for candidate in staying if candidate.name in ready
    ]
    if going:
        return DeletePods(tuple(going[:AT_ONCE]))
    if free:
        return steps.until_seen(stage, f"the operator has not yet seen the drain of {', '.join(free)}")
    if stage.unfree and seen.now >= goal.deadline_at:
        return deadline_step(stage)
    if stage.unfree:
        left = len(seen.outdated - {candidate.name for candidate in stage.selected})
        more = f", {left} more after them" if left else ""
        wait = Wait(stage.waiting(f"their pods are replaced{more}", "nodes of this batch"), stage.progress())
        return holds.noted(stage) or wait
    return Wait(f"pods are ending: {', '.join(candidate.name for candidate in stage.selected)}")


def _record_to_delete(seen: Observation, candidate: Candidate) -> str:
    """Slurm's record that would outlive the pod, and with it the features and CPUs of the earlier template."""
    state = frozenset[str]() if candidate.record is None else candidate.record.state
    going = seen.version.leaves_records and "DYNAMIC_NORM" in state and not state & RESERVED
    return candidate.node if going else ""


def plan_rollout(settings: GateSettings, seen: Observation, olds: Mapping[str, Any], going: Collection[str]) -> Seen | None:
    """The rollout of this update, its ``rolls`` for a plan that has other work too; None where no pod is replaced.

    ``going``: pods that the update removes before it. The update itself asks too, after the engine has written the
    template: it has to come to what the preview said (`pulumi up --plan`), whether the operator has observed the write or
    not.
    """
    state = seen.nodeset
    if state is None or not settings.rolls:
        return None
    is_new = str(olds.get("template") or settings.template) != settings.template  # no rollout to it has ended
    every = _template_changes(settings, state) or (is_new and not state.observed)
    leaving = frozenset() if settings.selection is None else daemons.going(seen, settings.selection)  # by the operator
    old = tuple(pod for pod in seen.pods if pod.name not in {*going, *leaving} and (every or pod.name in seen.outdated))
    if not old:
        return None
    number = daemons.asked(seen)
    most = batch_size(at_once(settings.max_unavailable, number), settings.policy, number)
    plan = DrainPlan(settings.owner.nodeset, number, number, 0)
    if seen.cluster is None:
        unasked = f"Slurm could not be asked whose jobs are waited for: {seen.problem}"
        return Seen(_with_rolls(replace(plan, warnings=(unasked,), known=False), [pod.name for pod in old], seen, most))
    roll_members = members(seen, settings.owner, seen.cluster, old, settings.selection)
    if not roll_members.ours:
        return None
    names = [candidate.name for candidate in roll_members.ours]
    held = [in_words(candidate) for candidate in roll_members.held]
    warnings = (*held, *_keeps_records(roll_members), *_new_operator(settings, olds))
    batch = choose(roll_members.ours, max(len(roll_members.ours) - most, 0))
    over = over_limits(settings.policy.limits, seen.now, _jobs(roll_members), len(batch), number)
    blocks = (*frozen(state), *foreign_gates(seen.pods, settings.owner))
    plan = replace(plan, selected=roll_members.ours, blocks=blocks, over=over, warnings=warnings)
    live = [name for name in names if name in seen.outdated and not is_new]
    due = f"{len(live)} pods of {state.name} have an earlier template: {', '.join(sorted(live))}" if live else ""
    return Seen(_with_rolls(plan, names, seen, most, held), over, due)


def refusals(settings: GateSettings, seen: Observation, olds: Mapping[str, Any]) -> tuple[str, ...]:
    """What slurm-operator would do to jobs without the gate in this update, each with what to do instead."""
    state = seen.nodeset
    if state is None or not seen.pods or (state.on_delete and settings.updates != OPERATORS):
        return ()
    begins = state.on_delete  # the engine writes RollingUpdate before this gate runs
    before = str(olds.get("operatorVersion") or "")
    after = f"{settings.version}"
    newer = bool(before) and before != after
    changes = _template_changes(settings, state) or (begins and bool(seen.outdated))
    reasons: list[str] = []
    if newer and (settings.rolls or changes or begins):
        does = "changes the pods" if changes else "writes it"
        does = "writes OnDelete and replaces pods drained" if settings.rolls else does
        has = "gets" if begins else "has"
        reasons.append(
            f"slurm-operator goes from {before} to {after} while {state.name} {has} the update strategy RollingUpdate. The"
            " new operator may replace its pods before it has a Slurm client, and then treats busy pods as drained. Nothing"
            f" was changed. Set operator.version back to {before} and run `pulumi up`, which {does}; then set {after} and"
            " run `pulumi up` again"
        )
    jobs = () if seen.cluster is None else (job for pod in seen.pods for job in seen.cluster.jobs(pod.slurm_node))
    still = distinct(job for job in jobs if job.job_state & STANDS_STILL)
    if changes and settings.updates == OPERATORS and still:
        reasons.append(
            f"slurm-operator would replace the pods of {state.name} and end these jobs, which it doesn't count:"
            f" {jobs_in_words(still)}. Resume them and wait for their end, or set updateStrategy.type to Gated"
        )
    return tuple(reasons)


def _template_changes(settings: GateSettings, state: NodeSet) -> bool:
    """Whether the update writes another template. An update that ended before its rollout did has written it already. Which
    Kubernetes nodes fit is part of it, too: the operator hashes it (``getPatch``)."""
    live = selection_of(state)
    if None not in (settings.selection, live) and live != settings.selection:
        return True
    return bool(state.template) and state.template != settings.template


def _new_operator(settings: GateSettings, olds: Mapping[str, Any]) -> list[str]:
    before = str(olds.get("operatorVersion") or "")
    if not before or before == f"{settings.version}":
        return []
    return [f"slurm-operator {settings.version} may count pods of {before} as of an earlier template: then all are replaced"]


def _keeps_records(roll_members: Members) -> list[str]:
    """slurmctld takes features, GRES, CPUs and memory only from a registration that makes the record."""
    kept = [
        candidate.node
        for candidate in roll_members.ours
        if candidate.record is not None and candidate.record.state & RESERVED
    ]
    if not kept:
        return []
    return [
        f"in an active reservation, so slurmctld doesn't delete the record: {named(kept)}. Features, GRES, CPUs and memory"
        " stay those of the earlier template there. If they change, update after the reservation; or then drain the node,"
        " delete its record (`scontrol delete nodename=…`) and its pod"
    ]


def _with_rolls(plan: DrainPlan, names: Iterable[str], seen: Observation, most: int, held: Iterable[str] = ()) -> Plan:
    """The plan with pods that are replaced, and those that stay."""
    pods, of, busy = sorted(names), len(seen.pods), sum(1 for candidate in plan.selected if candidate.jobs)
    until = "of no known end" if plan.free_at is None else f"until {when(plan.free_at)}"
    jobs = f"; {busy} busy, {until}" if busy else ""
    text = f"rolls {len(pods)} of {of} pods, {most} at once: {some(pods)}{jobs}"
    return Plan(rolls=Rolls(pods=tuple(pods), of=of, at_once=most, held=tuple(held), text=text)).completed(plan.written)
