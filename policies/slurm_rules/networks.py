"""Who may connect to the pods of a cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from slurm_rules.cluster import is_external, on_host_network, reference
from slurm_rules.made import Fault
from slurm_rules.model import Resource, Stack
from slurm_rules.world import World

_APPS = {"Controller": "slurmctld", "Accounting": "slurmdbd", "RestApi": "slurmrestd", "NodeSet": "slurmd"}


def _policies(stack: Stack, namespace: str) -> Iterator[Resource]:
    for each in stack.resources:
        if each.is_a("networking.k8s.io", "NetworkPolicy") and each.namespace == namespace:
            types = each.get("spec", "policyTypes")
            if types is None or "Ingress" in types:
                yield each


def _labels(daemon: Resource) -> dict[str, Any]:
    """Labels of a daemon's pods."""
    own = {"app.kubernetes.io/name": _APPS[daemon.kind], "app.kubernetes.io/instance": daemon.in_cluster_name}
    if daemon.kind == "NodeSet":
        own["slinky.slurm.net/cluster"] = reference(daemon, "spec", "controllerRef")[1]
    return {**(daemon.get("spec", "template", "metadata", "labels") or {}), **own}


def _selects(selector: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(each, labels) for each in selector.get("matchExpressions") or ())


def _holds(expression: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    key, values = str(expression.get("key")), expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False


def policy_faults(policy: Resource, stack: Stack, world: World) -> Iterator[Fault]:
    """What a NetworkPolicy in the cluster's namespace opens to all, or cuts a daemon off from."""
    for index, each in enumerate(policy.get("spec", "ingress") or ()):
        path = f"spec.ingress[{index}]"
        if not each.get("from") and {port.get("port") for port in each.get("ports") or ()} != {_SSH}:
            yield Fault(path, "lets everybody connect")
        for peer in each.get("from") or ():
            if _is_wide(str((peer.get("ipBlock") or {}).get("cidr", ""))) or _any_space(peer.get("namespaceSelector")):
                yield Fault(path, "lets every address or every namespace connect")
    types = policy.get("spec", "policyTypes") or ()
    if "Egress" in types and not any(
        re.fullmatch(rf"{re.escape(base)}-\w+", policy.in_cluster_name) for base in world.bases
    ):
        yield Fault("spec.egress", "limits what the cluster's pods connect to, and isn't this program's")
    for daemon in stack.slinky("RestApi", "Controller", "NodeSet"):
        if daemon.namespace == policy.namespace and not is_external(daemon):
            yield from _cut_off(policy, daemon, stack, world)


_SSH = 22


def _is_wide(cidr: str) -> bool:
    """Whether a network is more than a site has: 0.0.0.0/1 and its other half are all addresses."""
    address, _, length = cidr.partition("/")
    return length.isdigit() and int(length) < (16 if ":" in address else 8)


def _any_space(selector: Mapping[str, Any] | None) -> bool:
    if selector is None or selector.get("matchLabels"):
        return False
    found = selector.get("matchExpressions") or ()
    return not found or any(each.get("operator") in ("Exists", "NotIn", "DoesNotExist") for each in found)


def _cut_off(policy: Resource, daemon: Resource, stack: Stack, world: World) -> Iterator[Fault]:
    """Those without whom jobs are lost: the operator at slurmrestd, slurmd and slurmctld at each other."""
    chosen = [p for p in _policies(stack, daemon.namespace) if _selects(p.get("spec", "podSelector") or {}, _labels(daemon))]
    if policy not in chosen:
        return
    peers = [peer for each in chosen for peer in _peers(each)]
    if daemon.kind == "RestApi":
        if not any(_is_operators(peer, world) for peer in peers):
            yield Fault("spec.ingress", "shuts the operator out of slurmrestd; it then deletes busy pods")
        return
    for other in stack.slinky("NodeSet" if daemon.kind == "Controller" else "Controller"):
        same = other.namespace == daemon.namespace and not is_external(other) and not on_host_network(other)
        if same and not any(_is_pod(peer, _labels(other)) for peer in peers):
            yield Fault("spec.ingress", f"shuts the pods of {other.label} out of those of {daemon.label}; jobs are lost")


def _peers(policy: Resource) -> Iterator[Mapping[str, Any]]:
    for each in policy.get("spec", "ingress") or ():
        yield from each.get("from") or ({"namespaceSelector": {}},)


def _is_operators(peer: Mapping[str, Any], world: World) -> bool:
    selector = peer.get("namespaceSelector")
    if selector is None or peer.get("ipBlock"):
        return False
    return not selector or (selector.get("matchLabels") or {}).get("kubernetes.io/metadata.name") in world.operator


def _is_pod(peer: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    if peer.get("namespaceSelector") is not None:
        return not peer["namespaceSelector"]
    return peer.get("podSelector") is not None and _selects(peer["podSelector"], labels)
