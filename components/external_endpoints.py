"""Services inside Kubernetes that lead to slurmctld and slurmdbd outside, under the names that the operator writes."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from slinky_iac.blueprint import objects
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.specs.endpoints import endpoint_objects

from .connection import Component
from .resources import register


@dataclass(frozen=True, kw_only=True)
class ExternalEndpointsArgs:
    """The configuration says which daemons are outside."""

    config: ClusterConfig


class ExternalEndpoints(Component):
    """What the operator leaves out: it never reads an external Accounting's host, and writes port 6817 always."""

    service_names: pulumi.Output[list[str]]

    def __init__(self, name: str, args: ExternalEndpointsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("ExternalEndpoints", name, args.config, opts)
        endpoints = tuple(objects.endpoints(args.config))
        for endpoint in endpoints:
            register(self, name, args.config, endpoint_objects(endpoint))
        self.service_names = pulumi.Output.from_input([endpoint.name for endpoint in endpoints])
        self.register_outputs({"service_names": self.service_names})
