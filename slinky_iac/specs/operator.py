"""Chart references and Helm values of slurm-operator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from slinky_iac.config.stack import ClusterConfig
from slinky_iac.specs.shared import SLINKY_REGISTRY, Spec

CRDS: Final = "slurm-operator-crds"
"""The chart of the CRDs."""
CHARTS = f"oci://{SLINKY_REGISTRY}/charts"


def chart(config: ClusterConfig, name: str) -> tuple[str, str | None]:
    """Reference and version of a chart: ``slurm-operator`` or ``slurm-operator-crds``. A local folder has no version, and
    begins with a dot: Helm takes NAME/CHART for a repository of the machine where there is no such folder."""
    source = config.operator.chart
    if source.path is not None:
        folder = PurePosixPath(source.path) / name
        return str(folder) if folder.is_absolute() else f"./{folder}", None
    digest = source.crds_digest if name == CRDS else source.digest
    return by_digest(f"{source.oci or CHARTS}/{name}", digest), config.operator.version


def by_digest(reference: str, digest: str | None) -> str:
    """An OCI reference of these bytes and no others, where a digest is given. Where the registry has a tag of the version,
    Helm compares it too (Helm 3.18, pkg/registry/client.go, ValidateReference)."""
    return reference if digest is None else f"{reference}@{digest}"


def operator_values(config: ClusterConfig) -> Spec:
    """Helm values: the CRDs come from their own chart, the webhook only where it is asked for."""
    webhook = config.operator.webhook
    ours: Spec = {
        "crds": {"enabled": False},
        "webhook": {"enabled": webhook.enabled},
        "certManager": {"enabled": webhook.enabled and webhook.cert_manager},
    }
    return merge(ours, config.operator.values)


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> Spec:
    """``over`` laid over ``base``: mappings are merged, all else is replaced."""
    merged: Spec = dict(base)
    for key, value in over.items():
        known = merged.get(key)
        both = isinstance(known, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(known, value) if both else value  # type: ignore[arg-type]
    return merged


def service_monitor_stub() -> Spec:
    """A CRD that lets operators up to 1.0.4 and 1.1.0 reconcile where Prometheus' own operator is absent.

    Every reconcile of a Controller asks for its ServiceMonitor and fails where the kind doesn't exist.
    """
    group, plural = "monitoring.coreos.com", "servicemonitors"
    anything: Spec = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "metadata": {"name": f"{plural}.{group}", "labels": {"app.kubernetes.io/managed-by": "slinky-iac"}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "plural": plural,
                "singular": "servicemonitor",
                "kind": "ServiceMonitor",
                "listKind": "ServiceMonitorList",
            },
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}],
        },
    }
