"""The node table as a part. components/node_table.py registers the gate that labels Kubernetes nodes."""

from __future__ import annotations

from slinky_iac.parts.node_table.rules import RULES
from slinky_iac.parts.part import Part


class NodeTable(Part):
    """Rules alone: NodeSets, hosts and slurm.conf read the table from the configuration."""

    name = "node_table"
    rules = RULES
