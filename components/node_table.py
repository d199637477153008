"""The node table on Kubernetes nodes: labels and annotations by server-side apply, under a field manager of its own."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.core.v1 import NodePatch

from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.nodes import node_patches

from .resources import child, token

MANAGER = "slinky-iac"
"""Beginning of the field manager; the stack's name follows. The API server keeps what each manager has set apart."""


@dataclass(frozen=True, kw_only=True)
class NodeTableArgs:
    """``config``: the table."""

    config: StackConfig


class NodeTable(pulumi.ComponentResource):
    """One patch a node. A field that another manager has set to another value is a conflict, which the preview shows; it is
    never taken over. A destroy gives back what this stack has set, and nothing else."""

    def __init__(self, name: str, args: NodeTableArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(token("NodeTable"), name, None, opts)
        manager = f"{MANAGER}-{pulumi.get_stack()}"[:128]
        for node, meta in node_patches(args.config).items():
            own = {"pulumi.com/patchFieldManager": manager, **meta.get("annotations", {})}
            found = {"name": node, "annotations": own, **({"labels": meta["labels"]} if "labels" in meta else {})}
            NodePatch(f"{name}-{node}", metadata=found, opts=child(self))
        self.register_outputs({})
