"""Places in plain data, as JSON and YAML give it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def value_at(value: object, path: Iterable[object]) -> Any:  # noqa: ANN401 - any JSON
    """What stands below these keys of nested mappings; None where nothing does."""
    found: Any = value
    for part in path:
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
