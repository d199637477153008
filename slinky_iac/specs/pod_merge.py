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
    found = _merged(base, _without_empty(patch))
    if "args" in base and "args" in found and patch.get("args"):  # BuildContainer
        found["args"] = [*base["args"], *patch["args"]]
    return found


def replaced(base: Spec, patch: Mapping[str, Any]) -> Spec:
    """The same in 1.0, whose pointers tell false and 0 from nothing."""
    found = dict(base)
    for field, value in patch.items():
        if value is None or (isinstance(value, str | list) and not value):
            continue
        if field in _LISTS:
            found[field] = [*found.get(field, []), *value]
        elif field == "nodeSelector":
            found[field] = {**found.get(field, {}), **value}
        else:
            found[field] = value
    return found


def _merged(base: Mapping[str, Any], patch: Mapping[str, Any]) -> Spec:
    found = dict(base)
    for field, value in patch.items():
        held = found.get(field)
        if isinstance(value, Mapping) and isinstance(held, Mapping):
            found[field] = _merged(held, value)
        elif isinstance(value, list) and isinstance(held, list) and field in _KEYS:
            found[field] = _listed(held, value, _KEYS[field])
        elif value is not None:
            found[field] = value
    return found


def _listed(base: list[Any], patch: list[Any], key: str) -> list[Any]:
    """``mergeSlice``: the patch in its order, and what the base alone has before the first entry that it has behind it."""
    of_base = {each.get(key): dict(each) for each in base}
    merged = dict(of_base)
    for each in patch:  # fields of an entry that say nothing aren't in Go's JSON (omitempty)
        merged[each.get(key)] = _merged(merged.get(each.get(key), {}), {k: v for k, v in each.items() if v or v == {}})
    places = {name: number for number, name in enumerate(of_base)}
    given = list(dict.fromkeys(each.get(key) for each in patch))
    alone = [name for name in of_base if name not in given]
    found: list[Any] = []
    while given or alone:
        is_before = bool(alone) and (not given or (given[0] in places and places[alone[0]] < places[given[0]]))
        found.append(merged[(alone if is_before else given).pop(0)])
    return found


def _without_empty(patch: Mapping[str, Any]) -> Spec:
    """``removeEmpty``: not in lists, whose entries stay as they are."""
    found: Spec = {}
    for field, value in patch.items():
        kept = _without_empty(value) if isinstance(value, Mapping) else value
        if kept:
            found[field] = kept
    return found
