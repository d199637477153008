"""NetworkPolicies: made before the pods that they guard, removed after them."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.networks import network_policies
from slinky_iac.specs.shared import labels

from .connection import Component
from .resources import child


@dataclass(frozen=True, kw_only=True)
class NetworkPoliciesArgs:
    """``config``: whose pods, and who connects to them."""

    config: StackConfig


class NetworkPolicies(Component):
    """One policy for each part that runs in pods."""

    def __init__(self, name: str, args: NetworkPoliciesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("NetworkPolicies", name, args.config, opts)
        policies = network_policies(args.config)
        if policies:
            from pulumi_kubernetes.networking.v1 import NetworkPolicy  # noqa: PLC0415 - 40 ms of every command
        for each in policies:
            meta = {"name": each.name, "namespace": each.namespace, "labels": labels(args.config)}
            NetworkPolicy(f"{name}-{each.part}", metadata=meta, spec=each.spec, opts=child(self))
        self.register_outputs({})
