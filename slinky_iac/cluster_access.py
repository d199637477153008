"""From a configuration to the way to Kubernetes and slurmrestd: the same for the gates, for commands and for previews."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from slinky_iac import names
from slinky_iac.cluster.kube_connection import KubeConnection, kube_source
from slinky_iac.cluster.reach import Reach
from slinky_iac.config.stack import ClusterConfig


def reach(config: ClusterConfig) -> Reach:
    """How the gates reach Kubernetes and slurmrestd: the same cluster that the resources go to."""
    place = config.secret_of(config.signing.key)
    return Reach(
        namespace=config.cluster.namespace,
        restapi_service=names.restapi_service(config.cluster.resource_name),
        jwt_secret=place.name,
        jwt_entry=place.entry,
        algorithm=config.signing.key.algorithm,
        kubeconfig=config.kubernetes.kubeconfig,
        context=config.kubernetes.context,
        url=config.slurmrest.url,
        ca_file=config.slurmrest.ca_file,
        client_cert_file=config.slurmrest.client_cert_file,
        client_key_file=config.slurmrest.client_key_file,
        plain_http=config.slurmrest.allow_plain_http,
        restapi_scheme=config.slurmrestd.scheme,
        user=config.slurmrest.user,
    )


def kube_connection(config: ClusterConfig, env: Mapping[str, str], home: Path) -> KubeConnection:
    """The way to the Kubernetes cluster that a configuration means: the same that the resources go to."""
    return KubeConnection(kube_source(config.kubernetes.kubeconfig, config.kubernetes.context), env=env, home=home)
