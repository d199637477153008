"""The kinds of Prometheus' operator: CRDs of its Go module, checked by its checksum."""

from pathlib import Path
from typing import Final

from lab import go

MODULE: Final = "github.com/prometheus-operator/prometheus-operator"
VERSION: Final = "0.82.2"
CHECKSUM: Final = "h1:qalPLM8wkvCtu9aHcoSKGDpCZR3aWRMKeHev5WomTBQ="
FILE: Final = "example/prometheus-operator-crd/monitoring.coreos.com_{}.yaml"


def folder() -> Path:
    """The module; downloaded if it is not in CACHE."""
    return go.module(MODULE, VERSION, CHECKSUM, go=go.ensure())


def crd(plural: str) -> Path:
    """The CRD of a kind, as ``servicemonitors``."""
    return folder() / FILE.format(plural)
