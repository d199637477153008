"""Slurm compute nodes as pods, between the gate that drains before a scale-in and the one that drains before removal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi

from components.gates import ScaleInGate, TeardownGate, child_urn, gate_props
from components.last_look import last_look
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
    """One NodeSet custom resource and its two gates.

    ``replicas`` reaches the custom resource through the scale-in gate's output only, so nothing that lowers it, a
    targeted update included, gets past the drain. ``plan`` is what the last scale-in was to do to whom.
    """

    resource_name: pulumi.Output[str]
    replicas: pulumi.Output[int]
    plan: pulumi.Output[dict[str, Any]]

    def __init__(self, name: str, args: NodeSetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(token("NodeSet"), name, None, opts)
        config, settings = args.config, args.config.nodesets[args.nodeset]
        kube = names.nodeset_resource(config.cluster.resource_name, args.nodeset)
        gate_name, guard_name = f"{name}-scale-in", f"{name}-teardown"
        props = gate_props(config, args.nodeset, child_urn(self, ScaleInGate, gate_name))
        self.gate = ScaleInGate(gate_name, props, child(self))
        ignored = ["spec.replicas"] if settings.owner == "autoscaler" else []
        spec = nodeset_spec(config, args.nodeset, self.gate.replicas)
        hooks = last_look(args.nodeset, gate_props(config, args.nodeset, ""))
        options = child(self, ignore_changes=ignored, hooks=hooks)
        self.resource = custom_resource("NodeSet", kube, config, spec, options)
        guard_props = gate_props(config, args.nodeset, child_urn(self, TeardownGate, guard_name))
        # replace_with: a replacement of the NodeSet deletes it too, and only so does this gate come first.
        self.guard = TeardownGate(guard_name, guard_props, child(self, self.resource, replace_with=[self.resource]))
        self.resource_name = pulumi.Output.from_input(kube)
        self.replicas = self.gate.replicas
        self.plan = self.gate.plan
        self.register_outputs({"resource_name": self.resource_name, "replicas": self.replicas, "plan": self.plan})
