"""Services inside Kubernetes that lead to slurmctld and slurmdbd outside, under the names that the operator writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.core.v1 import Service

from slinky_iac.config.stack import ClusterConfig
from slinky_iac.specs.endpoints import Endpoint, slurmctld_endpoint, slurmdbd_endpoint

from .connection import Component
from .resources import child, metadata


@dataclass(frozen=True, kw_only=True)
class ExternalEndpointsArgs:
    """The configuration says which daemons are outside."""

    config: ClusterConfig


class ExternalEndpoints(Component):
    """What the operator leaves out: it never reads an external Accounting's host, and writes port 6817 always."""

    service_names: pulumi.Output[list[str]]

    def __init__(self, name: str, args: ExternalEndpointsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("ExternalEndpoints", name, args.config, opts)
        found = [e for e in (slurmdbd_endpoint(args.config), slurmctld_endpoint(args.config)) if e is not None]
        for endpoint in found:
            serve(self, name, args.config, endpoint)
        self.service_names = pulumi.Output.from_input([endpoint.name for endpoint in found])
        self.register_outputs({"service_names": self.service_names})


def serve(
    parent: pulumi.Resource, name: str, config: ClusterConfig, endpoint: Endpoint, more: Mapping[str, str] | None = None
) -> None:
    """The Service, and its EndpointSlice where it has one. ``more``: labels of the Service."""
    # Without endpoints of its own at first, an awaited Service would never become ready.
    meta = metadata(config, endpoint.name, {"pulumi.com/skipAwait": "true"})
    meta["labels"] = {**meta["labels"], **(more or {})}
    service = Service(f"{name}-{endpoint.name}", metadata=meta, spec=endpoint.service, opts=child(parent))
    if endpoint.slice is None:
        return
    from pulumi_kubernetes.discovery.v1 import EndpointSlice  # noqa: PLC0415 - imports that few stacks need

    meta = metadata(config, f"{endpoint.name}-outside")
    meta["labels"] = {**meta["labels"], "kubernetes.io/service-name": endpoint.name}
    EndpointSlice(
        f"{name}-{endpoint.name}-outside",
        metadata=meta,
        address_type=endpoint.slice["addressType"],
        endpoints=endpoint.slice["endpoints"],
        ports=endpoint.slice["ports"],
        opts=child(parent, service),
    )
