"""Kubernetes' own types of a pod's pieces: what a raw setting may hold, judged before anything is made.

The operator's CRDs keep pods unread, so the API server takes any text there, and the pod lacks it, or is never made. The
fields are ``kubernetes_types.json``, which ``lab/kubernetes_table.py`` reads from the API description of :data:`RELEASE`.
Those of the custom resources themselves are ``crd_types.json``, by line of slurm-operator's releases.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Final

from slinky_iac.config.shown import name_of

RELEASE: Final = "1.35"
"""Of Kubernetes, whose fields these are. An older API server drops the few that it doesn't have."""
_DEEPEST: Final = 40
"""Levels of nesting that are looked at: no piece of a pod has as many."""
_SCALARS: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "scalar": (str, int, float),
}


_NAMES: Final = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "scalar": "a text or a number",
}


@cache
def _read(file: str) -> Any:  # noqa: ANN401 - what JSON holds
    return json.loads(Path(__file__).with_name(file).read_text())


@cache
def _types(line: str = "") -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = _read("kubernetes_types.json")
    return {**found, **of_operator(line)} if line else found


def of_operator(line: str) -> dict[str, dict[str, str]]:
    """Types of the custom resources of one line of releases, as ``1.2``."""
    found: dict[str, dict[str, str]] = _read("crd_types.json")[line]
    return found


def fields(kind: str) -> frozenset[str]:
    """Fields of a type, for instance of ``VolumeSource``."""
    return frozenset(_types()[kind])


def faults(kind: str, value: object, depth: int = 0, line: str = "") -> Iterator[tuple[str, str]]:
    """What Kubernetes doesn't know in ``value``: each with its path below the value (``.name``, ``[0]``) and the reason.
    ``line``: of the operator's releases, where ``kind`` is of its custom resources."""
    if depth > _DEEPEST or kind == "any" or value is None:
        return
    if kind.startswith("["):
        if not isinstance(value, list | tuple):
            yield "", f"is {_shape(value)}, and Kubernetes takes a list here"
            return
        for number, each in enumerate(value):
            yield from ((f"[{number}]{path}", why) for path, why in faults(kind[1:-1], each, depth + 1, line))
    elif kind.startswith("{"):
        if not isinstance(value, Mapping):
            yield "", f"is {_shape(value)}, and Kubernetes takes a mapping here"
            return
        for key, each in value.items():
            yield from ((f".{name_of(str(key))}{path}", why) for path, why in faults(kind[1:-1], each, depth + 1, line))
    elif kind in _SCALARS:
        if not isinstance(value, _SCALARS[kind]) or (isinstance(value, bool) and kind != "boolean"):
            yield "", f"is {_shape(value)}, and Kubernetes takes {_NAMES[kind]}"
    elif not isinstance(value, Mapping):
        yield "", f"is {_shape(value)}, and Kubernetes takes a mapping here ({kind})"
    else:
        yield from _of_fields(kind, value, depth, line)


def _of_fields(kind: str, value: Mapping[object, object], depth: int, line: str) -> Iterator[tuple[str, str]]:
    known = _types(line)[kind]
    owner = "Kubernetes'" if kind in _types() else f"slurm-operator {line}'s"
    for key, each in value.items():
        name = str(key)
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"it has {near[0]}" if near else f"it has {', '.join(sorted(known))}"
            yield f".{name_of(name)}", f"is not a field of {owner} {kind}; {hint}"
        else:
            yield from ((f".{name}{path}", why) for path, why in faults(known[name], each, depth + 1, line))


def _shape(value: object) -> str:
    """What a value is, without the value: texts of pods may be secret."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, Mapping):
        return "a mapping"
    return {str: "a text", int: "a number", float: "a number"}.get(type(value), "a list")
