"""What the node table writes on Kubernetes nodes."""

from __future__ import annotations

from slinky_iac.config.nodes import labels_of, members
from slinky_iac.config.stack import StackConfig
from slinky_iac.names import ANNOTATION_TOPOLOGY
from slinky_iac.specs.shared import Spec


def node_patches(config: StackConfig) -> dict[str, Spec]:
    """metadata of each Kubernetes node of the table, by its name: ours, and nothing of anybody else."""
    found: dict[str, Spec] = {}
    for row in config.nodes.table:
        for node in members(row):
            meta = found.setdefault(node, {"labels": {}, "annotations": {}})
            meta["labels"] |= labels_of(config.nodes, row)
            if row.topology is not None:
                meta["annotations"][ANNOTATION_TOPOLOGY] = row.topology
    return {node: {key: value for key, value in meta.items() if value} for node, meta in sorted(found.items())}
