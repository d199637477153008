"""Sentences that every rendering shares: headline, verdict, marks. Texts of the cluster in them are not escaped yet."""

from __future__ import annotations

from dataclasses import dataclass

from slinky_iac.change_order.limits import Exit, Verdict
from slinky_iac.change_order.model import Change, ChangeOrder, Drain
from slinky_iac.change_order.times import at, span, until

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
SHOWN_OPS = ("delete", "replace", "update", "create", "import", "refresh", "read", "other")
"""What can hurt comes first."""
ON_DEADLINE = {
    "keep": "the update fails, nodes stay drained, no job is touched",
    "undo": "the update fails, nodes are given back, no job is touched",
    "requeue": "jobs that allow it are requeued and lose what they have done",
    "cancel": "jobs are signalled, then cancelled",
}
KINDS = {"scale-in": "scale-in", "removal": "removal", "hosts": "maintenance"}


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
        refused = order.policies is not None and any(each.level == "mandatory" for each in order.policies.violations)
        return "Policies refuse this update" if refused else "The preview failed"
    nodes = sum(_given_up(each) for each in order.drains)
    if not order.drains:
        return "No node drains" if order.changes else "Nothing changes"
    jobs = sum(each.jobs_total for each in order.drains)
    asked = f"{_count(nodes, 'node')} {'drains' if nodes == 1 else 'drain'}"
    if not all(each.known for each in order.drains):
        return f"{asked}; whose jobs are on them is not fully known"
    return (
        f"{asked}, {_count(jobs, 'job')} {'is' if jobs == 1 else 'are'} waited for"
        if jobs
        else f"{asked}, no job is waited for"
    )


def _given_up(drain: Drain) -> int:
    return max(len(drain.nodes), drain.before - drain.after)


def last_free(order: ChangeOrder) -> str:
    """When all nodes are free."""
    if not order.drains:
        return "nothing to wait for"
    if not all(each.known for each in order.drains):
        return "unknown"
    if any(node.free_at is None for each in order.drains for node in each.nodes):
        return "unknown: a job has no time limit"
    return until(max((n.free_at or 0 for each in order.drains for n in each.nodes), default=0), order.taken_at)


def counts(order: ChangeOrder) -> str:
    """``2 to create, 1 to delete, 14 unchanged``."""
    words = {
        "create": "to create",
        "update": "to update",
        "replace": "to replace",
        "delete": "to delete",
        "import": "to import",
    }
    found = [
        f"{order.count(op)} {words[op]}" for op in ("delete", "replace", "update", "create", "import") if order.count(op)
    ]
    return ", ".join([*found, f"{order.unchanged} unchanged"])


def size(order: ChangeOrder) -> str:
    """``5 change, 17 stay``."""
    return f"{len(order.changes)} change, {order.unchanged} stay"


def verdict_line(verdict: Verdict) -> str:
    """The gate's word."""
    return {
        Exit.OK: "Within the limits",
        Exit.FAULT: "Nothing to approve",
        Exit.EXCEEDED: "More than the limits allow",
        Exit.UNKNOWN: "Not known well enough",
        Exit.USAGE: "",
    }[verdict.code]


def drain_title(drain: Drain) -> str:
    """``gpu: 3 → 1 nodes``."""
    if drain.kind == "hosts":
        return f"{drain.what}: {_count(len(drain.nodes), 'host')} to hold"
    if drain.kind == "removal":
        return f"{drain.what}: removed with {_count(max(drain.before, len(drain.nodes)), 'node')}"
    return f"{drain.what}: {drain.before} → {drain.after} nodes"


def deadline_line(drain: Drain, now: int) -> str:
    """What the deadline is and does."""
    if drain.deadline_at is None:
        return "no deadline is known"
    late = f"; {_count(len(drain.late), 'job')} may run on after it" if drain.late else ""
    act = ON_DEADLINE.get(drain.on_deadline, drain.on_deadline)
    return f"deadline {at(drain.deadline_at, now)} if it begins now ({span(drain.deadline_at - now)}){late}; then {act}"


def affected(order: ChangeOrder) -> tuple[Affected, ...]:
    """People whose jobs are waited for, those who wait longest first."""
    found: dict[str, list[int | None]] = {}
    for drain in order.drains:
        for job in drain.jobs:
            found.setdefault(job.user, []).append(job.ends_by)
    people = [Affected(user, len(ends), None if None in ends else max(e or 0 for e in ends)) for user, ends in found.items()]
    return tuple(sorted(people, key=lambda each: (each.last_end is not None, -(each.last_end or 0), each.user)))


def by_weight(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Changes with those that can hurt first."""
    return tuple(sorted(changes, key=lambda each: SHOWN_OPS.index(each.op)))


def policy_line(order: ChangeOrder) -> str:
    """What policies said, in one sentence."""
    if order.policies is None:
        return "Not in this form of the preview: take it with PULUMI_ENABLE_STREAMING_JSON_PREVIEW=1 and --policy-pack"
    found = order.policies.violations
    passed = f"{_count(order.policies.passed, 'rule')} passed"
    if not found and not order.policies.passed:
        return "No policy pack was applied"
    return f"{_count(len(found), 'objection')}, {passed}" if found else f"No objection, {passed}"


def unlisted(drain: Drain) -> int:
    """Jobs that the plan counts and doesn't list."""
    return drain.jobs_total - len(drain.jobs)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
