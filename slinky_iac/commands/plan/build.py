"""A preview's JSON becomes a :class:`ChangeOrder`. Pure: the time is given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from slinky_iac.commands.plan import wire
from slinky_iac.commands.plan.changes import changes, op_of
from slinky_iac.commands.plan.drains import drains, gives_back
from slinky_iac.commands.plan.gate_inputs import GatePlan, Removals
from slinky_iac.commands.plan.model import ChangeOrder, Message
from slinky_iac.errors import PreviewError

QUIET = ("debug", "")
"""Severities that no reviewer reads."""


def change_order(text: str, *, now: int, removals: Mapping[str, GatePlan] | None = None) -> ChangeOrder:
    """Read a preview. ``now``: seconds since the epoch, for previews that don't say when they were taken; ``removals``:
    plans of removals by NodeSet (see :func:`read_removals`).

    Raises :class:`PreviewError` where ``text`` is no whole preview.
    """
    try:
        return _order(wire.read(text), now, removals or {})
    except RecursionError:
        raise PreviewError("the preview is nested deeper than any preview is: nothing was judged") from None


def _order(seen: wire.Preview, now: int, removals: Mapping[str, GatePlan]) -> ChangeOrder:
    taken_at = seen.taken_at or now
    project, stack = _whose(seen.steps)
    return ChangeOrder(
        project=project,
        stack=stack,
        taken_at=taken_at,
        changes=changes(seen.steps),
        unchanged=sum(op_of(step) is None for step in seen.steps),
        drains=drains(seen.steps, removals, taken_at),
        policies=seen.policies,
        messages=_without_repeats(seen.messages),
        gives_back=gives_back(seen.steps),
        failed=seen.failed,
    )


def read_removals(text: str) -> dict[str, GatePlan]:
    """Plans by NodeSet, from the output of `slinky drain plan --json`."""
    try:
        found = Removals.of(json.loads(text)).plans
    except (ValueError, RecursionError):
        found = (GatePlan(),)
    if not all(plan.nodeset for plan in found):
        raise PreviewError("the plans of removals are no output of `slinky drain plan --json`; nothing was judged")
    return {plan.nodeset: plan for plan in found}


def _whose(steps: Sequence[wire.Step]) -> tuple[str, str]:
    if not steps:
        return "", ""
    stack, project = steps[0].urn.removeprefix("urn:pulumi:").split("::")[:2]
    return project, stack


def _without_repeats(messages: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(dict.fromkeys(each for each in messages if each.severity not in QUIET and each.text))
