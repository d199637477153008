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
        ("no hostlist",),
        cured(IB),
    ),
    Case(
        "a NodeSet that isn't there",
        table(IB | {"nodesets": ["cpu"]}),
        "error",
        "nodes.table.0.nodesets",
        ("cpu", "no NodeSet"),
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
        ("neither names",),
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
