"""Which Kubernetes nodes a NodeSet in DaemonSet mode asks for: the fields of its pods' template that say so. Pure.

:mod:`slinky_iac.kube.selection` has the rule by which the operator reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

DAEMON: Final = "DaemonSet"
"""``spec.scalingMode`` of a NodeSet with a pod on each Kubernetes node that fits."""
OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
"""Of ``matchExpressions``; ``matchFields`` know the first two."""
TOLERATES: Final = ("", "Equal", "Exists")
"""Operators of a toleration. Kubernetes 1.35 has Gt and Lt behind a feature gate, off by default."""
REQUIRED: Final = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
"""Where in an affinity the terms are that a Kubernetes node must fit."""
FIELDS: Final = ("nodeSelector", "affinity", "tolerations")
"""Fields of a pod template that :class:`Selection` has."""
_NAME_FIELD: Final = "metadata.name"
LABEL: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
"""A value of a label."""
_KEY: Final = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")


@dataclass(frozen=True)
class Selection:
    """The fields of a pod template that say which Kubernetes nodes fit."""

    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: Mapping[str, Any] = field(default_factory=dict)
    tolerations: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> Selection:
        """From a PodSpec's fields; what is absent is empty. Raises ValueError where one has another shape."""
        parts = spec.get("nodeSelector") or {}, spec.get("affinity") or {}, spec.get("tolerations") or ()
        selector, affinity, tolerations = parts
        sound = isinstance(selector, Mapping) and isinstance(affinity, Mapping) and isinstance(tolerations, list | tuple)
        if not sound or not all(isinstance(toleration, Mapping) for toleration in tolerations):
            raise ValueError("nodeSelector and affinity must be mappings, and tolerations a list of mappings")
        return cls(_plain(selector), _plain(affinity), tuple(_plain(toleration) for toleration in tolerations))

    @property
    def fields(self) -> dict[str, Any]:
        """As PodSpec fields, all three."""
        return {
            "nodeSelector": dict(self.node_selector),
            "affinity": dict(self.affinity),
            "tolerations": [dict(toleration) for toleration in self.tolerations],
        }


def _plain(value: Any) -> Any:  # noqa: ANN401 - a JSON value
    """A JSON value whose whole numbers are integers: Pulumi's wire knows none, and Go reads no 300.0 as one."""
    if isinstance(value, Mapping):
        return {str(key): _plain(child) for key, child in value.items() if child is not None}  # the API server keeps no null
    if isinstance(value, list | tuple):
        return [_plain(child) for child in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True)
class Selects:
    """What one run of a gate wants of the selection."""

    wanted: Selection
    began: Selection | None
    """The live one from which it set out; None: the NodeSet wasn't in DaemonSet mode yet. Any third one means that somebody
    else writes it."""
    leaving: frozenset[str] = frozenset()
    """Pods that it took when the run began. Only of these a policy ends jobs: others' Kubernetes nodes changed since."""


def at(value: Any, *path: str) -> Any:  # noqa: ANN401 - a JSON value
    """What is at a path of mappings; None where nothing is."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def listed(value: Any) -> Sequence[Any]:  # noqa: ANN401 - a JSON value
    """A list, and none for what isn't there. What is there and isn't a list has one member, which nothing takes."""
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (None,)


def whole(text: str) -> int | None:
    """The 64-bit number that a text is; None for another text."""
    number = int(text) if len(text) < 21 and _INTEGER.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def fault_of_requirement(wanted: object, *, by_field: bool) -> str:
    """What is wrong with one of ``matchExpressions``, or with ``by_field`` of ``matchFields``; ``""`` where nothing is."""
    if not isinstance(wanted, Mapping) or not isinstance(wanted.get("key"), str):
        return "needs a key"
    operator, values = wanted.get("operator"), wanted.get("values") or ()
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        return "values must be a list of texts"
    if by_field:
        sound = wanted["key"] == _NAME_FIELD and operator in ("In", "NotIn") and len(values) == 1
        return "" if sound else f"allowed is {_NAME_FIELD} with In or NotIn and one value"
    if not _KEY.fullmatch(wanted["key"]):
        return "its key isn't a label's"
    return _fault_of_values(operator, values)


def _fault_of_values(operator: object, values: Sequence[str]) -> str:
    """The same of the values of one of ``matchExpressions``."""
    match operator:
        case "In" | "NotIn":
            return "" if values and all(LABEL.fullmatch(value) for value in values) else f"{operator} needs values of labels"
        case "Exists" | "DoesNotExist":
            return f"{operator} takes no values" if values else ""
        case "Gt" | "Lt":
            sound = len(values) == 1 and whole(values[0]) is not None
            return "" if sound else f"{operator} needs one whole number, as a text"
    return f"operator must be one of {', '.join(OPERATORS)}"


def faults(selection: Selection) -> Iterable[str]:
    """What of a selection the operator would read in another way than it was meant, each with its field."""
    for number, toleration in enumerate(selection.tolerations):
        if (toleration.get("operator") or "") not in TOLERATES:
            yield f"tolerations.{number}.operator: allowed is one of Equal, Exists"
    required = at(selection.affinity, *REQUIRED)
    if required is None:
        return
    where = f"affinity.{'.'.join(REQUIRED)}.nodeSelectorTerms"
    terms = at(required, "nodeSelectorTerms")
    if not isinstance(terms, list | tuple) or not terms:
        yield f"{where}: needs a term, or no Kubernetes node fits"
        return
    for place, term in enumerate(terms):
        groups = [(listed(at(term, key)), key) for key in ("matchExpressions", "matchFields")]
        if not any(group for group, _ in groups):
            yield f"{where}.{place}: an empty term fits no Kubernetes node"
        for requirements, key in groups:
            for number, requirement in enumerate(requirements):
                if fault := fault_of_requirement(requirement, by_field=key == "matchFields"):
                    yield f"{where}.{place}.{key}.{number}: {fault}"
