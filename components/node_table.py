"""The node table on Kubernetes nodes, as a resource."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from slinky_iac.config.stack import ClusterConfig
from slinky_iac.parts.node_table.gates import NodeTableProvider
from slinky_iac.parts.node_table.settings import Nodes
from slinky_iac.parts.node_table.table import kubernetes_rows

from .connection import Component
from .gates import Gate, stack_props
from .resources import child


class NodeLabels(Gate, module="slurm", name="NodeLabels"):
    """Labels and annotations of Kubernetes nodes.

    A preview shows which nodes the rows mean, and a value of another manager is a conflict there; it is never taken over. A
    destroy takes back what this stack has set, and nothing else.
    """

    nodes: pulumi.Output[dict[str, Any]]

    def __init__(self, name: str, props: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(NodeTableProvider(), name, props, opts, "nodes")


@dataclass(frozen=True, kw_only=True)
class NodeTableArgs:
    """``settings``: the table. ``cluster``: which Kubernetes cluster its nodes are of."""

    cluster: ClusterConfig
    settings: Nodes


class NodeTable(Component):
    """The rows of the table that mean Kubernetes nodes. NodeSets and hosts have theirs already (slinky_iac.config.nodes)."""

    def __init__(self, name: str, args: NodeTableArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("NodeTable", name, args.cluster, opts)
        if rows := kubernetes_rows(args.settings):
            NodeLabels(f"{name}-labels", {**stack_props(args.cluster), "rows": rows}, child(self))
        self.register_outputs({})
