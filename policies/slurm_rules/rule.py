"""What a rule is: a function from one resource and its stack to messages, with a docstring that is its manual.

The docstring is the single source of what people read about the rule: its first line is the summary; then come paragraphs
that begin with ``Why:``, ``Source:``, ``Do:`` and ``Level:`` (mandatory or advisory, and the reason for it).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from slurm_rules.model import HiddenValueError, Resource, Stack

Level = Literal["mandatory", "advisory"]
Scope = Literal["resource", "stack"]
Options = Mapping[str, Any]
Check = Callable[[Resource, Stack, Options], Iterator[str]]
Chooser = Callable[[Resource], bool]

_PARTS = ("Why", "Source", "Do", "Level")


@dataclass(frozen=True)
class Option:
    """A bound that a site can set: its default and its JSON schema."""

    default: Any
    schema: Mapping[str, Any]

    @property
    def full_schema(self) -> dict[str, Any]:
        """The schema with the default in it, as the engine reads it."""
        return {**self.schema, "default": self.default}


def number(default: float, description: str, minimum: float = 0) -> Option:
    """An option that is a number from ``minimum`` up."""
    return Option(default, {"type": "number", "minimum": minimum, "description": description})


def flag(description: str, *, default: bool) -> Option:
    """An option that is true or false."""
    return Option(default, {"type": "boolean", "description": description})


def word(default: str, description: str, *allowed: str) -> Option:
    """An option that is one of a few words, or any text where none is given."""
    return Option(default, {"type": "string", "description": description} | ({"enum": list(allowed)} if allowed else {}))


def words(default: tuple[str, ...], description: str, *allowed: str) -> Option:
    """An option that is a list of words."""
    items: dict[str, Any] = {"type": "string"} | ({"enum": list(allowed)} if allowed else {})
    return Option(list(default), {"type": "array", "items": items, "description": description})


@dataclass(frozen=True)
class Verdict:
    """What a rule found: ``violations`` as URN and message, and for what it couldn't judge the reason."""

    violations: tuple[tuple[str, str], ...] = ()
    not_judged: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """A rule with its manual.

    ``scope`` resource: it sees one resource's inputs before that resource is touched. stack: it sees the whole stack's
    outputs and dependencies, at the end of a preview.
    """

    name: str
    summary: str
    why: str
    source: str
    todo: str
    level: Level
    level_reason: str
    scope: Scope
    subjects: Chooser
    check: Check
    module: str
    options: Mapping[str, Option] = field(default_factory=dict)

    @property
    def defaults(self) -> dict[str, Any]:
        """Default of each option."""
        return {name: option.default for name, option in self.options.items()}

    def judge(self, stack: Stack, options: Options | None = None) -> Verdict:
        """Judge every subject in ``stack``; a value that can't be read now spoils the verdict on its subject only.

        :raises ValueError: ``options`` has a setting that the rule doesn't know: a slip of the pen must not loosen it.
        """
        given = options or {}
        if unknown := sorted(set(given) - set(self.options)):
            raise ValueError(
                f"{self.name} has no setting {', '.join(unknown)} (it has {', '.join(self.options) or 'none'}), so a bound"
                " of the site would not hold; nothing was judged. Correct the site's file"
            )
        chosen = {**self.defaults, **given}
        violations: list[tuple[str, str]] = []
        not_judged: list[str] = []
        for subject in stack.resources:
            try:
                if self.subjects(subject):
                    for message in self.check(subject, stack, chosen):
                        violations.append((subject.urn, message))
            except HiddenValueError as missing:
                not_judged.append(str(missing))
            except Exception as error:  # an unforeseen shape must not pass, nor stop the other rules
                shape = f"{subject.label} has a shape that {self.name} doesn't understand ({type(error).__name__})"
                violations.append((subject.urn, f"{shape}; correct it, or report the rule's fault"))
        return Verdict(tuple(violations), tuple(dict.fromkeys(not_judged)))


def rule(
    name: str,
    subjects: Chooser,
    *,
    scope: Scope = "stack",
    options: Mapping[str, Option] | None = None,
) -> Callable[[Check], Rule]:
    """Make a :class:`Rule` of a check function. Raises ValueError where its docstring lacks a part."""

    def make(check: Check) -> Rule:
        summary, parts = _manual(name, inspect.getdoc(check) or "")
        level, _, reason = parts["Level"].partition(",")
        if level not in ("mandatory", "advisory"):
            raise ValueError(f"rule {name}: Level is {level!r}; it is mandatory or advisory, then a comma and the reason")
        return Rule(
            name=name,
            summary=summary,
            why=parts["Why"],
            source=parts["Source"],
            todo=parts["Do"],
            level="mandatory" if level == "mandatory" else "advisory",
            level_reason=reason.strip().rstrip("."),
            scope=scope,
            subjects=subjects,
            check=check,
            module=check.__module__.rpartition(".")[2],
            options=options or {},
        )

    return make


def _manual(name: str, text: str) -> tuple[str, dict[str, str]]:
    summary, *paragraphs = [re.sub(r"\s+", " ", paragraph) for paragraph in text.split("\n\n")]
    parts = dict(paragraph.split(": ", 1) for paragraph in paragraphs if ": " in paragraph)
    if missing := [part for part in _PARTS if part not in parts]:
        raise ValueError(f"rule {name}: its docstring lacks the paragraphs {', '.join(missing)}")
    return summary, parts


def slinky(*kinds: str) -> Chooser:
    """Subjects: custom resources of slurm-operator of these kinds."""
    return lambda resource: resource.is_slinky and resource.kind in kinds
