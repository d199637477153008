"""Judging a plain stack with one thing changed, or with one value that can't be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slurm_rules.model import Stack
from slurm_rules.rule import Rule, Verdict

from tests.policies.in_memory import in_memory, one
from tests.policies.pack import plain_stack

Change = Mapping[str, Any]


def judged(rule: Rule, change: Change | None = None, options: Change | None = None, base: str = "inside") -> Verdict:
    return one(rule, in_memory(plain_stack(base, change)), options)


def spec(name: str, **fields: Any) -> Change:
    """A change of fields of a resource's spec."""
    return {"resources": {name: {"properties": {"spec": fields}}}}


def messages(verdict: Verdict) -> str:
    return "\n".join(message for _, message in verdict.violations)


def with_hidden(name: str, path: tuple[str, ...], hidden: object, base: str = "inside") -> Stack:
    """A plain stack in which one value can't be read."""
    stack = plain_stack(base)
    target = stack["resources"][name]["properties"]
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = None
    made = in_memory(stack)
    changed: Any = next(resource for resource in made.resources if resource.name == name).props
    for part in path[:-1]:
        changed = changed[part]
    changed[path[-1]] = hidden
    return made
