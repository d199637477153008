"""From a configuration to the way to Kubernetes and slurmrestd: the same for the gates, for commands and for previews."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from slinky_iac import names
from slinky_iac.cluster.reach import Reach
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.shared import key_references

if TYPE_CHECKING:
    from slinky_iac.cluster.connection import KubeConnection


def reach(config: StackConfig) -> Reach:
    """How the gates reach Kubernetes and slurmrestd: the same cluster that the resources go to."""
    jwt = key_references(config)[config.operator_version.jwt_ref_field]
    rsa = config.keys.tokens == names.RS256
    return Reach(
        namespace=config.cluster.namespace,
        restapi_service=names.restapi_service(config.cluster.resource_name),
        jwt_secret=names.token_key_secret(config.cluster.resource_name) if rsa else jwt["name"],
        jwt_entry=names.TOKEN_KEY_ENTRY if rsa else jwt["key"],
        tokens=names.RS256 if rsa else names.HS256,
        kubeconfig=config.kubernetes.kubeconfig,
        context=config.kubernetes.context,
        url=config.slurmrest.url,
        ca_file=config.slurmrest.ca_file,
        client_cert_file=config.slurmrest.client_cert_file,
        client_key_file=config.slurmrest.client_key_file,
        restapi_scheme="https" if config.restapi.tls is not None else None,
        user=config.slurmrest.user,
    )


def kube_connection(config: StackConfig, env: Mapping[str, str], home: Path) -> KubeConnection:
    """The way to the Kubernetes cluster that a configuration means: the same that the resources go to."""
    # Few programs ask anything, and the clients cost each a tenth of a second to import.
    from slinky_iac.cluster.connection import KubeConnection, kube_source  # noqa: PLC0415

    return KubeConnection(kube_source(config.kubernetes.kubeconfig, config.kubernetes.context), env=env, home=home)
