"""From the gates' steps to drains.

A gate keeps the plan of its last scale-in while nothing is selected, so a plan counts only where it is new or where the
step itself lowers the number, or takes lines away. What a preview doesn't say is not known, and never taken for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from msgspec import UNSET

from slinky_iac import names
from slinky_iac.cluster.pulumi_state import dynamic, name_of, type_of
from slinky_iac.commands.plan.model import Drain, DrainKind, Job, Node
from slinky_iac.commands.plan.wire import Inputs, Json, Step, fresh
from slinky_iac.drain.written_plan import Plan, PlannedJob, PlannedNode
from slinky_iac.text import latest, moment

SESSIONS: Final = dynamic("SessionsGate")
REMOVALS: Final = dynamic("Removals")
HOSTS: Final = dynamic("OutsideHosts")
NAMESPACE: Final = "kubernetes:core/v1:Namespace"
NODESET: Final = "kubernetes:slinky.slurm.net/v1beta1:NodeSet"
GOING: Final = ("delete", "delete-replaced", "replace")
ASK_REMOVAL: Final = (
    "a preview of a destroy doesn't say whose jobs a removal waits for: run `slinky drain plan --json` and give its"
    " output with --removals"
)


def drains(steps: Sequence[Step], removals: Mapping[str, Plan], now: int) -> tuple[Drain, ...]:
    """All drains of an update, in the order of the preview. ``removals``: plans of removals by NodeSet."""
    drains_by_name: dict[tuple[str, str], Drain] = {}
    removals = {**_planned(steps), **removals}
    gated = (drain for step in steps if (drain := _of(step, removals, now)) is not None)
    for drain in (*_passed_by(steps), *gated, *_ungated(steps), *_namespaces(steps)):
        drains_by_name.setdefault((drain.kind, drain.what), drain)
    return tuple(drains_by_name.values())


def _of(step: Step, removals: Mapping[str, Plan], now: int) -> Drain | None:
    kind = type_of(step.urn)
    if step.does is None:
        return None
    if kind in {names.NODESET_SCALE, SESSIONS} and step.op in GOING:
        return _removal(Inputs.of(step.before), removals, now)
    if kind == names.NODESET_SCALE and step.new:
        return _taken_up(step, now) if step.does == "create" else _scale_in(step, now)
    if kind == CONF and step.new:
        return slurm_conf(step.before, step.after, now)
    if kind == HOSTS and step.new:
        return _hosts(step, now)
    return None


def _taken_up(step: Step, now: int) -> Drain | None:
    """A creation over a NodeSet that is there with more pods, or of which no answer says whether it is there."""
    new = Inputs.of(step.after)
    if new.plan.known is not False and not new.plan.nodes:
        return None
    return from_plan("scale-in", new.plan, new, now)


def _scale_in(step: Step, now: int) -> Drain | None:
    old, new = Inputs.of(step.before), Inputs.of(step.after)
    plan, rolls, current, target = new.plan, new.plan.rolls, old.target, new.target
    written = bool(rolls) and (bool(new.due) or new.template != old.template)
    changed = written or fresh(step.before, step.after)
    before, after = plan.current or 0, plan.target or 0
    if plan.nodes is UNSET or not (changed or (after == target < before)):
        unasked = new.due if isinstance(new.due, str) and new.due.startswith(names.UNASKED) else ""
        unread = changed and plan.raises is UNSET and plan.gives_back is UNSET
        if not unasked and not unread and (target >= current or current <= 0):
            return None
        why = unasked or "the preview has no plan for this scale-in: run `pulumi refresh`, then a new preview"
        return Drain("scale-in", new.nodeset, known=False, before=current, after=target, warnings=(why,))
    if not changed and target >= current:
        return None
    kind: DrainKind = "rollout" if rolls and before == after else "scale-in"
    return replace(from_plan(kind, plan, new, now), at_once=rolls.at_once if rolls else 0)


def _planned(steps: Sequence[Step]) -> dict[str, Plan]:
    """Plans of what leaves the program, as its own resource has them; a destroy's preview has none."""
    plans = (Inputs.of(step.after).plan for step in steps if type_of(step.urn) == REMOVALS)
    return {removal.nodeset or "": removal for plan in plans for removal in plan.removals or ()}


