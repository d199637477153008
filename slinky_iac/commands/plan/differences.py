"""Which inputs differ, by path. Values are shown only where they can't be secret: numbers, flags, images, versions.

A preview blinds secrets as ``[secret]``; what a program forgot to mark as one must not reach a pull request either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

SHOWN_WORDS: Final = frozenset({"image", "tag", "repository", "version", "chart", "operatorVersion", "imagePullPolicy"})
"""Last parts of paths whose texts are shown."""
_PASSED_OVER: Final = frozenset({"__provider", "plan", "urn"})
"""Inputs that are no setting: the pickled provider, and what the gates compute (shown as drains)."""


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Paths of what differs, e.g. ``spec.replicas: 3 → 1`` or ``spec.template.spec.affinity``; sorted."""
    keys = (old.keys() | new.keys()) - _PASSED_OVER
    return tuple(line for key in sorted(keys) for line in _walk(key, old.get(key), new.get(key)))


def _walk(path: str, old: object, new: object) -> Iterator[str]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys(), key=str):
            yield from _walk(f"{path}.{key}", old.get(key), new.get(key))
    elif _may_show(path, old) and _may_show(path, new):
        yield f"{path}: {_shown(old)} → {_shown(new)}"
    else:
        yield path


def _may_show(path: str, value: object) -> bool:
    if value is None or isinstance(value, bool | int | float):
        return True
    return isinstance(value, str) and path.rpartition(".")[2] in SHOWN_WORDS and len(value) <= 200


def _shown(value: object) -> str:
    if value is None:
        return "not set"
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)
