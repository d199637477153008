"""Does the API server serve what the fence is made of? Kubernetes does from 1.30 on.

Asked in every preview of a stack with a fence: where it doesn't, Pulumi only says that it knows no such kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from slinky_iac.config.findings import Finding, warning
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeError
from slinky_iac.preflight.check import Check, fine, problem, unknown
from slinky_iac.preflight.facts import Facts

if TYPE_CHECKING:
    from slinky_iac.cluster.connection import KubeConnection

BUDGET_S: Final = 2.0
"""Longest wait for the answer: a preview is looked at by somebody who waits."""
_SUBJECT: Final = "cluster.fence"
_GOT: Final = (
    "this API server doesn't serve ValidatingAdmissionPolicy (admissionregistration.k8s.io/v1): it is older than 1.30"
)
_CHANGE: Final = "Update Kubernetes, or set the fence off: then kubectl and others can delete NodeSets with jobs on them"


def served(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """The API server can have the fence that the stack asks for."""
    if not config.cluster.fence or facts.kube.trouble:
        return
    if facts.kube.admission_policies is None:
        got = "not known: the API server doesn't tell which APIs it serves"
        yield unknown(
            "fence", _SUBJECT, "Kubernetes", got, "It needs Kubernetes 1.30 or newer; this shows it", "kubectl version"
        )
    elif facts.kube.admission_policies:
        yield fine("fence", _SUBJECT, "Kubernetes", "the API server serves ValidatingAdmissionPolicy")
    else:
        at = "in Pulumi.<stack>.yaml, under slinky-iac:cluster"
        yield problem("fence", _SUBJECT, "Kubernetes", _GOT, _CHANGE, "fence: false", at=at)


def unserved(config: StackConfig, way: KubeConnection) -> tuple[Finding, ...]:
    """A warning where the API server says that it has no such API; nothing where it couldn't be asked."""
    if not config.cluster.fence:
        return ()
    try:
        with way.kube(BUDGET_S) as kube:
            there = kube.serves_admission_policies()
    except KubeError:
        return ()
    return () if there else (warning(_SUBJECT, f"{_GOT}. {_CHANGE} (`fence: false`)", id="fence-not-served"),)


CHECKS = (served,)
