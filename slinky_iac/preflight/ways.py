"""The slurmrestds that a configuration knows of, as ways to ask Slurm."""

from __future__ import annotations

from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.kube_access import kube_source
from slinky_iac.preflight.ask_slurm import Way
from slinky_iac.slurmrest.endpoints import direct, in_kubernetes


def way_of_drains(config: StackConfig) -> Way:
    """The one that drains go through: at its URL, or in Kubernetes behind the API server."""
    access = config.slurmrest
    if access.url is not None:
        endpoint = direct(access.url, access.ca_file, access.client_cert_file, access.client_key_file)
        return Way(endpoint, inside=False, user=access.user)
    service = names.restapi_service(config.cluster.resource_name)
    tls = config.restapi.tls is not None
    proxied = in_kubernetes(kube_source(config), config.cluster.namespace, service, tls=tls)
    return Way(proxied, inside=True, user=access.user)


def way_of_users(config: StackConfig) -> Way | None:
    """The one for users, outside Kubernetes; None where the stack has none."""
    outside = config.external.slurmrestd
    if outside is None:
        return None
    endpoint = direct(outside.url, outside.ca_file, outside.client_cert_file, outside.client_key_file)
    return Way(endpoint, inside=False, needed=False, user=config.slurmrest.user)
