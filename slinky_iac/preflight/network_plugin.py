"""Which network plugin is known by its API? Asked in every preview.

A plugin's API says that it is, or was, installed. It doesn't say that it enforces: each has a switch, and its API stays when
it goes. So it decides nothing, and `preflight` tries what a preview can't know (docs/adr/0012-network-policies.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from slinky_iac.cluster.connection import KubeConnection
from slinky_iac.config.connections import parts
from slinky_iac.config.findings import Finding, info
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeError
from slinky_iac.kube.raw_admission import GroupsBody

BUDGET_S: Final = 2.0
"""Longest wait for the answer: a preview is looked at by somebody who waits."""
PATH: Final = "networkPolicies.enabled"
ENFORCERS: Final[Mapping[str, str]] = {
    "crd.projectcalico.org": "Calico",
    "cilium.io": "Cilium",
    "crd.antrea.io": "Antrea",
    "k8s.ovn.org": "OVN-Kubernetes",
    "networking.k8s.aws": "the VPC CNI of AWS",
}
"""API groups of network plugins that enforce NetworkPolicies unless that is switched off. Others have no API: kube-router,
k3s, Flannel, which enforces none."""


def network_plugin(config: StackConfig, way: KubeConnection) -> tuple[Finding, ...]:
    """A note where policies are off beside such a plugin, or on without one; nothing where it couldn't be asked."""
    if config.keys.auth == "auth/munge" or not parts(config):
        return ()
    try:
        with way.kube(BUDGET_S) as kube:
            groups = kube.asked("/apis", GroupsBody, "the API server's list of APIs").groups
            return told(config, {each.name for each in groups})
    except KubeError:
        return ()


def told(config: StackConfig, groups: Collection[str]) -> tuple[Finding, ...]:
    """The note for an API server with these API groups."""
    known = [f"{name} ({group})" for group, name in ENFORCERS.items() if group in groups]
    if known and not config.network_policies.enabled:
        return (
            info(
                PATH,
                f"is false, and this Kubernetes has {' and '.join(known)}, which enforces NetworkPolicies unless that is"
                " switched off: every pod may connect to the pods of this cluster. docs/networks.md has the steps for a"
                " cluster that runs",
                id="network-policies-off",
            ),
        )
    if config.network_policies.enabled and not known:
        return (
            info(
                PATH,
                "is true, and this Kubernetes has the API of no network plugin that is known to enforce NetworkPolicies."
                " Some have none (kube-router, k3s); Flannel enforces nothing. `python -m slinky_iac preflight` tries it",
                id="network-policies-unenforced",
            ),
        )
    return ()
