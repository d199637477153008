"""Slurm compute nodes as pods."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from components.resources import child, custom_resource, token
from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.manifests.workers import nodeset_spec


@dataclass(frozen=True, kw_only=True)
class NodeSetArgs:
    """``nodeset``: which of the configuration's ``nodesets``."""

    config: StackConfig
    nodeset: str


class NodeSet(pulumi.ComponentResource):
    """One NodeSet custom resource."""

    resource_name: pulumi.Output[str]
    replicas: pulumi.Output[int]

    def __init__(self, name: str, args: NodeSetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(token("NodeSet"), name, None, opts)
        settings = args.config.nodesets[args.nodeset]
        kube = names.nodeset_resource(args.config.cluster.resource_name, args.nodeset)
        self.replicas = pulumi.Output.from_input(settings.replicas)
        ignored = ["spec.replicas"] if settings.owner == "autoscaler" else []
        spec = nodeset_spec(args.config, args.nodeset, self.replicas)
        self.resource = custom_resource("NodeSet", kube, args.config, spec, child(self, ignore_changes=ignored))
        self.resource_name = pulumi.Output.from_input(kube)
        self.register_outputs({"resource_name": self.resource_name, "replicas": self.replicas})
