"""Which Kubernetes cluster a configuration means: for commands and previews, the same that the resources go to."""

from __future__ import annotations

from pathlib import Path

from slinky_iac.config.stack import StackConfig
from slinky_iac.kube.kubeconfig import KubeSource


def kube_source(config: StackConfig) -> KubeSource:
    """The kubeconfig and context that are set; the user's own where none is."""
    named = config.kubernetes.kubeconfig
    return KubeSource(path=Path(named) if named else None, context=config.kubernetes.context)
