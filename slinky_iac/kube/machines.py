"""Kubernetes nodes by their metadata: labels, and who has set each.

Sources: Kubernetes, "Server-Side Apply" (managedFields), "API Concepts" (PartialObjectMetadata, which leaves out the rest).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from slinky_iac.errors import KubeForbidden, KubeNotFound
from slinky_iac.kube.client import KubeClient, controlled
from slinky_iac.kube.marks import METADATA_OF_ALL
from slinky_iac.kube.objects import Listed, ManagedFields, NodeSet, ObjectMeta, Wire
from slinky_iac.kube.requests import label_of
from slinky_iac.names import LABEL_INSTANCE
from slinky_iac.text import closest, plain

PARTS: Final = ("labels", "annotations")


class MachineMeta(ObjectMeta, frozen=True, kw_only=True):
    """metadata of a node."""

    managed_fields: tuple[ManagedFields, ...] = ()


class Machine(Wire, frozen=True):
    """A Kubernetes node."""

    metadata: MachineMeta

    def setters(self, part: str, key: str) -> tuple[str, ...]:
        """Field managers that own a label (``part``: labels) or an annotation."""
        claims = ((claim.manager, claim.fields_v1.get("f:metadata")) for claim in self.metadata.managed_fields)
        return tuple(manager for manager, fields in claims if f"f:{key}" in _fields(fields, part))

    def managed_by(self, manager: str) -> bool:
        """Whether a manager owns any label or annotation."""
        claims = (claim.fields_v1.get("f:metadata") for claim in self.metadata.managed_fields if claim.manager == manager)
        return any(_fields(fields, part) for fields in claims for part in PARTS)


class _MemorySwap(Wire, frozen=True):
    swap_behavior: str = ""


class KubeletConfig(Wire, frozen=True):
    """How a kubelet runs, as far as Slurm's view of CPUs and memory goes (KubeletConfiguration, v1beta1)."""

    cpu_manager_policy: str = "none"
    topology_manager_policy: str = "none"
    memory_swap: _MemorySwap = _MemorySwap()


class _Configz(Wire, frozen=True):
    kubeletconfig: KubeletConfig


def _fields(claimed: object, part: str) -> dict[str, Any]:
    owned = claimed.get(f"f:{part}") if isinstance(claimed, dict) else None
    return owned if isinstance(owned, dict) else {}


def machines(kube: KubeClient) -> dict[str, Machine]:
    """All nodes, by name."""
    headers = {"accept": METADATA_OF_ALL}
    listing = kube.listed("/api/v1/nodes", Listed[Machine], "the list of Kubernetes nodes", headers=headers)
    return {machine.metadata.name: machine for machine in listing}


def require_machine(kube: KubeClient, name: str) -> None:
    """Raises KubeNotFound where the cluster has no Kubernetes node of this name, and KubeForbidden where this account can't
    know; and what the client raises."""
    shown = plain(name, 80)
    try:
        known = machines(kube)
    except KubeForbidden:
        raise KubeForbidden(
            f"{shown}: no pod of these NodeSets is there, and this account may not list Kubernetes nodes, so whether one has"
            f" this name isn't known. `kubectl get node {shown}` with more rights says it"
        ) from None
    if name not in known:
        near = closest(name, known)
        meant = f"Did you mean {near}? " if near else ""
        raise KubeNotFound(
            f"the cluster has no Kubernetes node {shown}, so no job was looked for. {meant}`kubectl get nodes` lists them;"
            " --node takes the name in Kubernetes, not Slurm's"
        )


def names_for_new_pods(kube: KubeClient, namespace: str, nodeset: NodeSet) -> frozenset[str]:
    """Kubernetes nodes on which a new pod of the NodeSet may come: those with the labels of its nodeSelector, without a pod
    of any NodeSet of its namespace. Affinity and taints aren't judged, so there may be fewer. Raises what the client
    raises."""
    wanted = (nodeset.spec.template.spec.node_selector or {}).items()
    taken = {pod.spec.node_name for pod in kube.worker_pods(namespace)}
    return frozenset(name for name, machine in machines(kube).items() if wanted <= machine.metadata.labels.items()) - taken


def names_of_others(kube: KubeClient, namespace: str, nodeset: NodeSet | None) -> dict[str, str]:
    """Slurm nodes of the pods of the other NodeSets of a namespace, with their NodeSets; None: this one isn't there yet.
    Raises what the client raises."""
    every = kube.worker_pods(namespace)
    own = set() if nodeset is None else {pod.metadata.uid for pod in controlled(nodeset, every)}
    return {pod.slurm_node: pod.metadata.labels.get(LABEL_INSTANCE, "") for pod in every if pod.metadata.uid not in own}


def kubelet_config(kube: KubeClient, node: str) -> KubeletConfig:
    """What a node's kubelet runs with. It takes the right `nodes/proxy`, by which commands can be run in every pod of the
    node too, so few users have it."""
    path = f"/api/v1/nodes/{label_of(node)}/proxy/configz"
    return kube.asked(path, _Configz, f"the kubelet of {node}").kubeletconfig


def apply(kube: KubeClient, machine: Machine, own: Mapping[tuple[str, str], str], manager: str) -> None:
    """Set exactly these labels and annotations as one manager's, on the very node that was looked at; the rest that it set
    goes. :raises KubeConflict: another manager has another value there, or the node was replaced."""
    meta = machine.metadata
    values = {part: {key: value for (at, key), value in own.items() if at == part} for part in PARTS}
    kube.apply(
        f"/api/v1/nodes/{label_of(meta.name)}",
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": meta.name, "uid": meta.uid, **values}},
        manager,
        f"Kubernetes node {meta.name}",
    )