def _removal(old: Inputs, removals: Mapping[str, Plan], now: int) -> Drain | None:
    if old.interrupts:
        return None
    kind: DrainKind = "sessions" if old.host else "removal"
    what = old.host or old.nodeset
    if what in removals:
        return from_plan(kind, removals[what], old, now)
    return replace(_waits(kind, what, Plan(), old, now), before=old.target, warnings=(ASK_REMOVAL,))


def _ungated(steps: Sequence[Step]) -> Iterable[Drain]:
    """NodeSets that go with no gate before them: nothing drains those."""
    going = [(type_of(step.urn), Inputs.of(step.before)) for step in steps if step.op in GOING]
    gated = {old.resource for kind, old in going if kind == names.NODESET_SCALE}
    for kind, old in going:
        if kind == NODESET and old.metadata.name not in gated:
            why = "it has no NodeSetScale in this preview: its pods go without a drain, and their jobs die"
            yield Drain("removal", old.metadata.name, known=False, blocks=(why,))


def _passed_by(steps: Sequence[Step]) -> Iterable[Drain]:
    """Gates that Pulumi will drop without a call when they go, or drops now."""
    for step in steps:
        kept = [state for state in (step.old, step.new) if state is not None and state.retain_on_delete]
        if kept and type_of(step.urn) in (names.NODESET_SCALE, SESSIONS, CONF, HOSTS):
            inputs = Inputs.of(step.after or step.before)
            why = (
                "its gate has retainOnDelete: Pulumi drops it without a call, and its nodes go without a drain. Take the"
                " option out"
            )
            yield Drain("removal", inputs.host or inputs.nodeset or name_of(step.urn), known=False, blocks=(why,))


def _namespaces(steps: Sequence[Step]) -> Iterable[Drain]:
    """Namespaces that go: Kubernetes deletes all that is in them, objects of others and pods with running jobs included."""
    for step in steps:
        kept = step.old is not None and step.old.retain_on_delete
        if type_of(step.urn) == NAMESPACE and step.op in GOING and not kept:
            why = (
                "the namespace is deleted with everything in it, pods of other stacks and their jobs included; no gate"
                " drains what this stack doesn't know"
            )
            name = Inputs.of(step.before).metadata.name or name_of(step.urn)
            yield Drain("namespace", name, known=False, warnings=(why,))


def _hosts(step: Step, now: int) -> Drain | None:
    old, new = Inputs.of(step.before), Inputs.of(step.after)
    plan = new.plan
    if plan.drains is UNSET or not fresh(step.before, step.after):
        before, after = ({name for name, state in inputs.hosts.items() if state == "drained"} for inputs in (old, new))
        more = after - before
        if not more and not fresh(step.before, step.after):
            return None
        why = "the preview has no plan for these hosts: slurmrestd may not have answered, or they are drained already"
        nodes = tuple(Node(name, "", "held", None) for name in sorted(more))
        return Drain("hosts", names.HOSTS_OWNER, known=False, nodes=nodes, warnings=(why,))
    drain = _waits("hosts", names.HOSTS_OWNER, plan, new, now)
    free = latest((job.ends_by for job in drain.jobs), now)
    only = tuple(job.label for job in drain.jobs) if len(plan.drains) == 1 else ()
    return replace(
        drain,
        known=True,
        before=len(new.hosts),
        after=len(new.hosts) - len(plan.drains),
        nodes=tuple(Node(name, "", "held", free, only, len(only)) for name in plan.drains),
        jobs_total=len(drain.jobs),
        free_at=free,
        # Maintenance never touches a job: at the deadline hosts stay drained (slinky_iac/drain/maintenance.py).
        on_deadline="keep",
        blocks=plan.refused or (),
        warnings=plan.notices or (),
        returns=plan.returns or (),
    )


