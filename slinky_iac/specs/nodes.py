"""What the node table writes on Kubernetes nodes."""

from __future__ import annotations

from slinky_iac.config.nodes import NodeRow, Nodes, labels_of, members
from slinky_iac.names import ANNOTATION_TOPOLOGY
from slinky_iac.specs.shared import Spec


def kubernetes_rows(nodes: Nodes) -> list[Spec]:
    """Rows that mean Kubernetes nodes, as props: which nodes, and what they get."""
    return [_row(nodes, row) for row in nodes.table if row.on_kubernetes]


def named_nodes(nodes: Nodes) -> tuple[str, ...]:
    """Kubernetes nodes that the table names; none where a selector may mean any."""
    if any(row.selector for row in nodes.table):
        return ()
    return tuple(sorted({node for row in nodes.table for node in members(row)}))


def _row(nodes: Nodes, row: NodeRow) -> Spec:
    return {
        "names": list(row.names),
        "selector": dict(row.selector),
        "labels": labels_of(nodes, row),
        "annotations": {ANNOTATION_TOPOLOGY: row.topology} if row.topology is not None else {},
    }
