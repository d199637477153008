"""A living Helm release, as it was read: frozen values, from which :mod:`.compare` decides. Pure."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac.errors import ProjectError

LARGEST: Final = 64 << 20
"""Bytes of an unpacked record: a Secret holds 1 MiB, and text packs ten times."""
CHART: Final = "slurm"
LABEL_CHART: Final = "helm.sh/chart"


@dataclass(frozen=True, kw_only=True)
class Live:
    """A custom resource of slurm-operator in the release's namespace."""

    kind: str
    name: str
    uid: str = ""
    spec: Mapping[str, Any] = field(repr=False)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    managers: frozenset[str] = frozenset()
    """Field managers: clients that have set something of it."""
    setters: frozenset[str] = frozenset()
    """Of these the ones that have set something of its spec."""
    numbers: frozenset[str] = frozenset()
    """Of these the ones that have set nothing but the number."""
    writers: tuple[str, ...] = ()
    """What else writes a NodeSet's replicas, ``kind/name`` (:mod:`slinky_iac.kube.scalers`)."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """The newest record of a Helm release. Values may hold secrets, so they are in no message, nor in ``repr``."""

    name: str
    namespace: str
    version: str
    """Of the chart, which is also the operator's."""
    record: str | None = None
    """Name of its Secret. None where Helm has none: Argo CD renders a chart, and applies what comes out."""
    stopped: frozenset[str] = frozenset()
    """Writers (keys of :data:`slinky_iac.field_managers.APPLIERS`) that write its objects no longer. A Pulumi program
    is the stack itself where Helm has let the release go: that needs that none writes, and no stack updates before."""
    values: Mapping[str, Any] = field(repr=False)
    """What the user gave, without the chart's defaults."""


def release_of(packed: bytes, name: str, namespace: str) -> Release:
    """The release in entry ``release`` of a Secret ``sh.helm.release.v1.NAME.vREVISION``: JSON, gzip, base64.

    Raises :class:`ProjectError` where it is something else, and where the chart isn't Slinky's. Source: Helm 3,
    ``pkg/storage/driver/util.go`` and ``pkg/release/release.go``.
    """
    where = f"Helm's record of release {name} in namespace {namespace}"
    try:
        record = json.loads(_unpacked(packed))
        chart = record["chart"]["metadata"]
        called, version, values = str(chart["name"]), str(chart["version"]), record.get("config") or {}
    except (binascii.Error, zlib.error, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ProjectError(f"{where} can't be read: it isn't what Helm 3 writes. Nothing was written") from None
    if not isinstance(values, dict):
        raise ProjectError(f"{where} can't be read: its values aren't what Helm 3 writes. Nothing was written")
    if called != CHART:
        raise ProjectError(f"{where} is of another chart than {CHART}. Nothing was written. See `helm list -n {namespace}`")
    return Release(name=name, namespace=namespace, version=version.removeprefix("v"), values=values)


def chart_version(living: Sequence[Live], name: str) -> str:
    """The chart's release by the label ``helm.sh/chart`` of the Controller ``name``, which `helm template` renders too.

    Raises :class:`ProjectError` where there is none.
    """
    labels = next((resource.labels for resource in living if (resource.kind, resource.name) == ("Controller", name)), {})
    chart, _, version = labels.get(LABEL_CHART, "").partition("-")
    if chart != CHART or not version:
        raise ProjectError(
            f"Controller {name} isn't in Kubernetes, or has no label {LABEL_CHART} that begins with {CHART}-. Nothing was"
            " written. See `kubectl get controllers -A --show-labels`, and give --release and --namespace as they were given"
            " to the chart"
        )
    return version.removeprefix("v")


def _unpacked(packed: bytes) -> bytes:
    """Raises ValueError for what isn't base64 of gzip, and for more than :data:`LARGEST`."""
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    text = unpacker.decompress(base64.b64decode(packed, validate=True), LARGEST)
    if unpacker.unconsumed_tail:
        raise ValueError(f"over {LARGEST} bytes")
    return text
