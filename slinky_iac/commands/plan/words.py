"""Sentences that every rendering shares: headline, verdict, marks. Texts of the cluster in them are not escaped yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from slinky_iac.commands.plan.limits import AT_DEADLINE, Exit, Verdict
from slinky_iac.commands.plan.model import Change, ChangeOrder, Drain, Message, Node, Op
from slinky_iac.text import at, counted, latest, span, until

MARKS = {
    "create": "+",
    "update": "~",
    "replace": "±",
    "delete": "-",
    "import": "=",
    "refresh": "~",
    "read": ">",
    "other": "?",
}
SHOWN_OPS: Final[tuple[Op, ...]] = ("delete", "replace", "update", "create", "import", "refresh", "read", "other")
"""What can hurt comes first; the last three aren't changes to count."""
KINDS = {
    "scale-in": "scale-in",
    "rollout": "rollout",
    "removal": "removal",
    "hosts": "maintenance",
    "namespace": "deletion",
    "slurm-conf": "slurm.conf",
    "sessions": "sessions",
}

Face = Literal["ok", "none", "ask", "no"]


@dataclass(frozen=True)
class Affected:
    """One person whose jobs are waited for."""

    user: str
    jobs: int
    last_end: int | None
    """None: one of them has no known end."""


def headline(order: ChangeOrder) -> str:
    """What happens to running work, in one sentence."""
    if order.failed:
        refused = order.policies is not None and any(
            violation.level == "mandatory" for violation in order.policies.violations
        )
        return "Policies refuse this update" if refused else "The preview failed"
    leaving = ((drain, sum(node.kind != "closes" for node in drain.nodes)) for drain in order.drains)
    nodes = sum(max(number, drain.before - drain.after) for drain, number in leaving)
    if not order.drains:
        return "No node drains" if order.changes else "Nothing changes"
    jobs = sum(drain.jobs_total for drain in order.drains)
    asked = f"{counted(nodes, 'node')} {'drains' if nodes == 1 else 'drain'}"
    going = [drain.what for drain in order.drains if drain.kind == "namespace"]
    if going:
        asked = f"Namespace {', '.join(going)} is deleted" + (f", {asked}" if nodes else "")
        return f"{asked}; which jobs run there is not known"
    if not order.known:
        return f"{asked}; whose jobs are on them is not fully known" if nodes else "Which nodes drain is not known"
    waited = f"{counted(jobs, 'job')} {'is' if jobs == 1 else 'are'}" if jobs else "no job is"
    return f"{asked}, {waited} waited for"


def last_free(order: ChangeOrder) -> str:
    """When all nodes are free."""
    if not order.known:
        return "unknown"
    if not order.drains:
        return "nothing to wait for"
    free = latest(node.free_at for drain in order.drains for node in drain.nodes)
    return "unknown: a job has no time limit" if free is None else until(free, order.taken_at)


def counts(order: ChangeOrder) -> str:
    """``2 to create, 1 to delete, 14 unchanged``."""
    number = Counter(change.op for change in order.changes)
    text = ", ".join([*(f"{number[op]} to {op}" for op in SHOWN_OPS[:5] if number[op]), f"{order.unchanged} unchanged"])
    if order.failed and not order.changes and not order.unchanged:
        return "the preview failed before its first resource"
    return f"{text} when the preview failed" if order.failed else text


def verdict_line(order: ChangeOrder, verdict: Verdict) -> str:
    """The gate's word."""
    if verdict.code is Exit.OK:
        judged = bool(order.drains) and verdict.limited
        return "Within the limits" if judged else "Nothing to judge" if not order.drains else "No limits set"
    blocked = any(drain.known and drain.blocks for drain in order.drains)
    return {
        Exit.FAULT: "Nothing to approve",
        Exit.EXCEEDED: "More than the limits allow",
        Exit.UNKNOWN: "Not known well enough",
        Exit.LATE: "Would be stopped" if blocked else "Would pass its deadline",
    }[verdict.code]


def face(order: ChangeOrder, verdict: Verdict) -> Face:
    """Whether the word is green, amber, red or grey: green only where limits were given and something was judged by them."""
    if verdict.code is Exit.OK:
        return "ok" if verdict.limited and order.drains else "none"
    return "ask" if verdict.code in (Exit.UNKNOWN, Exit.LATE) else "no"


