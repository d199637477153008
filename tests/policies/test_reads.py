"""Whatever a rule reads: where that can't be known, the rule says so, or refuses; it never passes in silence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from slurm_rules.catalogue import RULES
from slurm_rules.model import UNKNOWN, Resource, Stack
from slurm_rules.rule import Rule
from slurm_rules.values import check_of

from tests.policies.in_memory import in_memory, one
from tests.policies.pack import BAD, bad_stack, changed_by, plain_stack, site_of
from tests.policies.test_unknowns import CLOSED, Path_, paths, replaced

DECIDES_NOTHING = {
    ("cluster-complete", "data"),  # an immutable Secret is right, whatever is in it
    ("cluster-complete", "stringData"),
    ("no-secrets-in-clear", "data"),  # of a Secret: that is its place
    ("no-secrets-in-clear", "stringData"),
    ("no-secrets-in-outputs", "data"),  # what isn't made yet can only be in an output that isn't known either
    ("no-secrets-in-outputs", "stringData"),
}
"""Rule and property that the rule reads only to know whether another one matters."""


_NAMES_ONLY = "(names)"


BY_ITS_GENERATOR = ("keys-differ", "key-source", "keys-not-in-clear")
"""Rules that judge a key which is yet to be made by what makes it."""


@dataclass(frozen=True, eq=False)
class Recorded(Resource):
    """A resource that notes what is read of it."""

    reads: list[Path_] = field(default_factory=list)

    def peek(self, *path: str | int) -> Any:
        self.reads.append(path)
        return super().peek(*path)

    def names(self, *path: str | int) -> tuple[str, ...]:
        """Only which names there are, not what stands under them."""
        found = super().names(*path)
        self.reads[-1] = (*path, _NAMES_ONLY)
        return found

    def count(self, *path: str | int) -> int:
        found = super().count(*path)
        self.reads[-1] = (*path, _NAMES_ONLY)
        return found

    @property
    def label(self) -> str:  # type: ignore[override]  # a name in a message decides nothing
        return f"{self.kind} {self.name}"


def recorded(stack: Stack) -> Stack:
    names = Resource.__dataclass_fields__
    return Stack(tuple(Recorded(**{name: getattr(each, name) for name in names}) for each in stack.resources))


def places_read(rule: Rule, stack: Stack, options: Any) -> set[tuple[int, Path_]]:
    """Every place at, above or below what the rule read."""
    seen = recorded(stack)
    one(rule, seen, options)
    found = set()
    for index, resource in enumerate(seen.resources):
        assert isinstance(resource, Recorded)
        reads = set(resource.reads)
        for path in paths(resource.props):
            if any(path[: len(read)] == read or read[: len(path)] == path for read in reads):
                found.add((index, path))
    return found


def is_free(resource: Resource, path: Path_) -> bool:
    """Whether cluster-as-made has no opinion of a value, or takes it for a name, by which it knows the cluster's own."""
    kind = f"{resource.group}/{resource.base_kind}" if resource.type.startswith("kubernetes:") else f"slurm:{resource.kind}"
    words = tuple("[]" if isinstance(part, int) else part for part in path)
    parts = [words[:size] for size in range(1, len(words) + 1)] + ([(*words, "")] if len(words) == 1 else [])
    return any(check_of(kind, part) in ("free", "sealed") for part in parts)


def silent(rule: Rule, stack: Stack, options: Any = None, only: set[str] | None = None) -> list[tuple[str, Path_]]:
    """Places that the rule reads and whose unknown value it passes over; ``only`` in these resources."""
    found = []
    made = [each.urn for each in stack.resources if each.type.startswith("random:")]
    for index, path in sorted(places_read(rule, stack, options), key=str):
        if rule.name == CLOSED and is_free(stack.resources[index], path):
            continue
        if (rule.name, path[0]) in DECIDES_NOTHING or (only is not None and stack.resources[index].name not in only):
            continue
        if made and rule.name in BY_ITS_GENERATOR and path[0] == "stringData":
            continue
        verdict = one(rule, replaced(stack, index, path, UNKNOWN, (made or ["urn:another"])[0]), options)
        if not verdict.violations and not verdict.not_judged:
            found.append((stack.resources[index].name, path))
    return found


@pytest.mark.parametrize("name", ["inside", "outside"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_an_unknown_value_that_a_rule_reads_shows_in_its_verdict(rule: Rule, name: str) -> None:
    assert silent(rule, in_memory(plain_stack(name))) == []


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_the_same_holds_in_every_bad_stack(file: Any) -> None:
    rule = next(rule for rule in RULES if rule.name == file.stem.split(".")[0])
    only = changed_by(file) if rule.name == CLOSED else None
    assert silent(rule, in_memory(bad_stack(file)), site_of(file).get(rule.name), only) == []


def test_every_rule_reads_something_of_some_stack() -> None:
    stacks = [(in_memory(bad_stack(file)), site_of(file)) for file in BAD]
    unread = [r.name for r in RULES if not any(places_read(r, stack, site.get(r.name)) for stack, site in stacks)]
    assert unread == []
