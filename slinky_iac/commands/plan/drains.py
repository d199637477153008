"""From the gates' steps to drains. The gates' ``plan`` input is made by ``slinky_iac/drain/describe.py``.

A gate keeps the plan of its last scale-in while nothing is given up, so a plan counts only where it is new or where the
step itself lowers the number. What a preview doesn't say is not known, and never taken for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from slinky_iac import names
from slinky_iac.cluster.pulumi_state import name_of, type_of
from slinky_iac.commands.plan.changes import inputs, op_of
from slinky_iac.commands.plan.model import Drain, DrainKind, Job, Node
from slinky_iac.commands.plan.slurm_conf import CONF, slurm_conf
from slinky_iac.commands.plan.wire import Json, Step, dictionary, rows, texts, whole
from slinky_iac.text import moment

HOSTS: Final = "pulumi-python:dynamic/slurm:OutsideHosts"
NAMESPACE: Final = "kubernetes:core/v1:Namespace"
NODESET: Final = "kubernetes:slinky.slurm.net/v1beta1:NodeSet"
GOING: Final = ("delete", "delete-replaced", "replace")
ASK_REMOVAL: Final = (
    "a preview doesn't say whose jobs a removal waits for: run `slinky drain plan --json` and give its"
    " output with --removals"
)


def drains(steps: Iterable[Step], removals: Mapping[str, Json], now: int) -> tuple[Drain, ...]:
    """All drains of an update, in the order of the preview. ``removals``: plans of removals by NodeSet."""
    found: dict[tuple[str, str], Drain] = {}
    steps = tuple(steps)
    for step in steps:
        each = _of(step, removals, now)
        if each is not None:
            found.setdefault((each.kind, each.what), each)
    for each in (*_ungated(steps), *_namespaces(steps)):
        found.setdefault((each.kind, each.what), each)
    return tuple(found.values())


def _of(step: Step, removals: Mapping[str, Json], now: int) -> Drain | None:
    op, kind = op_of(step), type_of(step.urn)
    if op is None:
        return None
    if kind in names.DRAINING_GATES and step.op in GOING:
        return _removal(inputs(step.old), removals, now)
    if kind == names.NODESET_SCALE and step.new and op != "create":
        return _scale_in(inputs(step.old), inputs(step.new), now)
    if kind == CONF and step.new:
        return slurm_conf(inputs(step.old), inputs(step.new), now)
    if kind == HOSTS and step.new:
        return _hosts(inputs(step.old), inputs(step.new), now)
    return None


def _scale_in(old: Json, new: Json, now: int) -> Drain | None:
    plan, before, after = dictionary(new.get("plan")), _ceiling(old), _ceiling(new)
    rolls = dictionary(plan.get("rolls"))
    written = bool(rolls) and (bool(new.get("due")) or new.get("template") != old.get("template"))
    fresh = written or plan != dictionary(old.get("plan"))
    if "nodes" not in plan or not (fresh or _fits(plan, after)):
        if after >= before or before <= 0:
            return None
        why = "the preview has no plan for this scale-in: run `pulumi refresh`, then a new preview"
        return Drain("scale-in", _name(new), known=False, before=before, after=after, warnings=(why,))
    if not fresh and after >= before:
        return None
    kind: DrainKind = "rollout" if rolls and whole(plan.get("from")) == whole(plan.get("to")) else "scale-in"
    return replace(from_plan(kind, plan, dictionary(new.get("policy")), now), at_once=whole(rolls.get("at_once")))


def _fits(plan: Json, after: int) -> bool:
    return whole(plan.get("to")) == after and whole(plan.get("from")) > after


def _removal(old: Json, removals: Mapping[str, Json], now: int) -> Drain:
    name, policy = _name(old), dictionary(old.get("policy"))
    plan = removals.get(name)
    if plan is not None:
        return from_plan("removal", plan, policy, now)
    deadline, act = _patience(policy, now)
    before = _ceiling(old)
    return Drain("removal", name, known=False, before=before, deadline_at=deadline, on_deadline=act, warnings=(ASK_REMOVAL,))


def _ungated(steps: Sequence[Step]) -> Iterable[Drain]:
    """NodeSets that go with no gate before them: nothing drains those."""
    going = [(type_of(step.urn), inputs(step.old)) for step in steps if step.op in GOING]
    gated = {str(old.get("resource") or "") for kind, old in going if kind in names.DRAINING_GATES}
    for kind, old in going:
        if kind != NODESET:
            continue
        name = str(dictionary(old.get("metadata")).get("name") or "")
        if name not in gated:
            why = "it has no NodeSetScale in this preview: its pods go without a drain, and their jobs die"
            yield Drain("removal", name, known=False, blocks=(why,))


def _namespaces(steps: Sequence[Step]) -> Iterable[Drain]:
    """Namespaces that go: Kubernetes deletes all that is in them, whoever put it there and whichever jobs run on it."""
    for step in steps:
        if type_of(step.urn) == NAMESPACE and step.op in GOING and not step.old.get("retainOnDelete"):
            name = str(dictionary(inputs(step.old).get("metadata")).get("name") or name_of(step.urn))
            why = (
                "the namespace is deleted with everything in it, pods of other stacks and their jobs included; no gate"
                " drains what this stack doesn't know"
            )
            yield Drain("namespace", name, known=False, warnings=(why,))


def _hosts(old: Json, new: Json, now: int) -> Drain | None:
    plan = dictionary(new.get("plan"))
    if not plan or plan == dictionary(old.get("plan")):
        held = {name for name, state in dictionary(new.get("hosts")).items() if state == "drained"}
        more = held - {name for name, state in dictionary(old.get("hosts")).items() if state == "drained"}
        if not more:
            return None
        why = "the preview has no plan for these hosts: slurmrestd may not have answered, or they are drained already"
        nodes = tuple(Node(name, "", "held", None) for name in sorted(more))
        return Drain("hosts", "outside-hosts", known=False, nodes=nodes, warnings=(why,))
    jobs = tuple(_job(dictionary(each), now) for each in rows(plan.get("jobs")))
    ends = [job.ends_by for job in jobs]
    free = None if None in ends else max((end for end in ends if end is not None), default=now)
    deadline, act = _patience(dictionary(new.get("policy")), now)
    labels = tuple(job.label for job in jobs)
    held_now = texts(plan.get("drains"))
    only = labels if len(held_now) == 1 else ()
    return Drain(
        "hosts",
        "outside-hosts",
        known=True,
        before=len(dictionary(new.get("hosts"))),
        after=len(dictionary(new.get("hosts"))) - len(held_now),
        nodes=tuple(Node(name, "", "held", free, only, len(only)) for name in held_now),
        jobs=jobs,
        jobs_total=len(jobs),
        free_at=free,
        deadline_at=deadline,
        # Maintenance never touches a job: at the deadline hosts stay drained (slinky_iac/drain/maintenance.py).
        on_deadline="keep" if act else act,
        blocks=texts(plan.get("refused")),
        warnings=texts(plan.get("notices")),
        returns=texts(plan.get("returns")),
    )


def from_plan(kind: DrainKind, plan: Json, policy: Json, now: int) -> Drain:
    """A drain as a gate's plan has it."""
    deadline, act = _patience(policy, now)
    jobs = tuple(_job(dictionary(each), now) for each in rows(plan.get("jobs")))
    return Drain(
        kind,
        _name(plan),
        known=plan.get("known") is True,
        before=whole(plan.get("from")),
        after=whole(plan.get("to")),
        nodes=tuple(_node(dictionary(each), now) for each in rows(plan.get("nodes"))),
        jobs=jobs,
        jobs_total=max(whole(plan.get("jobs_total")), len(jobs)),
        free_at=moment(plan.get("free_at"), now),
        deadline_at=deadline,
        on_deadline=act,
        blocks=texts(plan.get("blocks")),
        warnings=texts(plan.get("warnings")),
    )


