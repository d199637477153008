"""Asks Kubernetes for a Helm release and its custom resources. Reads only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from slinky_iac.commands.adopt.model import Live, Release, release_of
from slinky_iac.config.adopted import KINDS
from slinky_iac.errors import KubeNotFound, ProjectError
from slinky_iac.field_managers import PULUMI
from slinky_iac.kube import marks
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.objects import Listed, PartlyListed, Wire, WrittenMeta
from slinky_iac.kube.requests import place
from slinky_iac.kube.scalers import all_scalers, writing
from slinky_iac.ownership import HELM_RECORD, LET_GO

ENTRY: Final = "release"
DEPLOYED: Final = "deployed"


class _Object(Wire, frozen=True):
    metadata: marks.ClaimedMeta
    spec: dict[str, Any] = {}


class _Record(Wire, frozen=True):
    metadata: WrittenMeta


def release(kube: KubeClient, space: str, name: str, values: Mapping[str, Any] | None = None) -> Release:
    """The release, also one that Helm has let go. ``values``: those of one that Helm has no record of. Its version is empty.

    Raises :class:`ProjectError` where there is no record and no ``values``, or both, and where Helm is in the middle of
    changing it.
    """
    held = records_of(kube, space, HELM_RECORD, name)
    records = held or records_of(kube, space, LET_GO, name)
    if not records and values is None:
        raise ProjectError(
            f"Helm has no record of release {name} in namespace {space}. Nothing was written. `helm list -A` shows all."
            " Argo CD leaves none: give the values that it renders the chart with, `--values FILE`"
        )
    if not records:
        return Release(name=name, namespace=space, version="", values=values or {})
    if values is not None:
        raise ProjectError(
            f"Helm has a record of release {name} in namespace {space}, which has its values. Nothing was changed. Make"
            " the file without --values"
        )
    newest = records[-1]
    status = newest.labels.get("status", "unknown")
    if status != DEPLOYED:
        raise ProjectError(
            f"release {name} in namespace {space} is {status}, not {DEPLOYED}: Helm is changing it, or was cut off in that."
            f" Nothing was written. See `helm history -n {space} {name}`, and run this again once it is {DEPLOYED}"
        )
    data = kube.secret_data(space, newest.name)
    known = frozenset[str]() if held else frozenset({PULUMI.key})
    return replace(release_of(data.get(ENTRY, b""), name, space), record=newest.name, stopped=known)


def records_of(kube: KubeClient, space: str, owner: Mapping[str, str], name: str) -> list[WrittenMeta]:
    """Helm's records of a release by the label of their owner, the newest last: never what they hold."""
    selector = ",".join(f"{key}={value}" for key, value in {**owner, "name": name}.items())
    params, headers = {"labelSelector": selector}, {"accept": marks.METADATA_OF_ALL}
    records = kube.listed(place("Secret", space), PartlyListed[_Record], f"Secrets of {space}", params, headers)
    return sorted((record.metadata for record in records), key=_revision)


def _revision(record: WrittenMeta) -> int:
    number = record.labels.get("version", "")
    return int(number) if number.isascii() and number.isdecimal() else 0


def living(kube: KubeClient, space: str) -> tuple[Live, ...]:
    """All custom resources of slurm-operator in a namespace, by kind and name; NodeSets with their autoscalers.

    Raises :class:`slinky_iac.errors.KubeError`, also where autoscalers can't be seen, which isn't the same as none.
    """
    resources = tuple(resource for kind in KINDS for resource in _of_kind(kube, space, kind))
    scalers = all_scalers(kube, space)
    return tuple(
        replace(resource, writers=writing(scalers, resource.name)) if resource.kind == "NodeSet" else resource
        for resource in resources
    )


def _of_kind(kube: KubeClient, space: str, kind: str) -> list[Live]:
    try:
        resources = kube.listed(place(kind, space), Listed[_Object], f"{kind}s of {space}")
    except KubeNotFound:
        return []
    return [
        Live(
            kind=kind,
            name=resource.metadata.name,
            uid=resource.metadata.uid,
            spec=resource.spec,
            labels=resource.metadata.labels,
            annotations=resource.metadata.annotations,
            managers=frozenset(claim.manager for claim in resource.metadata.managed_fields),
            setters=resource.metadata.of_spec,
            numbers=resource.metadata.of_number,
        )
        for resource in sorted(resources, key=lambda manifest: manifest.metadata.name)
    ]
