"""Does the fence in the API server stand as the stack's state has it? What it holds is in :mod:`slinky_iac.specs.fence`.

A fence that somebody has taken away or changed refuses less than the state says, and nothing else would show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from slinky_iac import names
from slinky_iac.cluster.pulumi_state import State
from slinky_iac.errors import KubeNotFound
from slinky_iac.kube.resources import ADMISSION

_TYPE: Final = "kubernetes:admissionregistration.k8s.io/v1:"
_DEFAULTS: Final[Mapping[str, object]] = {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "scope": "*",
}
"""What the API server adds to a spec that doesn't say it (``SetDefaults_*`` of admissionregistration/v1)."""


@dataclass(frozen=True)
class FencePart:
    """One object of the fence, as the state has it."""

    kind: str
    name: str
    spec: Mapping[str, Any]


class Asked(Protocol):
    """Who knows what is in Kubernetes."""

    def admission(self, kind: str, name: str) -> Mapping[str, Any]:
        """The object's spec. :raises KubeNotFound: it isn't there."""


def fence_parts(state: State) -> tuple[FencePart, ...]:
    """The fence in a stack's state; nothing where it has none."""
    found = state.all(*(f"{_TYPE}{kind}" for kind in ADMISSION))
    return tuple(FencePart(each.type.removeprefix(_TYPE), each.object_name, each.spec) for each in found)


def fence_faults(kube: Asked, parts: Sequence[FencePart]) -> tuple[str, ...]:
    """What is missing or changed, one sentence each. Raises what asking raises, but for an object that isn't there."""
    return tuple(fault for part in parts if (fault := _fault(part, _live(kube, part))))


def _live(kube: Asked, part: FencePart) -> Mapping[str, Any] | None:
    try:
        return kube.admission(part.kind, part.name)
    except KubeNotFound:
        return None


def _fault(part: FencePart, live: Mapping[str, Any] | None) -> str:
    again = "`pulumi up --refresh` makes it again as it was"
    open_to = (
        "slurm-operator can delete pods with jobs while it has no client of slurmrestd"
        if names.is_fence_of_pods(part.name)
        else "NodeSets can be deleted or lowered with jobs on them"
    )
    if live is None:
        return f"{part.kind} {part.name} is gone: {open_to}. {again}"
    if _plain(live) != _plain(part.spec):
        return f"{part.kind} {part.name} was changed: perhaps {open_to}. {again}"
    return ""


def _plain(value: object) -> object:
    """Without what the API server adds; numbers are as the state has them, where 1 may be 1.0."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items() if _DEFAULTS.get(key, _DEFAULTS) != each}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
