"""What Kubernetes takes in a pod's pieces, judged before anything is made: names and types of fields, required ones, closed
lists of values, and :mod:`.rules` for what its OpenAPI doesn't say.

The operator's CRDs keep pods unread, so the API server takes any text there, and the pod lacks it, or is never made. Fields
and values are ``types.json``, which ``lab/kubernetes_table.py`` reads from the API description of
:data:`RELEASE`. Those of the custom resources themselves are ``crd_types.json``, by line of slurm-operator's releases.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from slinky_iac.config.kubernetes import rules as kubernetes_rules
from slinky_iac.config.kubernetes.names import is_quantity
from slinky_iac.config.kubernetes.pieces import one_of_these
from slinky_iac.config.shown import name_of, word_of
from slinky_iac.text import closest

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
    "quantity": (str, int, float),
    "intOrString": (str, int),
}
_NAMES: Final = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "scalar": "a text or a number",
    "quantity": "a quantity",
    "intOrString": "a text or a whole number",
}
_EMPTY: Final = {("HTTPHeader", "value"), ("ISCSIVolumeSource", "lun"), ("SleepAction", "seconds"), ("Sysctl", "value")}
"""Called required, and taken where they are missing: an empty text or 0."""


@cache
def _read(file: str) -> Any:  # noqa: ANN401 - what JSON holds
    return json.loads(Path(__file__).with_name(file).read_text())


@cache
def _types(line: str = "") -> dict[str, dict[str, str]]:
    types: dict[str, dict[str, str]] = _read("types.json")["types"]
    return {**types, **of_operator(line)} if line else types


def of_operator(line: str) -> dict[str, dict[str, str]]:
    """Types of the custom resources of one line of releases, as ``1.2``."""
    types: dict[str, dict[str, str]] = _read("crd_types.json")[line]
    return types


def fields_of(kind: str) -> Mapping[str, str]:
    """Fields of a type of Kubernetes', each with its own type; none of a value that has no fields."""
    return _types().get(kind, {})


def is_word(name: str) -> bool:
    """Whether a name is a field of any type of Kubernetes' or of slurm-operator's custom resources, and so no secret."""
    return any(name in fields for line in _read("crd_types.json") for fields in _types(line).values())


def fields(kind: str) -> frozenset[str]:
    """Fields of a type, for instance of ``VolumeSource``."""
    return frozenset(_types()[kind])


def faults(kind: str, value: object, depth: int = 0, line: str = "", *, whole: bool = False) -> Iterator[tuple[str, str]]:
    """What Kubernetes doesn't take in ``value``: each with its path below the value (``.name``, ``[0]``) and the reason.
    ``line``: of the operator's releases, where ``kind`` is of its custom resources. ``whole``: nothing is added to the value
    elsewhere, so it must have what Kubernetes requires; its parts always must, but those of the custom resources."""
    if depth > _DEEPEST or kind == "any" or value is None:
        return
    if kind.startswith("["):
        if not isinstance(value, list | tuple):
            yield "", f"is {_shape(value)}, and Kubernetes takes a list here"
            return
        for number, child in enumerate(value):
            problems = faults(kind[1:-1], child, depth + 1, line, whole=True)  # nothing is laid into an entry
            yield from ((f"[{number}]{path}", why) for path, why in problems)
    elif kind.startswith("{"):
        if not isinstance(value, Mapping):
            yield "", f"is {_shape(value)}, and Kubernetes takes a mapping here"
            return
        for key, child in value.items():
            problems = faults(kind[1:-1], child, depth + 1, line, whole=whole)
            yield from ((f".{name_of(str(key))}{path}", why) for path, why in problems)
    elif kind in _SCALARS:
        yield from _of_scalar(kind, value)
    elif not isinstance(value, Mapping):
        yield "", f"is {_shape(value)}, and Kubernetes takes a mapping here ({kind})"
    else:
        yield from _of_fields(kind, value, depth, line, whole=whole)


def _of_scalar(kind: str, value: object) -> Iterator[tuple[str, str]]:
    if not isinstance(value, _SCALARS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        yield "", f"is {_shape(value)}, and Kubernetes takes {_NAMES[kind]}"
    elif kind == "quantity" and not is_quantity(value):
        yield "", f"is {name_of(str(value))}, and Kubernetes takes a number with a unit, for example 500m or 16Gi"


def _of_fields(
    kind: str, value: Mapping[object, object], depth: int, line: str, *, whole: bool
) -> Iterator[tuple[str, str]]:
    known = _types(line)[kind]
    kubernetes = kind in _types()
    owner = "Kubernetes'" if kubernetes else f"slurm-operator {line}'s"
    sound: dict[str, object] = {}
    for key, child in value.items():
        name = str(key)
        if name not in known:
            near = closest(name, known)
            hint = f"it has {near}" if near else f"it has {', '.join(sorted(known))}"
            yield f".{word_of(name, known)}", f"is not a field of {owner} {kind}; {hint}"
            continue
        problems = [*faults(known[name], child, depth + 1, line, whole=kubernetes)]
        yield from ((f".{name}{path}", why) for path, why in problems)
        if _has_shape(known[name], child):
            sound[name] = child
    if kubernetes or kind in kubernetes_rules.OWN:
        yield from _of_values(kind, sound, frozenset(map(str, value)), whole=whole)


def _has_shape(kind: str, value: object) -> bool:
    """Whether a value has the outer shape of its type, whatever is in it."""
    if kind in _SCALARS:
        return value is not None and not any(True for _ in _of_scalar(kind, value))
    return isinstance(value, list | tuple) if kind.startswith("[") else kind == "any" or isinstance(value, Mapping)


def _of_values(kind: str, value: Mapping[str, object], given: frozenset[str], *, whole: bool) -> Iterator[tuple[str, str]]:
    """What follows for fields of the right types; the others of ``given`` are named already."""
    table = _read("types.json")
    required: list[str] = table["required"].get(kind, []) if whole else []
    for name in required:
        if (name not in given or value.get(name, 0) in (None, "")) and (kind, name) not in _EMPTY:
            yield "", f"has no {name}, which Kubernetes requires"
    enums = table["enums"].get(kind, {}) | kubernetes_rules.WORDS.get(kind, {})
    for name, words in enums.items():
        several = value.get(name)
        for word in several if isinstance(several, list | tuple) else [several]:
            if word not in (None, "", *words):
                yield f".{name}", one_of_these(word, words)
    yield from kubernetes_rules.faults(kind, value, whole=whole)


def _shape(value: object) -> str:
    """What a value is, without the value: texts of pods may be secret."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, Mapping):
        return "a mapping"
    return {str: "a text", int: "a number", float: "a number"}.get(type(value), "a list")
