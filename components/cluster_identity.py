"""The resource that refuses to change what a live cluster can't change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from slinky_iac.config.stack import ClusterConfig
from slinky_iac.identity import KEY_SECRETS, KUBERNETES, NOT_PROTECTED, OF_OTHERS, PINNED, STACK, IdentityProvider
from slinky_iac.keys.catalogue import JWT, SLURM


class ClusterIdentity(Resource, module="slurm", name="ClusterIdentity"):
    """Made first: every other resource of the cluster comes after its check."""

    def __init__(self, name: str, props: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        """``props``: :func:`cluster_props` or :func:`place_props`."""
        super().__init__(IdentityProvider(), name, dict(props), opts)


def place_props(config: ClusterConfig) -> dict[str, Any]:
    """Where a cluster is: all that a program knows of one which another program makes."""
    return {
        "clusterName": config.cluster.name,
        "namespace": config.cluster.namespace,
        "resourceName": config.cluster.resource_name,
        # Never None: such an input doesn't reach the provider at all.
        KUBERNETES: "",  # its own check fills it in
        STACK: pulumi.get_stack(),
        PINNED: config.kubernetes.cluster or "",
        "kubeconfig": config.kubernetes.kubeconfig or "",
        "context": config.kubernetes.context or "",
    }


def cluster_props(config: ClusterConfig) -> dict[str, Any]:
    """The same, and what the stack that makes the cluster can't change of it."""
    return {
        **place_props(config),
        "slurmKeySecret": str(config.secret_of(SLURM)),
        "jwtKeySecret": str(config.secret_of(JWT)),
        "persistence": config.slurmctld.persistence,
        "slurmctld": config.slurmctld.where,
        "createNamespace": config.cluster.create_namespace,
        "keepNamespace": config.cluster.keep_namespace,
        "operatorNamespace": _operator_namespace(config),
        "operatorCrds": _operator_crds(config),
        KEY_SECRETS: _key_secrets(config),
    }


def _operator_namespace(config: ClusterConfig) -> str:
    if not config.operator.install:
        return "no operator"
    return "made" if config.operator.create_namespace else "not made"


def _operator_crds(config: ClusterConfig) -> str:
    if not config.operator.install or not config.operator.install_crds:
        return "none"
    return "protected" if config.operator.protect_crds else "not protected"


def _key_secrets(config: ClusterConfig) -> str:
    """Empty where the engine itself refuses to delete the Secrets."""
    if config.auth.client_key not in config.made_keys:
        return OF_OTHERS
    return "" if config.keys.protect else NOT_PROTECTED
