"""Who set fields of an object, by the names that the API server keeps in ``metadata.managedFields``. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

HELM_CONTROLLER: Final = "helm-controller"
ARGO: Final = "argocd-"
"""How field managers of Argo CD begin: ``argocd-controller`` applies (``common.ArgoCDSSAManager``). Where nothing gives a
name, as with Replace=true, it is the program's: ``argocd-application-controller``, ``argocd-server`` for edits in its UI."""
KUSTOMIZE: Final = "kustomize-controller"
RESOURCE_SET: Final = "flux-operator"
PULUMI: Final = "pulumi-kubernetes"
"""What follows is random, and differs by object."""
OURS: Final = "slinky-iac"
"""What this program's own requests write under."""
_HELM: Final = re.compile(r"(?:helm(?:[-_.]?v?[0-9][A-Za-z0-9_.+-]*)?|pulumi-resource-kubernetes)(?:\.exe)?")
"""Helm takes the name of the program that it runs in, which is pulumi-kubernetes' own where its ``helm.v3.Release`` deployed
the chart. A program with another name that begins so, as helmwave, is one of its own."""
_BY_HAND: Final = re.compile(r"kubectl(?:[-.].*)?|before-first-apply", re.DOTALL)
"""A person's, with kubectl or a plugin of it, and what was there before the API server kept such names."""
_OWN: Final = frozenset({"slurm-operator", OURS})
_APPLIERS: Final = (HELM_CONTROLLER, ARGO, KUSTOMIZE, RESOURCE_SET, PULUMI)


def is_helm(manager: str) -> bool:
    """Whether a name is one of Helm's own."""
    return _HELM.fullmatch(manager) is not None


def is_by_hand(manager: str) -> bool:
    """Whether a person wrote under a name."""
    return _BY_HAND.fullmatch(manager) is not None


def unknown(managers: Iterable[str]) -> frozenset[str]:
    """Of names those that nothing here knows: whatever they are, they write."""
    return frozenset(
        each for each in managers if not (is_helm(each) or is_by_hand(each) or each in _OWN or each.startswith(_APPLIERS))
    )
