"""How slurm-operator lays a custom resource's piece of a pod over its own: two ways, by release. Pure.

1.0 lays lists one behind the other and replaces all else (``container.go``, ``pod_template.go``). Later releases drop empty
values of the piece and merge it as Kubernetes' strategic merge patch does (``structutils/kube.go``,
``k8s.io/apimachinery/pkg/util/strategicpatch``): a list that the operator has none of is taken as it is, entries of one
merge key twice included; of another one entries are merged by that key, and the piece's come first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Spec = dict[str, Any]
_KEYS: Final = {
    "containers": "name",
    "env": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ports": "containerPort",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
"""Lists that a strategic merge patch merges, by which field of their entries (``patchMergeKey``, ``core/v1/types.go``)."""
_LISTS: Final = frozenset(_KEYS) - {"hostAliases"} | {"args", "command", "readinessGates", "resizePolicy", "tolerations"}
"""Lists that 1.0 lays one behind the other."""


def strategic(base: Spec, patch: Mapping[str, Any]) -> Spec:
    """The operator's own piece under one of a custom resource, 1.1 and newer."""
    piece = _merged(base, _without_empty(patch))
    if "args" in base and "args" in piece and patch.get("args"):  # BuildContainer
        piece["args"] = [*base["args"], *patch["args"]]
    return piece


def replaced(base: Spec, patch: Mapping[str, Any]) -> Spec:
    """The same in 1.0, whose pointers tell false and 0 from nothing."""
    piece = dict(base)
    for field, value in patch.items():
        if value is None or (isinstance(value, str | list) and not value):
            continue
        if field in _LISTS:
            piece[field] = [*piece.get(field, []), *value]
        elif field == "nodeSelector":
            piece[field] = {**piece.get(field, {}), **value}
        else:
            piece[field] = value
    return piece


def _merged(base: Mapping[str, Any], patch: Mapping[str, Any]) -> Spec:
    piece = dict(base)
    for field, value in patch.items():
        held = piece.get(field)
        if isinstance(value, Mapping) and isinstance(held, Mapping):
            piece[field] = _merged(held, value)
        elif isinstance(value, list) and isinstance(held, list) and field in _KEYS:
            piece[field] = _listed(held, value, _KEYS[field])
        elif value is not None:
            piece[field] = value
    return piece


def _listed(base: list[Any], patch: list[Any], key: str) -> list[Any]:
    """``mergeSlice``: the patch in its order, and what the base alone has before the first entry that it has behind it."""
    of_base = {member.get(key): dict(member) for member in base}
    merged = dict(of_base)
    for member in patch:  # fields of an entry that say nothing aren't in Go's JSON (omitempty)
        merged[member.get(key)] = _merged(merged.get(member.get(key), {}), {k: v for k, v in member.items() if v or v == {}})
    places = {name: number for number, name in enumerate(of_base)}
    given = list(dict.fromkeys(member.get(key) for member in patch))
    alone = [name for name in of_base if name not in given]
    members: list[Any] = []
    while given or alone:
        is_before = bool(alone) and (not given or (given[0] in places and places[alone[0]] < places[given[0]]))
        members.append(merged[(alone if is_before else given).pop(0)])
    return members


def _without_empty(patch: Mapping[str, Any]) -> Spec:
    """``removeEmpty``: not in lists, whose entries stay as they are."""
    piece: Spec = {}
    for field, value in patch.items():
        kept = _without_empty(value) if isinstance(value, Mapping) else value
        if kept:
            piece[field] = kept
    return piece
