"""Reading single facts out of the resources that `pulumi stack export` lists. Pure; no secret is decrypted for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from slinky_iac import names

Resources = Sequence[Mapping[str, Any]]
SLINKY: Final = f"kubernetes:{names.API_VERSION}:"
SECRET: Final = "kubernetes:core/v1:Secret"
CONFIG_MAP: Final = "kubernetes:core/v1:ConfigMap"
STACK: Final = "pulumi:pulumi:Stack"


def inputs(resources: Resources, kind: str) -> Iterable[Mapping[str, Any]]:
    """Inputs of all resources of a type."""
    return [each.get("inputs") or {} for each in resources if each.get("type") == kind]


def spec(resources: Resources, kind: str) -> Mapping[str, Any]:
    """Spec of the operator's first custom resource of a kind; empty where there is none."""
    return _part(resources, kind, "spec")


def metadata(resources: Resources, kind: str) -> Mapping[str, Any]:
    """Metadata of the operator's first custom resource of a kind; empty where there is none."""
    return _part(resources, kind, "metadata")


def _part(resources: Resources, kind: str, part: str) -> Mapping[str, Any]:
    found = next(iter(inputs(resources, f"{SLINKY}{kind}")), {}).get(part)
    return found if isinstance(found, dict) else {}


def name_of(resource: Mapping[str, Any]) -> str:
    """The name of a Kubernetes object in Kubernetes; empty where there is none."""
    return str(meta_of(resource).get("name") or "")


def meta_of(resource: Mapping[str, Any]) -> Mapping[str, Any]:
    """``metadata`` of a Kubernetes object."""
    found = (resource.get("inputs") or {}).get("metadata")
    return found if isinstance(found, dict) else {}


def seconds(text: object) -> int | None:
    """Seconds since 1970 of an RFC 3339 text, fractions of any length cut off; None for anything else."""
    if not isinstance(text, str):
        return None
    head, dot, tail = text.partition(".")
    zone = tail.lstrip("0123456789") if dot else ""
    try:
        moment = datetime.fromisoformat(f"{head}{zone}")
    except ValueError:
        return None
    return int(moment.timestamp()) if moment.tzinfo is not None else None
