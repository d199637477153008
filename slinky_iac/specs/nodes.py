"""What the node table writes on Kubernetes nodes."""

from __future__ import annotations

from slinky_iac.config.nodes import NodeRow, labels_of, members
from slinky_iac.config.stack import StackConfig
from slinky_iac.names import ANNOTATION_TOPOLOGY
from slinky_iac.specs.shared import Spec


def kubernetes_rows(config: StackConfig) -> list[Spec]:
    """Rows that mean Kubernetes nodes, as props: which nodes, and what they get."""
    return [_row(config, row) for row in config.nodes.table if row.on_kubernetes]


def named_nodes(config: StackConfig) -> tuple[str, ...]:
    """Kubernetes nodes that the table names; none where a selector may mean any."""
    if any(row.selector for row in config.nodes.table):
        return ()
    return tuple(sorted({node for row in config.nodes.table for node in members(row)}))


def _row(config: StackConfig, row: NodeRow) -> Spec:
    return {
        "names": list(row.names),
        "selector": dict(row.selector),
        "labels": labels_of(config.nodes, row),
        "annotations": {ANNOTATION_TOPOLOGY: row.topology} if row.topology is not None else {},
    }
