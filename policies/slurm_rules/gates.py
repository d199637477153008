"""Bounds of what gates and rolling updates take from a NodeSet at once, and how long they wait for its jobs."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from pickletools import genops
from typing import Any

from slurm_rules.cluster import NODESET_SCALE, OUTSIDE_HOSTS, gates_of, most_nodes
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, flag, number, rule, slinky, words


@rule(
    "drain-within-bounds",
    lambda resource: resource.type in (NODESET_SCALE, OUTSIDE_HOSTS),
    scope="resource",
    options={
        "minDeadlineSeconds": number(60, "Shortest wait for jobs, in seconds."),
        "maxDeadlineSeconds": number(7 * 86400, "Longest wait for jobs, in seconds."),
        "onDeadline": words(("keep", "undo"), "What may happen at the deadline.", "keep", "undo", "requeue", "cancel"),
        "minGraceSeconds": number(30, "Shortest time between signal and cancel, in seconds."),
        "maxShare": number(1, "Largest share of a NodeSet that one update may give up, above 0 to 1."),
        "requireLimits": flag("Whether maxShare and maxJobs or maxJobAge must be set.", default=False),
    },
)
def drain_within_bounds(gate: Resource, _: Stack, options: Options) -> Iterator[str]:
    """Deadline, what happens at it, and limits of every gate are within the site's bounds.

    Why: a deadline too short turns each scale-in into a failed update, or with requeue and cancel into lost work; one too
    long holds the stack's lock for days. Limits say how much of a NodeSet one reviewer may give away.

    Source: this project's drain settings (docs/stack.schema.json, Drain); scontrol(1) requeue; scancel(1).

    Do: change drain.deadline, drain.onDeadline or drain.limits, or have the site's bounds changed by who owns them.

    Level: mandatory, since requeue and cancel end jobs.
    """
    low, high = options["minDeadlineSeconds"], options["maxDeadlineSeconds"]
    deadline = gate.number("policy", "deadline_s")
    if deadline is not None and not low <= deadline <= high:
        yield f"{gate.name}: drain.deadline is {deadline:g} s; this site allows {low:g} to {high:g}"
    action = gate.text("policy", "on_deadline")
    if action and action not in options["onDeadline"]:
        yield f"{gate.name}: drain.onDeadline is {action}; this site allows {', '.join(options['onDeadline'])}"
    grace = gate.number("policy", "grace_s")
    if action == "cancel" and grace is not None and grace < options["minGraceSeconds"]:
        yield f"{gate.name}: drain.grace is {grace:g} s before jobs are cancelled; at least {options['minGraceSeconds']:g}"
    share = gate.number("policy", "limits", "max_share")
    if share is not None and share > options["maxShare"]:
        yield f"{gate.name}: drain.limits.maxShare is {share:g}; this site allows {options['maxShare']:g}"
    jobs = [gate.number("policy", "limits", name) for name in ("max_jobs", "max_job_age_s")]
    if options["requireLimits"] and (share is None or jobs == [None, None]):
        yield f"{gate.name}: drain.limits needs maxShare, and maxJobs or maxJobAge, at this site"


@rule(
    "update-strategy-bounds",
    slinky("NodeSet"),
    options={"maxUnavailablePercent": number(50, "Largest share of a NodeSet that may be away at once, in percent.", 1)},
)
def update_strategy_bounds(nodeset: Resource, stack: Stack, options: Options) -> Iterator[str]:
    """A rolling update takes no more than the site's share of a NodeSet away at once.

    Why: the operator drains that share together, so with 100% a new image drains the whole partition and no job starts until
    the longest one has ended.

    Source: slurm-operator docs/usage/nodeset-operations.md (updateStrategy); api/v1beta1/nodeset_types.go (25% by default).

    Do: lower updateStrategy.maxUnavailable, or use OnDelete and update by hand.

    Level: advisory, since no job is lost.
    """
    value = next((g.get("maxUnavailable") for g in gates_of(nodeset, stack)[:1] if g.text("updates") == "Gated"), None)
    value = nodeset.get("spec", "updateStrategy", "rollingUpdate", "maxUnavailable") if value is None else value
    bound, replicas = options["maxUnavailablePercent"], most_nodes(nodeset, stack)
    share: float | None = None
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdigit():
        share = float(value[:-1])
    elif isinstance(value, int | float) and value > 1 and replicas:
        share = 100 * value / replicas
    if share is not None and share > bound:
        shown = value if isinstance(value, str) else f"{value:g} of {replicas:g}"
        yield f"{nodeset.label}: maxUnavailable is {shown}; this site allows {bound:g}% of a NodeSet"


_FRAMES = ("PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT")
_SHAPE = ["SHORT_BINUNICODE", "SHORT_BINUNICODE", "STACK_GLOBAL", "EMPTY_TUPLE", "NEWOBJ", "STOP"]


def pickled(text: str) -> str | None:
    """A gate's code: the class whose instance without attributes this pickle is, read by its opcodes."""
    steps: list[tuple[str, Any]] = []
    with suppress(ValueError, IndexError, OverflowError):
        steps = [(op.name, arg) for op, arg, _ in genops(b64decode(text, validate=True))]
    kept = [step for step in steps if step[0] not in _FRAMES]
    return f"{kept[0][1]}.{kept[1][1]}" if [name for name, _ in kept] == _SHAPE else None
