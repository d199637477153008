"""Who set fields of an object, by the names that the API server keeps in ``metadata.managedFields``; of known programs all
that this one says of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Applier:
    """A program that writes what it has rendered. Its marks and claims on fields stay when it has stopped, so a person says
    that it has."""

    key: str
    """What ``adopt --stopped`` calls it."""
    name: str
    manager: str
    """How the names of its field managers begin."""
    mark: str
    """How a label or annotation of it begins; empty where it writes none."""
    ends: str
    """When it writes no longer."""
    stop: str
    """What to do, so that it doesn't; empty for one whose claims stop no stack."""


ARGO: Final = Applier(
    "argo",
    "Argo CD",
    "argocd-",
    "argocd.argoproj.io/",
    "its Application is deleted without its objects",
    "Delete its Application without the objects",
)
"""``argocd-controller`` applies (``common.ArgoCDSSAManager``). Where nothing gives a name, as with Replace=true, it is the
program's: ``argocd-application-controller``, ``argocd-server`` for edits in its UI."""
_IN_GIT: Final = ("it is suspended in Git", "Suspend it in Git")
HELM_CONTROLLER: Final = Applier("flux", "Flux (HelmRelease)", "helm-controller", "helm.toolkit.fluxcd.io/", *_IN_GIT)
PULUMI: Final = Applier(
    "pulumi", "another Pulumi program", "pulumi-kubernetes", "", "it was a stack of this cluster, and is gone", ""
)
"""What follows of its field managers is random, and differs by object. Those of this stack begin so too."""
APPLIERS: Final = (
    ARGO,
    Applier("flux", "Flux (Kustomization)", "kustomize-controller", "kustomize.toolkit.fluxcd.io/", *_IN_GIT),
    Applier("flux", "Flux (ResourceSet)", "flux-operator", "resourceset.fluxcd.controlplane.io/", *_IN_GIT),
    HELM_CONTROLLER,
    PULUMI,
)
OURS: Final = "slinky-iac"
"""What this program's own requests write under."""
_HELM: Final = re.compile(r"(?:helm(?:[-_.]?v?[0-9][A-Za-z0-9_.+-]*)?|pulumi-resource-kubernetes)(?:\.exe)?")
"""Helm takes the name of the program that it runs in, which is pulumi-kubernetes' own where its ``helm.v3.Release`` deployed
the chart. A program with another name that begins so, as helmwave, is one of its own."""
_BY_HAND: Final = re.compile(r"kubectl(?:[-.].*)?|before-first-apply", re.DOTALL)
"""A person's, with kubectl or a plugin of it, and what was there before the API server kept such names."""
_OWN: Final = frozenset({"slurm-operator", OURS})


def is_helm(manager: str) -> bool:
    """Whether a name is one of Helm's own."""
    return _HELM.fullmatch(manager) is not None


def is_by_hand(manager: str) -> bool:
    """Whether a person wrote under a name."""
    return _BY_HAND.fullmatch(manager) is not None


def applier(manager: str) -> Applier | None:
    """The known program that writes under a name."""
    return next((program for program in APPLIERS if manager.startswith(program.manager)), None)


def unknown(managers: Iterable[str]) -> frozenset[str]:
    """Of names those that nothing here knows: whatever they are, they write."""
    return frozenset(
        manager
        for manager in managers
        if not (is_helm(manager) or is_by_hand(manager) or manager in _OWN or applier(manager) is not None)
    )
