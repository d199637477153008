"""The labels of the node table as a resource, in a program of somebody's own."""

from __future__ import annotations

from components import PartGates, PartGatesArgs
from slinky_iac.config.sections import Cluster
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.node_table.settings import NodeRow, Nodes
from slinky_iac.parts.node_table.table import kubernetes_rows
from tests.program import Recording, run

TABLE = "slinky:slurm:NodeTable"
LABELS = "pulumi-python:dynamic/slurm:NodeLabels"


def recorded(*rows: NodeRow) -> Recording:
    config = StackConfig(cluster=Cluster(name="atlas"), nodes=Nodes(table=rows))
    return run(lambda: PartGates("nodes", PartGatesArgs(config=config, part="node_table")))


def test_rows_that_mean_kubernetes_nodes_are_its_gate_s() -> None:
    ib, metal = NodeRow(names=("worker-1",), features=("ib",)), NodeRow(hosts=("metal-1",), gres=("gpu:4",))
    recording = recorded(ib, metal)
    gate = recording.one(LABELS)
    assert gate.inputs["rows"] == kubernetes_rows(Nodes(table=(ib,)))
    assert (gate.urn.rpartition("::")[2], gate.parent) == ("nodes-labels", recording.one(TABLE).urn)


def test_rows_of_hosts_alone_need_no_gate() -> None:
    recording = recorded(NodeRow(hosts=("metal-1",), gres=("gpu:4",)))
    assert recording.one(TABLE)
    assert recording.of(LABELS) == []
