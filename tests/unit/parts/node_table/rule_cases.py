"""Cases for the rules of the node table: each a fault and its cure."""

from __future__ import annotations

from typing import Any

from tests.stacks import minimal
from tests.unit.config.rule_cases import Case


def table(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return minimal(nodesets={"gpu": {"replicas": 2}}, nodes={"table": list(rows)}, **more)


def cured(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"nodes": {"table": list(rows)}}


METAL = {"hosts": ["metal-1"], "topology": "topo-switch:s1"}
HOST = {"slurmdHosts": [{"name": "metal-1"}]}
IB = {"names": ["worker-[1-2]"], "features": ["ib"]}

NODES = [
    Case("a row without a node", table({"features": ["ib"]}), "error", "nodes.table.0", ("names no node",), cured(IB)),
    Case(
        "a hostlist that is none",
        table({"names": ["worker-[1-"], "features": ["ib"]}),
        "error",
        "nodes.table.0.names",
        ("a hostlist",),
        cured(IB),
    ),
    Case(
        "a NodeSet that isn't there",
        table(IB | {"nodesets": ["cpu"]}),
        "error",
        "nodes.table.0.nodesets",
        ("cpu", "a NodeSet"),
        cured(IB | {"nodesets": ["gpu"]}),
    ),
    Case(
        "a host that isn't there",
        table({"hosts": ["metal-9"], "features": ["ib"]}),
        "error",
        "nodes.table.0.hosts",
        ("metal-9", "external.slurmdHosts"),
        {"external": {"slurmdHosts": [{"name": "metal-9"}]}},
    ),
    Case(
        "hosts of a hostlist that aren't there",
        table({"hosts": ["metal-[7-9]"], "features": ["ib"]}, external={"slurmdHosts": [{"name": "metal-7"}]}),
        "error",
        "nodes.table.0.hosts",
        ("metal-8", "1 more", "external.slurmdHosts"),
        {"external": {"slurmdHosts": [{"name": "metal-[7-9]"}]}},
    ),
    Case(
        "a NodeSet that nothing keeps to the row's nodes",
        table({"names": ["worker-1"], "nodesets": ["gpu"], "gres": ["gpu:2"]}),
        "error",
        "nodes.table.0.nodesets",
        ("needs features or labels",),
        cured(IB | {"nodesets": ["gpu"]}),
    ),
    Case(
        "topology with an operator that reads none",
        table(IB | {"topology": "topo-switch:s1"}, operator={"version": "1.0.1"}),
        "error",
        "nodes.table.0.topology",
        ("1.0.1", "1.1 or newer"),
        {"operator": {"version": "1.2.1"}},
    ),
    Case(
        "topology of a NodeSet alone",
        table({"nodesets": ["gpu"], "features": ["ib"], "topology": "topo-switch:s1"}),
        "error",
        "nodes.table.0.topology",
        ("the row has neither: add names",),
        cured(IB | {"topology": "topo-switch:s1"}),
    ),
    Case(
        "a host in a unit that topology.yaml lacks",
        table(METAL, external=HOST, controller={"configFiles": {"topology.yaml": "- topology: topo-switch\n"}}),
        "error",
        "nodes.table.0.topology",
        ("s1", "topology.yaml lacks", "whole slurm.conf"),
        {"controller": {"configFiles": {"topology.yaml": "- topology: t\n  tree:\n    switches:\n    - switch: s1\n"}}},
    ),
    Case(
        "a host in two places",
        table(
            METAL,
            METAL | {"topology": "topo-switch:s2"},
            external=HOST,
            controller={"configFiles": {"topology.yaml": "s1 s2"}},
        ),
        "error",
        "nodes.table.1.topology",
        ("metal-1", "another place"),
        cured(METAL),
    ),
    Case(
        "topology of a host with an old Slurm",
        table(METAL, external=HOST, cluster={"name": "c", "slurmVersion": "24.11"}),
        "error",
        "nodes.table.0.topology",
        ("25.05",),
        cured({"hosts": ["metal-1"], "features": ["ib"]}),
    ),
    Case(
        "labels of Kubernetes' own",
        minimal(nodes={"prefix": "node-role.kubernetes.io", "table": [IB]}),
        "error",
        "nodes.prefix",
        ("belong to Kubernetes", "slurm.example.org"),
        {"nodes": {"prefix": "slurm.example.org", "table": [IB]}},
    ),
    Case(
        "a selector by the table's own label",
        table({"selector": {"slurm.slinky-iac/ib": "true"}, "features": ["ib"]}),
        "error",
        "nodes.table.0.selector",
        ("label that this table writes",),
        cured({"selector": {"pool": "gpu"}, "features": ["ib"]}),
    ),
    Case(
        "two values for one label of a node",
        table({"names": ["worker-1"], "labels": {"cuda": "12"}}, {"names": ["worker-[1-3]"], "labels": {"cuda": "13"}}),
        "error",
        "nodes.table.1",
        ("worker-1", "cuda"),
        cured({"names": ["worker-1"], "labels": {"cuda": "12"}}, {"names": ["worker-[2-3]"], "labels": {"cuda": "13"}}),
    ),
    Case(
        "a NodeSet in two rows",
        table(IB | {"nodesets": ["gpu"]}, {"names": ["worker-3"], "features": ["big"], "nodesets": ["gpu"]}),
        "error",
        "nodes.table.1.nodesets",
        ("row 0", "two NodeSets"),
        cured(IB | {"nodesets": ["gpu"]}, {"names": ["worker-3"], "features": ["big"]}),
    ),
]
TREE = {"topo-switch": {"tree": {"core": ["s[1-2]"]}}}
FLAT = {"topo-flat": {"flat": True}}
AT_S1 = {"hosts": ["metal-1"], "topology": "topo-switch:s1"}


def declared(topologies: dict[str, Any], *rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"nodesets": {"gpu": {"replicas": 2}}, "external": HOST} | more
    return minimal(nodes={"topologies": topologies, "table": list(rows)}, **given)


def topologies(**each: Any) -> dict[str, Any]:
    return {"nodes": {"topologies": {name.replace("_", "-"): value for name, value in each.items()}}}


def blocks(sizes: list[int], **more: Any) -> dict[str, Any]:
    return {"b": {"block": {"blockSizes": sizes, "blocks": ["b[1-4]"]} | more}}


TOPOLOGIES = [
    Case(
        "topologies with an old Slurm",
        declared(TREE, cluster={"name": "c", "slurmVersion": "24.11"}),
        "error",
        "nodes.topologies",
        ("25.05",),
        {"nodes": {"topologies": None}},
    ),
    Case(
        "a topology.yaml beside one that the stack makes",
        declared(TREE, controller={"configFiles": {"topology.yaml": "- topology: t\n"}}),
        "error",
        "controller.configFiles.topology.yaml",
        ("beside nodes.topologies",),
        {"controller": {"configFiles": {"topology.yaml": None}}},
    ),
    Case(
        "two defaults",
        declared({"a": {"flat": True, "default": True}, "b": {"flat": True, "default": True}}),
        "error",
        "nodes.topologies",
        ("once", "2 times"),
        topologies(b={"default": False}),
    ),
    Case(
        "several topologies without a default",
        declared({"a": {"flat": True}, "b": {"flat": True}}),
        "error",
        "nodes.topologies",
        ("once", "0 times"),
        topologies(b={"default": True}),
    ),
    Case(
        "a topology of no kind",
        declared({"t": {}}),
        "error",
        "nodes.topologies.t",
        ("exactly one",),
        topologies(t={"flat": True}),
    ),
    Case(
        "a tree without a switch",
        declared({"t": {"tree": {}}}),
        "error",
        "nodes.topologies.t.tree",
        ("no switch", "stop"),
        topologies(t={"tree": {"core": ["s1"]}}),
    ),
    Case(
        "a switch below itself",
        declared({"t": {"tree": {"a": ["b"], "b": ["a"]}}}),
        "error",
        "nodes.topologies.t.tree",
        ("below itself",),
        topologies(t={"tree": {"b": ["c"]}}),
    ),
    Case(
        "a switch below two others",
        declared({"t": {"tree": {"a": ["s1"], "b": ["s1"]}}}),
        "error",
        "nodes.topologies.t.tree",
        ("s1", "one other at the most"),
        topologies(t={"tree": {"b": ["s2"]}}),
    ),
    Case(
        "switches that are no hostlist",
        declared({"t": {"tree": {"a": ["s[1-"]}}}),
        "error",
        "nodes.topologies.t.tree.a",
        ("a hostlist",),
        topologies(t={"tree": {"a": ["s[1-2]"]}}),
    ),
    Case(
        "blocks without a block",
        declared(blocks([2], blocks=[])),
        "error",
        "nodes.topologies.b.block",
        ("no block",),
        topologies(**blocks([2])),
    ),
    Case(
        "block sizes that aren't powers of two apart",
        declared(blocks([2, 6])),
        "error",
        "nodes.topologies.b.block.blockSizes",
        ("power of two",),
        topologies(**blocks([3, 6, 12])),
    ),
    Case(
        "a place in a topology that isn't there",
        declared(FLAT, AT_S1),
        "error",
        "nodes.table.0.topology",
        ("topo-switch", "lacks; there are: topo-flat"),
        topologies(topo_switch={"tree": {}}),
    ),
    Case(
        "a place at a switch that the tree lacks",
        declared(TREE, AT_S1 | {"topology": "topo-switch:s3"}),
        "error",
        "nodes.table.0.topology",
        ("s3", "topo-switch:core:s3"),
        {"nodes": {"table": [AT_S1 | {"topology": "topo-switch:core:s3"}]}},
    ),
    Case(
        "a place at a switch with switches below it",
        declared(TREE, AT_S1 | {"topology": "topo-switch:core"}),
        "error",
        "nodes.table.0.topology",
        ("lowest switches",),
        {"nodes": {"table": [AT_S1]}},
    ),
    Case(
        "a place without a unit",
        declared(TREE, AT_S1 | {"topology": "topo-switch"}),
        "error",
        "nodes.table.0.topology",
        ("without a switch or block", "topo-switch:NAME"),
        {"nodes": {"table": [AT_S1]}},
    ),
    Case(
        "two places in one topology",
        declared(TREE, AT_S1 | {"topology": "topo-switch:s1,topo-switch:s2"}),
        "error",
        "nodes.table.0.topology",
        ("two places",),
        {"nodes": {"table": [AT_S1]}},
    ),
    Case(
        "a host's own parameter that names no block",
        declared(blocks([2]), external={"slurmdHosts": [{"name": "metal-1", "config": {"topology": "b:b9"}}]}),
        "error",
        "external.slurmdHosts.0.config.Topology",
        ("b9", "a block"),
        {"external": {"slurmdHosts": [{"name": "metal-1", "config": {"topology": "b:b4"}}]}},
    ),
    Case(
        "a NodeSet's place in a topology that isn't there",
        declared(FLAT, nodesets={"gpu": {"replicas": 1, "extraConf": {"Topology": "topo:s1"}}}),
        "error",
        "nodesets.gpu.extraConf.Topology",
        ("no place",),
        topologies(topo={"tree": {}}),
    ),
    Case(
        "a partition with a topology that isn't there",
        declared(FLAT, partitions={"all": {"nodesets": ["gpu"], "config": {"Topology": "tree"}}}),
        "error",
        "partitions.all.config.Topology",
        ("tree", "lacks; there are: topo-flat"),
        {"partitions": {"all": {"config": {"Topology": "topo-flat"}}}},
    ),
]
TOPOLOGIES_TOLD = [
    Case(
        "nodes without a place in the default topology",
        declared(TREE, AT_S1),
        "warning",
        "nodes.topologies.topo-switch",
        ("gpu", "several nodes"),
        {"nodes": {"table": [AT_S1, {"names": ["worker-1"], "topology": "topo-switch:s2"}]}},
    ),
    Case(
        "nodes without a place, and an operator that leaves a NodeSet's own",
        declared(TREE, AT_S1, operator={"version": "1.0.1"}),
        "warning",
        "nodes.topologies.topo-switch",
        ("gpu", "Topology of extraConf"),
        {"nodesets": {"gpu": {"extraConf": {"Topology": "topo-switch:s2"}}}},
    ),
    Case(
        "a NodeSet's own place, which the operator removes",
        declared(TREE, AT_S1, nodesets={"gpu": {"replicas": 1, "extraConf": {"Topology": "topo-switch:s2"}}}),
        "warning",
        "nodesets.gpu.extraConf.Topology",
        ("1.2.1", "or to none"),
        {"nodesets": {"gpu": {"extraConf": None}}},
    ),
    Case(
        "topology of hosts of an external slurmctld",
        declared(TREE, AT_S1, keys={"source": "imported"}, controller={"external": {"host": "ctl.example.org"}}),
        "info",
        "nodes.table.0.topology",
        ("outsideTopology", "s1"),
        {"nodes": {"table": []}},
    ),
]
CASES = NODES + TOPOLOGIES
TOLD = TOPOLOGIES_TOLD
