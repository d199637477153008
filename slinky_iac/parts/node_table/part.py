"""The node table as a part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.node_table.rules import RULES
from slinky_iac.parts.node_table.table import applied, kubernetes_rows
from slinky_iac.parts.node_table.topology import FILE, PLUGIN, entries, outside_text, pods_without_place
from slinky_iac.parts.part import Before, OnMachines, OutsideFile, OwnGate, Part
from slinky_iac.specs.rights import CORE, Right, Use

if TYPE_CHECKING:
    from slinky_iac.preflight.check import Expect


class NodeTable(Part):
    """NodeSets, hosts and slurm.conf have what the table says of them by the configuration itself."""

    name = "node_table"
    component = "NodeTable"
    rules = RULES
    conf_read = (PLUGIN,)
    providers = {"NodeLabels": "slinky_iac.parts.node_table.gates.NodeTableProvider"}

    def applied(self, config: StackConfig) -> StackConfig:
        """Its rows on NodeSets and hosts, and topology.yaml."""
        return applied(config)

    def before_nodesets(self, config: StackConfig) -> Before | None:
        """Rows that mean Kubernetes nodes: pods of NodeSets are selected by their labels."""
        if not config.nodes.table:
            return None
        rows = kubernetes_rows(config.nodes)
        return Before("nodes", (OwnGate("NodeLabels", "labels", {"rows": rows}, "nodes"),) if rows else ())

    def outputs(self, config: StackConfig) -> Iterator[tuple[str, str]]:
        """topology.yaml for the admin of an outside slurmctld."""
        return (("outsideTopology", file.text) for file in self.outside_files(config))

    def outside_files(self, config: StackConfig) -> Iterator[OutsideFile]:
        """The same for its host."""
        if text := outside_text(config):
            yield OutsideFile(FILE, text, "check_topology", entries(config))

    def pods_lack(self, running: Mapping[str, str], config: StackConfig | None) -> Iterator[str]:
        """A place in the topology of the cluster that they join."""
        yield from pods_without_place(running, config)

    def rights(self, config: StackConfig, use: Use) -> Iterator[Right]:
        """To see and label the Kubernetes nodes of its rows."""
        if use in (Use.PREFLIGHT, Use.STATUS) or not any(row.on_kubernetes for row in config.nodes.table):
            return
        yield Right(CORE, "nodes", ("list",), "which nodes of the node table are there, and whose their labels are")
        if use is Use.APPLY:
            yield Right(CORE, "nodes", ("patch",), "labels and annotations of the node table", config.nodes.named)

    def last_checks(self) -> tuple[Expect, ...]:
        from slinky_iac.parts.node_table.checks import EXPECTED  # noqa: PLC0415 - a program asks for no rows

        return EXPECTED

    def on_machines(self, made: Mapping[str, Any]) -> OnMachines | None:
        """Labels and annotations of its rows; None where it has set none."""
        from slinky_iac.parts.node_table.labels import Labelled  # noqa: PLC0415 - a program compares nothing

        labelled = Labelled.read(made)
        return labelled if labelled.nodes else None
