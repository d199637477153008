"""Rules of the node table: rows that meet nothing, or say two things of one node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.nodes import NodeRow, fault, labels_of, members
from slinky_iac.config.rules_topology import too_old
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig

RESERVED: Final = {"kubernetes.io": "Kubernetes", "k8s.io": "Kubernetes", "slinky.slurm.net": "slurm-operator"}
"""Domains of labels that others read, and whose they are (Kubernetes, Well-Known Labels, Annotations and Taints)."""


def _rows(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    hosts = {host.name for host in config.external.slurmd_hosts}
    for number, row in enumerate(config.nodes.table):
        path = f"nodes.table.{number}"
        if not (row.on_kubernetes or row.nodesets or row.hosts):
            yield at(path).error("names no node: give names, a selector, nodesets or hosts")
        for key in row.selector:
            if key.startswith(f"{config.nodes.prefix}/"):
                yield at(f"{path}.selector").error(
                    f"has {name_of(key)}, a label that this table writes: a node would be selected by what it has only once"
                    " it is selected. Select by a label of others"
                )
        for text in row.names:
            if why := fault(text):
                yield at(f"{path}.names").error(f"is no hostlist: {why}")
        for name in row.nodesets:
            if name not in config.nodesets:
                yield at(f"{path}.nodesets").error(f"has {name_of(name)}, which is no NodeSet of this stack")
        for name in row.hosts:
            if name not in hosts:
                yield at(f"{path}.hosts").error(f"has {name_of(name)}, which external.slurmdHosts lacks")
        yield from _sides(config, row, path)


def _prefix(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    if not config.nodes.table:
        return
    prefix = config.nodes.prefix
    for domain in RESERVED:
        if prefix == domain or prefix.endswith(f".{domain}"):
            yield at("nodes.prefix").error(
                f"is {name_of(prefix)}, and labels under {domain} belong to {RESERVED[domain]}: a label of the table could"
                " change what it does. Use a domain of your own, such as slurm.example.org"
            )


def _sides(config: StackConfig, row: NodeRow, path: str) -> Iterator[Finding]:
    if row.nodesets and row.on_kubernetes and not labels_of(config.nodes, row):
        yield at(f"{path}.nodesets").error(
            "needs features or labels in the row: they keep the NodeSet's pods on the row's nodes"
        )
    if row.topology is None:
        return
    if row.on_kubernetes and not config.operator_version.has_topology:
        yield at(f"{path}.topology").error(
            f"slurm-operator {config.operator.version} reads no topology of nodes, so it has no effect. Use 1.1 or newer"
        )
    if not (row.on_kubernetes or row.hosts):
        yield at(f"{path}.topology").error(
            "is a place of Kubernetes nodes and hosts, and the row has neither names, selector nor hosts"
        )
    if row.hosts:
        yield from _place(config, row.topology, f"{path}.topology")


def _place(config: StackConfig, topology: str, path: str) -> Iterator[Finding]:
    """Topology= of hosts: slurmctld refuses its whole file over a unit that its topology.yaml lacks (run, 26.05)."""
    if too_old(config):
        yield at(path).error("needs Slurm 25.05 or newer for hosts: older releases take no Topology= on a NodeName= line")
        return
    if config.nodes.topologies and config.controller.external is None:
        return
    units = list(dict.fromkeys(unit for each in topology.split(",") for unit in each.split(":")[1:]))
    text = next((text for name, text in config.controller.config_files.items() if name.lower() == "topology.yaml"), "")
    named = set(re.split(r"[^A-Za-z0-9_.-]+", text))
    lacking = [unit for unit in units if unit not in named]
    if config.controller.external is not None:
        where = " The output outsideTopology and the hand-off have the file" if config.nodes.topologies else ""
        yield at(path).info(
            f"topology.yaml beside the outside slurm.conf must have {', '.join(units)} before slurmctld reads the hosts'"
            f" lines: it refuses the whole file over a unit that it doesn't know.{where}",
            id="outside-topology",
        )
    elif lacking:
        yield at(path).error(
            f"has {', '.join(lacking)}, which topology.yaml lacks, and slurmctld refuses its whole slurm.conf over a unit"
            " that it doesn't know. Add it to controller.configFiles.topology.yaml, without nodes"
        )


def _once(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """One value for each label and topology of a node, and one row for each NodeSet."""
    said: dict[tuple[str, str], str] = {}
    homes: dict[str, int] = {}
    for number, row in enumerate(config.nodes.table):
        if any(fault(text) for text in row.names):
            continue
        own = labels_of(config.nodes, row) | ({"topology": row.topology} if row.topology else {})
        for node in members(row):
            for key, value in own.items():
                if said.setdefault((node, key), value) != value:
                    yield at(f"nodes.table.{number}").error(
                        f"gives {name_of(node)} another {name_of(key)} than an earlier row. Remove it from one of them"
                    )
        for host in row.hosts if row.topology else ():
            if said.setdefault((f"host {host}", "topology"), row.topology or "") != row.topology:
                yield at(f"nodes.table.{number}.topology").error(
                    f"gives {name_of(host)} another place than a row before it. Leave it out of one"
                )
        for name in row.nodesets:
            if homes.setdefault(name, number) != number:
                yield at(f"nodes.table.{number}.nodesets").error(
                    f"has {name_of(name)}, which row {homes[name]} has too: its pods could run on nodes of either row,"
                    " with the features of both. Make it two NodeSets, or one row"
                )


RULES = (_rows, _prefix, _once)
