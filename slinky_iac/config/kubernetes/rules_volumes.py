"""Kubernetes' rules of volumes, mounts and claims; source and use as in :mod:`.rules`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from slinky_iac.config.kubernetes import names
from slinky_iac.config.kubernetes.pieces import Faults, Piece, listed, mapped, one_of_these
from slinky_iac.config.shown import name_of

_FILES: Final = ("configMap", "secret", "downwardAPI")


def mount(value: Piece) -> Faults:
    """``ValidateVolumeMounts``."""
    if value.get("subPath") and value.get("subPathExpr"):
        yield ".subPathExpr", "must be left out where subPath is set"
    if value.get("recursiveReadOnly") in {"Enabled", "IfPossible"}:
        if not value.get("readOnly"):
            yield ".recursiveReadOnly", "is taken with readOnly: true only"
        if value.get("mountPropagation") not in (None, "", "None"):
            yield ".recursiveReadOnly", "is taken without mountPropagation only"


def volume(value: Piece) -> Faults:
    """``validateVolumeSource``. One without a source becomes an emptyDir (``SetDefaults_Volume``)."""
    sources = sorted(str(field) for field, source in value.items() if field != "name" and source is not None)
    if len(sources) > 1:
        yield "", f"has {', '.join(map(name_of, sources))}; Kubernetes takes one source of a volume"


def empty_dir(value: Piece) -> Faults:
    """Of another medium kubelet says "unknown storage medium" (``pkg/volume/emptydir``), and the pod never starts."""
    medium = str(value.get("medium") or "")
    if medium not in {"", "Memory", "HugePages"} and not medium.startswith("HugePages-"):
        yield ".medium", one_of_these(medium, ("Memory", "HugePages", "HugePages-SIZE"))
    if str(value.get("sizeLimit") or "").startswith("-"):
        yield ".sizeLimit", "is below 0"


def nfs(value: Piece) -> Faults:
    """kubelet runs ``mount SERVER:PATH`` (``pkg/volume/nfs``), and the pod waits for it in ContainerCreating."""
    server = str(value.get("server") or "")
    if "/" in server or server.endswith(":"):
        yield ".server", f"is {name_of(server)}, and must be a host name or an address; the folder goes in path"


def projected(value: Piece) -> Faults:
    """``validateProjectionSources``: places of files that are named."""
    seen = set[str]()
    for number, source in enumerate(listed(value, "sources")):
        for field in _FILES:
            for item in listed(mapped(source, field), "items"):
                path = str(item.get("path") or "")
                if path in seen:
                    yield f".sources[{number}].{field}", f"has {name_of(path)}, which another source has, too"
                seen |= {path} - {""}


def file_of_pod(value: Piece) -> Faults:
    """``validateDownwardAPIVolumeFile``."""
    if isinstance(value.get("resourceFieldRef"), Mapping) and not value["resourceFieldRef"].get("containerName"):
        yield ".resourceFieldRef", "has no containerName, which Kubernetes requires in a volume"


def csi(value: Piece) -> Faults:
    """``validateCSIVolumeSource``."""
    if isinstance(value.get("nodePublishSecretRef"), Mapping) and not value["nodePublishSecretRef"].get("name"):
        yield ".nodePublishSecretRef", "has no name, which Kubernetes requires"


def iscsi(value: Piece) -> Faults:
    """``validateISCSIVolumeSource``."""
    if not str(value.get("iqn") or "iqn.").startswith(("iqn.", "eui.", "naa.")):
        yield ".iqn", "must begin with iqn., eui. or naa."


def ephemeral(value: Piece) -> Faults:
    """``ValidatePersistentVolumeClaimTemplate``."""
    for field in sorted(set(mapped(value, "volumeClaimTemplate", "metadata")) - {"labels", "annotations"}):
        yield f".volumeClaimTemplate.metadata.{name_of(str(field))}", "can't be set: the pod's name makes it"


def claim(value: Piece) -> Faults:
    """``ValidatePersistentVolumeClaimSpec``. A dataSource of core that isn't a claim is dropped without a word
    (``NormalizeDataSources``), and the disk comes up empty."""
    modes = value.get("accessModes") or []
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        yield ".accessModes", "has others beside ReadWriteOncePod; Kubernetes takes it alone"
    for field in ("dataSource", "dataSourceRef"):
        source = mapped(value, field)
        if source.get("kind") not in (None, "", "PersistentVolumeClaim") and not source.get("apiGroup"):
            yield f".{field}.apiGroup", "is missing, and Kubernetes' own group has nothing but PersistentVolumeClaim to copy"


def path_of(allowed: names.Syntax, value: Piece) -> Faults:
    """``validateObjectFieldSelector``."""
    field = mapped(value, "fieldRef")
    path, version = field.get("fieldPath"), field.get("apiVersion")
    if isinstance(path, str) and path and not allowed.takes(path):
        yield ".fieldRef.fieldPath", f"is {name_of(path)}, and Kubernetes takes {allowed.form}"
    if version not in (None, "", "v1"):
        yield ".fieldRef.apiVersion", one_of_these(version, ("v1",))
