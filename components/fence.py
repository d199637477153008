"""The fence in the API server: made before the first NodeSet, removed after the last."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding

from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.fence import fence
from slinky_iac.specs.shared import labels

from .connection import Component
from .resources import child


@dataclass(frozen=True, kw_only=True)
class FenceArgs:
    """``config``: whose NodeSets, and what they need."""

    config: StackConfig


class Fence(Component):
    """Policies and their bindings. A policy without a binding refuses nothing: the binding comes last and goes first."""

    def __init__(self, name: str, args: FenceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Fence", name, args.config, opts)
        for each in fence(args.config):
            meta = {"name": each.name, "labels": labels(args.config)}
            policy = ValidatingAdmissionPolicy(f"{name}-{each.part}", metadata=meta, spec=each.spec, opts=child(self))
            ValidatingAdmissionPolicyBinding(
                f"{name}-{each.part}-binding", metadata=meta, spec=each.binding, opts=child(self, policy)
            )
        self.register_outputs({})
