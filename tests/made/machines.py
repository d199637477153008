"""Kubernetes nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from slinky_iac.kube.machines import Machine, MachineMeta
from slinky_iac.kube.objects import ManagedFields
from slinky_iac.kube.selection import Machine as Fitting
from tests.made.wire import read


def machine(name: str, labels: Mapping[str, str] | None = None, *owners: str, **claims: str) -> Machine:
    """A Kubernetes node. ``owners``: managers that claim all its labels; ``claims``: the one that each other claims."""
    claimed: dict[str, Iterable[str]] = dict.fromkeys(owners, labels or {}) | {who: (key,) for who, key in claims.items()}
    fields = tuple(
        ManagedFields(manager=who, fields_v1={"f:metadata": {"f:labels": {f"f:{key}": {} for key in keys}}})
        for who, keys in claimed.items()
    )
    return Machine(MachineMeta(name=name, uid=f"uid-{name}", labels=dict(labels or {}), managed_fields=fields))


def worker_machine(
    name: str,
    labels: Mapping[str, str] | None = None,
    *taints: tuple[str, str],
    annotations: Mapping[str, str] | None = None,
) -> Fitting:
    """A Kubernetes node as DaemonSet mode sees it. ``taints``: key (``key=value``) and effect of each."""
    meta = {"name": name, "uid": f"uid-{name}", "labels": dict(labels or {}), "annotations": dict(annotations or {})}
    listed = [{"key": key.partition("=")[0], "value": key.partition("=")[2], "effect": effect} for key, effect in taints]
    return read(Fitting, {"metadata": meta, "spec": {"taints": listed} if listed else {}})
