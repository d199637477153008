"""Does the API server serve what the fence is made of? Kubernetes does from 1.30 on.

Asked in every preview of a stack with a fence: where it doesn't, Pulumi only says that it knows no such kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slinky_iac.config.findings import Finding, warning
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeError

if TYPE_CHECKING:
    from slinky_iac.cluster.connection import KubeConnection

BUDGET_S: Final = 2.0
"""Longest wait for the answer: a preview is looked at by somebody who waits."""
SUBJECT: Final = "cluster.fence"
UNSERVED: Final = (
    "this API server doesn't serve ValidatingAdmissionPolicy (admissionregistration.k8s.io/v1): it is older than 1.30"
)
CHANGE: Final = "Update Kubernetes, or set the fence off: then kubectl and others can delete NodeSets with jobs on them"


def unserved(config: StackConfig, way: KubeConnection) -> tuple[Finding, ...]:
    """A warning where the API server says that it has no such API; nothing where it couldn't be asked."""
    if not config.cluster.fence:
        return ()
    try:
        with way.kube(BUDGET_S) as kube:
            there = kube.serves_admission_policies()
    except KubeError:
        return ()
    return () if there else (warning(SUBJECT, f"{UNSERVED}. {CHANGE} (`fence: false`)", id="fence-not-served"),)
