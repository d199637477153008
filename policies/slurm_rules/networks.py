"""Who may connect to the pods of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slurm_rules.cluster import is_external, on_host_network, reference
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, rule, slinky

_APPS = {"Controller": "slurmctld", "Accounting": "slurmdbd", "RestApi": "slurmrestd", "NodeSet": "slurmd"}
_OTHERS = ("CiliumNetworkPolicy", "CiliumClusterwideNetworkPolicy", "GlobalNetworkPolicy", "AdminNetworkPolicy")
"""Kinds of network plugins that may replace NetworkPolicies; what they select isn't read."""


@rule("network-policies", slinky(*_APPS))
def network_policies(daemon: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """A NetworkPolicy says who may connect to the pods of each daemon.

    Why: without one every pod of the Kubernetes cluster connects to slurmctld, slurmdbd, slurmrestd and slurmd. It needs a
    key or a token to be heard, but none to hold all connections of slurmrestd, and gates and the operator then wait.

    Source: Kubernetes, "Network Policies" (a pod that none selects takes every connection); slurm-operator
    internal/builder/labels (labels of its pods).

    Do: set networkPolicies.enabled: true (docs/networks.md), or declare policies of your own here.

    Level: advisory, since a network plugin may enforce none, and policies may be made beside the stack.
    """
    if is_external(daemon) or on_host_network(daemon):
        return
    if any(each.is_kubernetes and each.base_kind in _OTHERS for each in stack.resources):
        return
    labels = _labels(daemon)
    chosen = [each for each in _policies(stack, daemon.namespace) if _selects(each.get("spec", "podSelector") or {}, labels)]
    if not chosen:
        yield f"{daemon.label}: no NetworkPolicy of this stack selects its pods, so every pod may connect; declare one"
    for policy in chosen:
        if any(not rule.get("from") and not rule.get("ports") for rule in policy.get("spec", "ingress") or ()):
            yield f"{policy.label} lets everybody connect to the pods of {daemon.label}; name who may"


def shuts_out_all(policy: Resource, daemon: Resource, stack: Stack) -> bool:
    """Whether a policy selects a daemon's pods, and no policy of the stack lets anybody connect to them."""
    labels = _labels(daemon)
    chosen = [each for each in _policies(stack, daemon.namespace) if _selects(each.get("spec", "podSelector") or {}, labels)]
    return policy in chosen and not any(each.get("spec", "ingress") for each in chosen)


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