def gives_back(steps: Iterable[Step]) -> tuple[str, ...]:
    """Nodes that are left of an interrupted run and given back by this update."""
    found = (
        texts(dictionary(inputs(s.new).get("plan")).get("gives_back"))
        for s in steps
        if type_of(s.urn) == names.NODESET_SCALE
    )
    return tuple(sorted({name for names in found for name in names}))


def _node(raw: Json, now: int) -> Node:
    return Node(
        name=str(raw.get("node") or ""),
        pod=str(raw.get("pod") or ""),
        kind=str(raw.get("kind") or ""),
        free_at=moment(raw.get("free_at"), now),
        jobs=texts(raw.get("jobs")),
        jobs_total=max(whole(raw.get("jobs_total")), len(texts(raw.get("jobs")))),
    )


def _job(raw: Json, now: int) -> Job:
    return Job(
        label=str(raw.get("job") or ""),
        user=_whose(raw),
        partition=str(raw.get("partition") or ""),
        state=str(raw.get("state") or ""),
        started=moment(raw.get("started"), now),
        ends_by=moment(raw.get("ends_by"), now),
    )


def _patience(policy: Json, now: int) -> tuple[int | None, str]:
    wait = whole(policy.get("deadline_s"))
    return (now + wait if wait > 0 else None), str(policy.get("on_deadline") or "keep")


def _ceiling(props: Json) -> int:
    return whole(props.get("maxReplicas") if props.get("owner") == "autoscaler" else props.get("replicas"))


def _name(props: Json) -> str:
    return str(props.get("nodeset") or "")


def _whose(raw: Json) -> str:
    """A job's user, and the stack's job that it is, where it is one."""
    user = str(raw.get("user") or "") or "unknown"
    own = str(raw.get("stack_job") or "")
    return f"{user} ({own})" if own else user
