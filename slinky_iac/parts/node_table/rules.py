"""Rules of the node table, whose rows may meet nothing or say two things of one node, and of topologies: what slurmctld
refuses its whole configuration over, and ends.

Source: Slurm 26.05 ``switch_record.c``, ``block_record.c``, ``read_config.c`` (fatal there), run on the lab.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.partitions import partition_parameters
from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm.places import has_place, parameter
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.node_table.settings import BlockTopology, NodeRow, Topology
from slinky_iac.parts.node_table.table import fault, labels_of
from slinky_iac.parts.node_table.topology import (
    FILE,
    MARK,
    Placed,
    blocks,
    default_of,
    placed,
    switches,
)
from slinky_iac.text import some

RESERVED: Final = {"kubernetes.io": "Kubernetes", "k8s.io": "Kubernetes", "slinky.slurm.net": "slurm-operator"}
"""Domains of labels that others read, and whose they are (Kubernetes, Well-Known Labels, Annotations and Taints)."""
TOPOLOGY_SINCE: Final = (25, 5)
"""Slurm's release that first has topology.yaml and Topology= of nodes."""
LEVELS: Final = 16
"""Most levels of blocks (``MAX_BLOCK_LEVELS``)."""
ENDS: Final = "slurmctld would refuse its whole configuration, and stop"


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
                yield at(f"{path}.names").error(f"has {name_of(text)}, which isn't a hostlist: {why}")
        for name in row.nodesets:
            if name not in config.nodesets:
                yield at(f"{path}.nodesets").error(f"has {name_of(name)}, which isn't a NodeSet of this stack")
        if lacking := [name for name in row.hosts if name not in hosts]:
            yield at(f"{path}.hosts").error(
                f"has {some(map(name_of, lacking), 1)}, which external.slurmdHosts lacks: add it there, or correct it here"
            )
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
            "is a place of Kubernetes nodes and hosts, and the row has neither: add names, selector or hosts, or remove it"
        )
    if row.hosts:
        yield from _place(config, row.topology, f"{path}.topology")


def _place(config: StackConfig, topology: str, path: str) -> Iterator[Finding]:
    """Topology= of hosts: slurmctld refuses its whole file over a unit that its topology.yaml lacks (run, 26.05)."""
    if too_old(config):
        yield at(path).error("needs Slurm 25.05 or newer for hosts: older releases take no Topology= on a NodeName= line")
        return
    if config.nodes.topologies and config.slurmctld.owns_conf:
        return
    units = list(dict.fromkeys(unit for place in topology.split(",") for unit in place.split(":")[1:]))
    text = next((text for name, text in config.slurmctld.config_files.items() if name.lower() == "topology.yaml"), "")
    named = set(re.split(r"[^A-Za-z0-9_.-]+", text))
    lacking = [unit for unit in units if unit not in named]
    if not config.slurmctld.owns_conf:
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
        for node in row.members:
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


def too_old(config: StackConfig) -> bool:
    """Whether this Slurm has no topology.yaml."""
    return config.slurm_numbers < TOPOLOGY_SINCE


