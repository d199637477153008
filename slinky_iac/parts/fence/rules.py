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
    """The fence knows slurm-operator by its namespace. Where networkPolicies are on, :mod:`rules_networks` refuses this."""
    operator = config.operator
    guards = config.cluster.fence and config.nodesets and not config.network_policies.enabled
    if guards and not operator.install and "namespace" not in operator.model_fields_set:
        yield at("operator.namespace").warning(
            "isn't set, and operator.install is false: the fence then knows slurm-operator by namespace"
            f" {operator.namespace}. Where the operator is in another one, the fence refuses it the pods that it rightly"
            " replaces, and its scale-ins and rolling updates wait. Set it to the operator's namespace",
            id="operator-namespace-unset",
        )


RULES = (_of_pods, _operator)
