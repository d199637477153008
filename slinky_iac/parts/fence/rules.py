"""Rules of the fence in the API server."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig


def _of_pods(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    cluster = config.cluster
    if cluster.fence_pods and not cluster.fence:
        yield at("cluster.fencePods").ignored("cluster.fence is false, so the stack makes no fence")


def _operator(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """The fence knows slurm-operator by its namespace. Where networkPolicies are on, :mod:`slinky_iac.config.rules.networks`
    refuses this."""
    operator = config.operator
    guards = config.cluster.fence and config.nodesets and not config.network_policies.enabled
    if guards and not operator.install and "namespace" not in operator.model_fields_set:
        yield at("operator.namespace").warning(
            "isn't set, and operator.install is false, so the fence takes the operator in namespace"
            f" {operator.namespace} for slurm-operator. If it runs elsewhere, the fence refuses its deletions of pods, and"
            " scale-ins and updates hang. `kubectl get deployments -A` shows where slurm-operator is; set operator.namespace"
            " to that",
            id="operator-namespace-unset",
        )


RULES = (_of_pods, _operator)
