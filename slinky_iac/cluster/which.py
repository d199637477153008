"""Which Kubernetes cluster a kubeconfig leads to, by the UID of its namespace kube-system: each has one, and it stays."""

from __future__ import annotations

import os
from functools import cache
from typing import Final

from slinky_iac.cluster.kube_connection import KubeConnection, kube_source
from slinky_iac.cluster.reach import Reach
from slinky_iac.errors import SlinkyError, StateError

NAMESPACE: Final = "kube-system"
BUDGET_S: Final = 3.0
"""Longest wait for the answer: a preview is looked at by somebody who waits."""


def answering(kubeconfig: str | None, context: str | None) -> str:
    """The UID of the cluster that a kubeconfig leads to, asked for once a process; ``""`` where none answers, or it doesn't
    say."""
    return _asked(kubeconfig or None, context or None, os.environ.get("KUBECONFIG", ""))


@cache
def _asked(kubeconfig: str | None, context: str | None, _shells: str) -> str:
    try:
        with KubeConnection(kube_source(kubeconfig, context)) as way:
            from slinky_iac.kube import marks  # noqa: PLC0415 - only gates need it, and it takes long to import

            return marks.namespace(way.kube(BUDGET_S), NAMESPACE).uid
    except SlinkyError:
        return ""


def require_recorded(recorded: str, reach: Reach, whose: str) -> None:
    """Raises StateError where another cluster answers than the one that a state has (``recorded``; empty: it has none)."""
    live = answering(reach.kubeconfig, reach.context) if recorded else ""
    if live not in {"", recorded}:
        raise StateError(
            f"{whose}: another Kubernetes cluster answers than the one that this stack lives in: its namespace {NAMESPACE}"
            f" has the UID {live}, and the state has {recorded}. Nothing was changed, and the state keeps all resources. Set"
            " $KUBECONFIG (or kubernetes.kubeconfig and kubernetes.context) to the stack's own cluster, then run the same"
            " command again. If that cluster is gone for good, `pulumi stack rm --force` forgets the stack"
        )