def _declared(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    declared = config.nodes.topologies
    if not declared:
        return
    if too_old(config):
        yield at("nodes.topologies").error(f"needs Slurm 25.05 or newer: {config.slurm_release} reads no {FILE}")
    for name in config.controller.config_files:
        if name.lower() in {"topology.conf", FILE} and not config.controller.config_files[name].startswith(MARK):
            yield at(f"controller.configFiles.{name}").error(
                f"is there beside nodes.topologies, from which the stack makes {FILE}. Remove one of them"
            )
    defaults = [name for name, topology in declared.items() if topology.default]
    if len(declared) > 1 and len(defaults) != 1:
        yield at("nodes.topologies").error(
            f"must have default: true once, and has it {len(defaults)} times: it holds for partitions that name no topology"
        )
    for name, topology in declared.items():
        path = f"nodes.topologies.{name}"
        if (topology.tree is not None) + (topology.block is not None) + topology.flat != 1:
            yield at(path).error("must have exactly one of tree, block and flat: keep one of them")
        elif topology.tree is not None:
            yield from _tree(config, name, topology, path)
        elif topology.block is not None:
            yield from _block(config, name, topology.block, path)
    for setting in placed(config):
        yield from _unit_of(config, setting)
    yield from _partitions(config)
    yield from _without_unit_of(config)


def _hostlists(path: str, texts: tuple[str, ...]) -> Iterator[Finding]:
    for text in texts:
        if why := fault(text):
            yield at(path).error(f"has {name_of(text)}, which isn't a hostlist: {why}")


def _tree(config: StackConfig, name: str, topology: Topology, path: str) -> Iterator[Finding]:
    for upper, texts in (topology.tree or {}).items():
        yield from _hostlists(f"{path}.tree.{upper}", texts)
    tree = switches(config, name, topology)
    if not tree:
        yield at(f"{path}.tree").error(
            f"names no switch, and no node is placed in it: {ENDS}. Name the switches, or set flat: true"
        )
    above: dict[str, str] = {}
    for upper, below in tree.items():
        for lower in below:
            if above.setdefault(lower, upper) != upper:
                yield at(f"{path}.tree").error(
                    f"has {name_of(lower)} below {name_of(above[lower])} and below {name_of(upper)}: a switch of a tree is"
                    " below one other at the most"
                )
    for unit in tree:
        seen, upper = {unit}, above.get(unit, "")
        while upper and upper not in seen:
            seen.add(upper)
            upper = above.get(upper, "")
        if upper == unit:
            yield at(f"{path}.tree").error(f"has {name_of(unit)} below itself: {ENDS}. Remove it from the switches below")
            return


def _block(config: StackConfig, name: str, block: BlockTopology, path: str) -> Iterator[Finding]:
    yield from _hostlists(f"{path}.block.blocks", block.blocks)
    if not blocks(config, name, block):
        yield at(f"{path}.block").error(
            f"names no block, and no node is placed in it: {ENDS}. Name the blocks, or set flat: true"
        )
    first, *more = block.block_sizes
    factors = [size / first for size in more]
    powers = {float(2**level) for level in range(1, LEVELS)}
    if not set(factors) <= powers or factors != sorted(set(factors)):
        yield at(f"{path}.block.blockSizes").error(
            f"must grow, each the first ({first}) times a power of two below 2^{LEVELS}: {ENDS}"
        )


def _there(declared: Iterable[str]) -> str:
    return f"there are: {', '.join(map(name_of, declared)) or 'none'}"


def _unit_of(config: StackConfig, setting: Placed) -> Iterator[Finding]:
    """A unit that the file lacks, or that takes no nodes."""
    declared = config.nodes.topologies
    seen: set[str] = set()
    for place in setting.places:
        topology = declared.get(place.topology)
        if topology is None:
            yield at(setting.path).error(
                f"names topology {name_of(place.topology)}, which nodes.topologies lacks; {_there(declared)}. For a host's"
                f" line {ENDS}; a pod's node would have no place"
            )
            continue
        if place.topology in seen:
            yield at(setting.path).error(
                f"has two places in {name_of(place.topology)}: a node has one in each topology. Remove one"
            )
        seen.add(place.topology)
        if not topology.flat and not place.units:
            yield at(setting.path).error(
                f"has topology {name_of(place.topology)} without a switch or block: write {name_of(place.topology)}:NAME"
            )
        elif topology.tree is not None:
            yield from _switch(config, setting.path, place.topology, topology, place.units)
        elif topology.block is not None:
            has = blocks(config, place.topology, topology.block)
            if len(place.units) != 1 or place.units[0] not in has:
                yield at(setting.path).error(
                    f"has {name_of(':'.join(place.units))}, which isn't a block of {name_of(place.topology)}; it has"
                    f" {', '.join(map(name_of, has))}. Name one of these"
                )


def _switch(config: StackConfig, path: str, name: str, topology: Topology, units: tuple[str, ...]) -> Iterator[Finding]:
    tree = switches(config, name, topology)
    if tree[units[-1]]:
        yield at(path).error(
            f"puts nodes at {name_of(units[-1])}, which has switches below it: nodes are at the lowest switches only. Name"
            " one of those"
        )
    declared = topology.tree or {}
    known = {*declared, *(unit for upper in declared for unit in tree[upper])}
    if declared and units[0] not in known:
        yield at(path).error(
            f"has {name_of(units[0])}, which nodes.topologies.{name}.tree lacks. Add it below a switch there, or write the"
            f" way from the top: {name}:{next(iter(declared))}:{units[0]}"
        )


def _partitions(config: StackConfig) -> Iterator[Finding]:
    """Topology= of a partition, which names one topology."""
    for path, conf in partition_parameters(config).items():
        for key, value in conf.items():
            if key.lower() == "topology" and value not in config.nodes.topologies:
                yield at(f"{path}.{key}").error(
                    f"got {name_of(value)}, which nodes.topologies lacks; {_there(config.nodes.topologies)}: {ENDS}."
                    " Correct it, or add the topology there"
                )


def _without_unit_of(config: StackConfig) -> Iterator[Finding]:
    """Nodes outside the default topology run jobs of one node only (run on the lab, 26.05.5)."""
    declared = config.nodes.topologies
    name = default_of(declared)
    if declared[name].flat:
        return
    by_table = any(row.on_kubernetes and has_place(row.topology, name) for row in config.nodes.table)
    without = [host.name for host in config.external.slurmd_hosts if not has_place(parameter(host.config), name)]
    own = not config.operator_version.has_topology
    without += [
        nodeset_name
        for nodeset_name, nodeset in config.nodesets.items()
        if not by_table and not (own and has_place(parameter(nodeset.extra_conf), name))
    ]
    if without:
        yield at(f"nodes.topologies.{name}").warning(
            f"holds for partitions that name no topology, and {', '.join(map(name_of, without))} has no place in it:"
            " slurmctld refuses jobs of several nodes there (Requested topology configuration is not available). Give a"
            f" place to each (`topology` of a row{', Topology of extraConf' if own else ''}), or partitions of their own"
            " with a flat one",
            id="topology-without-place",
        )


def _removed(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """slurm-operator writes the place of each pod's node itself (``nodeset_sync.go``, ``syncSlurmTopology``)."""
    if not config.operator_version.has_topology:
        return
    for name, nodeset in config.nodesets.items():
        if parameter(nodeset.extra_conf) is not None:
            yield at(f"nodesets.{name}.extraConf.Topology").warning(
                f"doesn't last: slurm-operator {config.operator.version} sets each pod's place to that of its Kubernetes"
                " node, or to none. Give the Kubernetes nodes a row of nodes.table with names or a selector, and topology",
                id="topology-of-nodeset",
            )


RULES = (_rows, _prefix, _once, _declared, _removed)
