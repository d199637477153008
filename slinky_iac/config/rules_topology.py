"""Rules of topologies: what slurmctld refuses its whole configuration over, and ends.

Source: Slurm 26.05 ``switch_record.c``, ``block_record.c``, ``read_config.c`` (fatal there), run on the lab.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.nodes import fault
from slinky_iac.config.rules_slurm_conf import partition_parameters
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.topology import (
    FILE,
    MARK,
    BlockTopology,
    Placed,
    Topology,
    blocks,
    default_of,
    has_place,
    parameter,
    placed,
    switches,
)

TOPOLOGY_SINCE: Final = (25, 5)
"""Slurm's release that first has topology.yaml and Topology= of nodes."""
LEVELS: Final = 16
"""Most levels of blocks (``MAX_BLOCK_LEVELS``)."""
ENDS: Final = "slurmctld refuses its whole configuration over it, and ends"


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
    defaults = [name for name, each in declared.items() if each.default]
    if len(declared) > 1 and len(defaults) != 1:
        yield at("nodes.topologies").error(
            f"must have default: true once, and has it {len(defaults)} times: it holds for partitions that name no topology"
        )
    for name, each in declared.items():
        path = f"nodes.topologies.{name}"
        if (each.tree is not None) + (each.block is not None) + each.flat != 1:
            yield at(path).error("must have exactly one of tree, block and flat")
        elif each.tree is not None:
            yield from _tree(config, name, each, path)
        elif each.block is not None:
            yield from _block(config, name, each.block, path)
    for setting in placed(config):
        yield from _place(config, setting)
    yield from _partitions(config)
    yield from _without_place(config)


def _hostlists(path: str, texts: tuple[str, ...]) -> Iterator[Finding]:
    for text in texts:
        if why := fault(text):
            yield at(path).error(f"is no hostlist: {why}")


def _tree(config: StackConfig, name: str, topology: Topology, path: str) -> Iterator[Finding]:
    for upper, texts in (topology.tree or {}).items():
        yield from _hostlists(f"{path}.tree.{upper}", texts)
    found = switches(config, name, topology)
    if not found:
        yield at(f"{path}.tree").error(f"has no switch, and no node has a place in it: {ENDS}. Name its switches")
    above: dict[str, str] = {}
    for upper, below in found.items():
        for lower in below:
            if above.setdefault(lower, upper) != upper:
                yield at(f"{path}.tree").error(
                    f"has {name_of(lower)} below {name_of(above[lower])} and below {name_of(upper)}: a switch of a tree is"
                    " below one other at the most"
                )
    for unit in found:
        seen, upper = {unit}, above.get(unit, "")
        while upper and upper not in seen:
            seen.add(upper)
            upper = above.get(upper, "")
        if upper == unit:
            yield at(f"{path}.tree").error(f"has {name_of(unit)} below itself: {ENDS}")
            return


def _block(config: StackConfig, name: str, block: BlockTopology, path: str) -> Iterator[Finding]:
    yield from _hostlists(f"{path}.block.blocks", block.blocks)
    if not blocks(config, name, block):
        yield at(f"{path}.block").error(f"has no block, and no node has a place in it: {ENDS}. Name its blocks")
    first, *more = block.block_sizes
    factors = [size / first for size in more]
    powers = {float(2**level) for level in range(1, LEVELS)}
    if not set(factors) <= powers or factors != sorted(set(factors)):
        yield at(f"{path}.block.blockSizes").error(
            f"must grow, each the first ({first}) times a power of two below 2^{LEVELS}: {ENDS}"
        )


def _place(config: StackConfig, setting: Placed) -> Iterator[Finding]:
    """A unit that the file lacks, or that takes no nodes."""
    declared = config.nodes.topologies
    seen: set[str] = set()
    for place in setting.places:
        topology = declared.get(place.topology)
        if topology is None:
            yield at(setting.path).error(
                f"names topology {name_of(place.topology)}, which nodes.topologies lacks; it has"
                f" {', '.join(map(name_of, declared))}. For a host's line {ENDS}; a pod's node would have no place"
            )
            continue
        if place.topology in seen:
            yield at(setting.path).error(f"has two places in {name_of(place.topology)}: a node has one in each topology")
        seen.add(place.topology)
        if not topology.flat and not place.units:
            yield at(setting.path).error(f"names no switch or block of {name_of(place.topology)}: write topology:unit")
        elif topology.tree is not None:
            yield from _switch(config, setting.path, place.topology, topology, place.units)
        elif topology.block is not None:
            has = blocks(config, place.topology, topology.block)
            if len(place.units) != 1 or place.units[0] not in has:
                yield at(setting.path).error(
                    f"has {name_of(':'.join(place.units))}, which is no block of {name_of(place.topology)}; it has"
                    f" {', '.join(map(name_of, has))}"
                )


def _switch(config: StackConfig, path: str, name: str, topology: Topology, units: tuple[str, ...]) -> Iterator[Finding]:
    found = switches(config, name, topology)
    if found[units[-1]]:
        yield at(path).error(
            f"puts nodes at {name_of(units[-1])}, which has switches below it: nodes are at the lowest switches only"
        )
    declared = topology.tree or {}
    known = {*declared, *(unit for upper in declared for unit in found[upper])}
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
                yield at(f"{path}.{key}").error(f"got {name_of(value)}, which nodes.topologies lacks: {ENDS}")


def _without_place(config: StackConfig) -> Iterator[Finding]:
    """Nodes outside the default topology run jobs of one node only (run on the lab, 26.05.5)."""
    declared = config.nodes.topologies
    name = default_of(declared)
    if declared[name].flat:
        return
    by_table = any(row.on_kubernetes and has_place(row.topology, name) for row in config.nodes.table)
    without = [host.name for host in config.external.slurmd_hosts if not has_place(parameter(host.config), name)]
    own = not config.operator_version.has_topology
    without += [
        each
        for each, nodeset in config.nodesets.items()
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


RULES = (_declared, _removed)
