"""Fields that an API server of :data:`.types.RELEASE` drops without a word unless a feature gate is on. Pure.

Source: ``pkg/features/kube_features.go``; a real API server drops each (tests/integration/test_kubernetes_rules.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from slinky_iac.config.kubernetes import types as kubernetes_types

GATES: Final[Mapping[tuple[str, str], str]] = {
    ("Lifecycle", "stopSignal"): "ContainerStopSignals",
    ("PodSpec", "workloadRef"): "GenericWorkload",
    ("VolumeProjection", "clusterTrustBundle"): "ClusterTrustBundleProjection",
    ("VolumeProjection", "podCertificate"): "PodCertificateRequest",
}
"""By type and field. A projected volume is then an empty folder."""


def dropped(kind: str, value: object) -> Iterator[tuple[str, str]]:
    """Fields of a piece that are dropped, each with its path below the piece and the gate."""
    if kind.startswith("["):
        for child in value if isinstance(value, list | tuple) else ():
            yield from dropped(kind[1:-1], child)
    elif isinstance(value, Mapping) and (types := kubernetes_types.fields_of(kind)):
        for name, child in value.items():
            if (gate := GATES.get((kind, str(name)))) and child:
                yield f".{name}", gate
            yield from ((f".{name}{path}", feature_gate) for path, feature_gate in dropped(types.get(str(name), ""), child))
