"""No value that a preview can't know makes any rule lie, wherever in a stack it stands; no shape passes unread."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from slurm_rules.catalogue import RULES
from slurm_rules.model import REDACTED, UNKNOWN, Hidden, Resource, Stack

from tests.policies.in_memory import in_memory, one, speaking
from tests.policies.pack import BAD, bad_stack, changed_by, plain_stack, site_of

Path_ = tuple[str | int, ...]
CLOSED = "cluster-as-made"


def paths(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Every place in a value, containers included."""
    inside = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield (*path, key)
        yield from paths(part, (*path, key))


def replaced(stack: Stack, index: int, path: Path_, new: object, flow: str = "urn:another") -> Stack:
    """The stack with one value of one resource replaced; an unknown one comes from ``flow``."""
    old = stack.resources[index]
    props: Any = copy.deepcopy(dict(old.props))
    target = props
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = new
    new_fields: dict[str, Any] = {"props": props}
    if new is UNKNOWN:  # then something flows into it, and the engine says so
        flows = old.property_dependencies.get(str(path[0]), frozenset())
        new_fields["property_dependencies"] = {**old.property_dependencies, str(path[0]): flows | {flow}}
    changed = Resource(**{name: getattr(old, name) for name in Resource.__dataclass_fields__} | new_fields)
    return Stack((*stack.resources[:index], changed, *stack.resources[index + 1 :]))


def places(stack: Stack) -> list[tuple[int, Path_]]:
    return [(index, path) for index, resource in enumerate(stack.resources) for path in paths(resource.props)]


@pytest.mark.parametrize("hidden", [UNKNOWN, REDACTED], ids=["unknown", "redacted"])
@pytest.mark.parametrize("name", ["inside", "outside"])
def test_no_hidden_value_makes_a_sound_stack_a_bad_one(name: str, hidden: Hidden) -> None:
    stack = in_memory(plain_stack(name))
    lies = {(index, path): said for index, path in places(stack) if (said := speaking(replaced(stack, index, path, hidden)))}
    assert lies == {}


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_a_bad_stack_is_found_or_not_judged_but_never_passed(file: Path) -> None:
    """Hide each value that the bad stack changed or that its rule reads: the rule still speaks, or says that it can't."""
    stack = in_memory(bad_stack(file))
    rule = next(rule for rule in RULES if rule.name == file.stem.split(".")[0])
    site = site_of(file).get(rule.name)
    for index, path in places(stack):
        if rule.name == CLOSED and stack.resources[index].name not in changed_by(file):
            continue  # every resource is judged alone: what isn't changed is what the sound stack has
        verdict = one(rule, replaced(stack, index, path, UNKNOWN), site)
        assert verdict.violations or verdict.not_judged, (stack.resources[index].name, path)


@pytest.mark.parametrize("shape", [None, True, -1.0, "text", [], {}, [None], {"a": [1.0]}], ids=repr)
def test_no_shape_stops_the_pack(shape: object) -> None:
    """A rule that meets a shape it doesn't know reports it; an exception would stop all other rules with it."""
    stack = in_memory(plain_stack("inside"))
    for index, path in places(stack):
        speaking(replaced(stack, index, path, shape))