def from_plan(kind: DrainKind, plan: Plan, gate: Inputs, now: int) -> Drain:
    """A drain as a NodeSet's plan has it."""
    nodes = tuple(_node(node, now) for node in plan.nodes or ())
    drain = _waits(kind, plan.nodeset or "", plan, gate, now)
    return replace(drain, before=plan.current or 0, after=plan.target or 0, nodes=nodes)


def _waits(kind: DrainKind, what: str, plan: Plan, gate: Inputs, now: int) -> Drain:
    """What the plan of any gate says of jobs and times."""
    jobs = tuple(_job(job, now) for job in plan.jobs or ())
    return Drain(
        kind,
        what,
        known=bool(plan.known),
        jobs=jobs,
        jobs_total=max(plan.jobs_total or 0, len(jobs)),
        free_at=moment(plan.free_at, now),
        deadline_at=gate.deadline_at(now),
        on_deadline=gate.policy.on_deadline or "keep",
        blocks=plan.blocks or (),
        warnings=plan.warnings or (),
    )


def _job(job: PlannedJob, now: int) -> Job:
    """With times, and beside the user the stack's job that it is, where it is one."""
    user = (job.user or "unknown") + (f" ({job.stack_job})" if job.stack_job else "")
    ends_by = None if job.waits else moment(job.ends_by, now)
    return Job(job.job, user, job.partition, job.state, moment(job.started, now), ends_by)


def _node(node: PlannedNode, now: int) -> Node:
    total = max(node.jobs_total, len(node.jobs))
    return Node(node.node, node.pod, node.kind, moment(node.free_at, now), node.jobs, total)


def gives_back(steps: Iterable[Step]) -> tuple[str, ...]:
    """Nodes that are left of an interrupted run and given back by this update."""
    plans = (Inputs.of(step.after).plan for step in steps if type_of(step.urn) == names.NODESET_SCALE)
    return tuple(sorted({name for plan in plans for name in plan.gives_back or ()}))


CONF: Final = dynamic("ControllerGate")
ASK: Final = "the preview has no plan for what slurm.conf loses: slurmrestd may not have answered. Take another preview"


def slurm_conf(old: Json, new: Json, now: int) -> Drain | None:
    """Partitions and hosts that leave, and whose jobs they wait for; None where nothing leaves. ``old``, ``new``: inputs."""
    before, after = Inputs.of(old), Inputs.of(new)
    gone = {f"partition {name}" for name in before.partitions.keys() - after.partitions.keys()}
    gone |= {f"host {name}" for name in before.hosts.keys() - after.hosts.keys()}
    plan = after.plan
    named: tuple[str, ...] = ()
    if gone or fresh(old, new):
        hosts = (f"host {name}" for name in (*(plan.hosts or ()), *(plan.changed or ())))
        named = (*(f"partition {name}" for name in plan.partitions or ()), *hosts)
    told = plan.partitions is not UNSET or plan.gives_back is not UNSET
    if not named and not gone and (told or not fresh(old, new)):
        return None
    known = bool(plan.known) and gone <= set(named)
    drain = _waits(
        "slurm-conf",
        f"slurm.conf without {', '.join(named or sorted(gone)) or 'lines that are not known'}",
        plan,
        after,
        now,
    )
    return replace(
        drain,
        known=known,
        nodes=tuple(_leaves(name, drain.jobs, drain.free_at) for name in named),
        deadline_at=None if after.outside or after.policy.deadline_s is None else now + after.policy.deadline_s,
        warnings=(*drain.warnings, *(plan.steps or ()), *(() if known else (ASK,))),
    )


def _leaves(name: str, jobs: tuple[Job, ...], free: int | None) -> Node:
    """A partition or a host; of jobs the plan says which partition they name, and not which host."""
    kind, _, bare = name.partition(" ")
    there = tuple(job.label for job in jobs if kind == "partition" and bare in job.partition.split(","))
    return Node(name if kind == "partition" else bare, "", "leaves" if kind == "host" else "closes", free, there, len(there))
