"""Places in plain data, as JSON and YAML give it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def value_at(value: object, path: Iterable[object]) -> Any:  # noqa: ANN401 - any JSON
    """What stands below these keys of nested mappings; None where nothing does."""
    level: Any = value
    for part in path:
        level = level.get(part) if isinstance(level, Mapping) else None
    return level


def mapping(value: object) -> Mapping[str, Any]:
    """The mapping that it is; an empty one in the place of anything else."""
    return value if isinstance(value, Mapping) else {}


def without(value: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The same without what is at a path, and without a mapping that has nothing else."""
    first, *below = path
    others = {key: child for key, child in value.items() if key != first}
    inner = value.get(first)
    if not below or not isinstance(inner, Mapping):
        return others if not below else dict(value)
    left = without(inner, below)
    return {**value, first: left} if left else others


def replaced(value: Mapping[str, Any], path: Sequence[str], new: object) -> dict[str, Any]:
    """The same with another value at a path."""
    first, *below = path
    return {**value, first: replaced(mapping(value.get(first)), below, new) if below else new}
