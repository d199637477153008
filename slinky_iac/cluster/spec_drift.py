"""Are the objects that guard something in Kubernetes as the stack has made them?

A policy that somebody has taken away or changed refuses less than the state says, and nothing else would show it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from slinky_iac.errors import KubeNotFound

_DEFAULTS: Final[Mapping[str, object]] = {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "scope": "*",
}
"""What the API server adds to a spec that doesn't say it (``SetDefaults_*`` of admissionregistration/v1)."""


@dataclass(frozen=True)
class Desired:
    """One object, as the stack makes it."""

    kind: str
    name: str
    spec: Mapping[str, Any]


class Asked(Protocol):
    """Who knows what is in Kubernetes."""

    def admission(self, kind: str, name: str) -> Mapping[str, Any]:
        """The object's spec. :raises KubeNotFound: it isn't there."""


def faults(kube: Asked, objects: Sequence[Desired], open_to: Callable[[str], str]) -> tuple[str, ...]:
    """What is missing or changed, one sentence each. Raises what asking raises, but for an object that isn't there.

    ``open_to``: what can happen then, by the object's name.
    """
    return tuple(fault for desired in objects if (fault := _fault(desired, _live(kube, desired), open_to(desired.name))))


def _live(kube: Asked, one: Desired) -> Mapping[str, Any] | None:
    try:
        return kube.admission(one.kind, one.name)
    except KubeNotFound:
        return None


def _fault(one: Desired, live: Mapping[str, Any] | None, open_to: str) -> str:
    again = "`pulumi up --refresh` makes it again as it was"
    if live is None:
        return f"{one.kind} {one.name} is gone: {open_to}. {again}"
    if _plain(live) != _plain(one.spec):
        return f"{one.kind} {one.name} was changed: perhaps {open_to}. {again}"
    return ""


def _plain(value: object) -> object:
    """Without what the API server adds; numbers are as the state has them, where 1 may be 1.0."""
    if isinstance(value, Mapping):
        return {key: _plain(child) for key, child in value.items() if _DEFAULTS.get(key, _DEFAULTS) != child}
    if isinstance(value, list | tuple):
        return [_plain(child) for child in value]
    return value