MANY: Final = 20
"""Nodes of a drain from which on it is summed up, and the ones that are on time are folded."""
SIGNS: Final[Mapping[Face, str]] = {"ok": "✓", "none": "·", "ask": "?", "no": "✕"}


def where(order: ChangeOrder) -> str:
    """``project/stack``; a preview without a step names none."""
    return f"{order.project}/{order.stack}" if order.stack else "a stack that the preview doesn't name"


def users(order: ChangeOrder) -> str:
    """How many people are waited for."""
    count = len(affected(order))
    if not order.known:
        return f"unknown, at least {count}" if count else "unknown"
    if not order.drains:
        return "no users"
    if any(drain.unlisted for drain in order.drains):
        return f"at least {count}"
    return str(count) if count else "none"


def notices(order: ChangeOrder) -> tuple[Message, ...]:
    """Errors and warnings of the program and of providers: they are read before all else."""
    return tuple(message for message in order.messages if message.severity in ("error", "warning"))


def by_wait(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Nodes with those that are free last on top: they are what is waited for."""
    return tuple(sorted(nodes, key=lambda node: (node.free_at is not None, -(node.free_at or 0), node.name)))


def strip(drain: Drain) -> str:
    """``44 free by the deadline, 16 late``; for NodeSets that are too large for a chart."""
    late = len(drain.late_nodes)
    idle = sum(node.free_at is not None and not node.jobs_total for node in drain.nodes)
    if drain.deadline_at is None:
        return f"{idle} idle, {len(drain.nodes) - idle} to wait for"
    return f"{len(drain.nodes) - late} free by the deadline ({idle} of them idle), {late} late"


def drain_title(drain: Drain) -> str:
    """``gpu: 3 → 1 nodes``."""
    nodes = len(drain.nodes)
    return {
        "hosts": f"{drain.what}: {counted(nodes, 'host')} to hold",
        "slurm-conf": drain.what,
        "namespace": f"namespace {drain.what}: deleted with everything in it",
        "removal": f"{drain.what}: removed with {counted(max(drain.before, nodes), 'node')}",
        "sessions": f"{drain.what}: removed once no job of srun or salloc runs from its pods",
        "rollout": f"{drain.what}: {nodes} of {counted(drain.before, 'pod')} replaced, {drain.at_once} at once",
        "scale-in": f"{drain.what}: {drain.before} → {drain.after} nodes",
    }[drain.kind]


def deadline_line(drain: Drain, now: int) -> str:
    """What the deadline is and does."""
    if drain.kind == "namespace":
        return "nothing is drained before it"
    if drain.deadline_at is None:
        return "no deadline is known"
    late = f"; {counted(len(drain.late), 'job')} may run on after it" if drain.late else ""
    act = AT_DEADLINE.get(drain.on_deadline, drain.on_deadline)
    return f"deadline {at(drain.deadline_at, now)} if it begins now ({span(drain.deadline_at - now)}){late}; then {act}"


def affected(order: ChangeOrder) -> tuple[Affected, ...]:
    """People whose jobs are waited for, those who wait longest first."""
    by_user: dict[str, list[int | None]] = {}
    for drain in order.drains:
        for job in drain.jobs:
            by_user.setdefault(job.user, []).append(job.ends_by)
    people = [Affected(user, len(ends), latest(ends)) for user, ends in by_user.items()]
    return tuple(sorted(people, key=lambda person: (person.last_end is not None, -(person.last_end or 0), person.user)))


def by_weight(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Changes with those that can hurt first."""
    return tuple(sorted(changes, key=lambda change: SHOWN_OPS.index(change.op)))


def policy_line(order: ChangeOrder) -> str:
    """What policies said, in one sentence."""
    if order.policies is None:
        return (
            "This form of the preview doesn't have it; make the preview with PULUMI_ENABLE_STREAMING_JSON_PREVIEW=1 and"
            " --policy-pack"
        )
    violations = order.policies.violations
    passed = f"{counted(order.policies.passed, 'rule')} passed"
    if not violations and not order.policies.passed:
        return "Unknown: the preview failed" if order.failed else "No policy pack was applied"
    return f"{counted(len(violations), 'objection')}, {passed}" if violations else f"No objection, {passed}"
