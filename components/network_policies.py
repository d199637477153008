"""NetworkPolicies: made before the pods that they guard, removed after them."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from slinky_iac.blueprint.objects import network_objects
from slinky_iac.config.stack import StackConfig

from .connection import Component
from .resources import register


@dataclass(frozen=True, kw_only=True)
class NetworkPoliciesArgs:
    """``config``: whose pods, and who connects to them."""

    config: StackConfig


class NetworkPolicies(Component):
    """One policy for each part that runs in pods."""

    def __init__(self, name: str, args: NetworkPoliciesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("NetworkPolicies", name, args.config, opts)
        register(self, name, args.config, network_objects(args.config))
        self.register_outputs({})
