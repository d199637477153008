"""Topologies of Slurm: what `nodes.topologies` declares, the places that nodes have in them, and topology.yaml from both.

Sources: topology.yaml(5); Slurm's "Topology Guide" (Dynamic Topology); Slurm 26.05 ``topology_tree.c``, ``switch_record.c``,
``block_record.c``. Nodes are never in the file: each comes into its unit by its own ``Topology=``, so that a file for nodes
that don't exist yet is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm.places import Place, parameter, places_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import HostlistError
from slinky_iac.hostlist import expand
from slinky_iac.parts.node_table.settings import BlockTopology, Topology

FILE: Final = "topology.yaml"
PLUGIN: Final = "TopologyPlugin"
_FLAT: Final = frozenset({"", "topology/flat", "topology/default"})
MARK: Final = "# by slinky-iac, from nodes.topologies and the places of nodes"
"""First line of the file; by it a hand-off knows a file of ours from an admin's own."""


@dataclass(frozen=True)
class Placed:
    """A setting that gives nodes their places."""

    path: str
    places: tuple[Place, ...]


def placed(config: StackConfig) -> Iterator[Placed]:
    """Each setting that gives nodes a place: rows of the table, NodeSets' extraConf, hosts' own parameters."""
    in_rows: set[str] = set()
    for number, row in enumerate(config.nodes.table):
        if row.topology is not None:
            in_rows.update(row.hosts)
            yield Placed(f"nodes.table.{number}.topology", places_of(row.topology))
    for name, nodeset in config.nodesets.items():
        if (text := parameter(nodeset.extra_conf)) is not None:
            yield Placed(f"nodesets.{name}.extraConf.Topology", places_of(text))
    for host in config.external.slurmd_hosts:
        if host.name not in in_rows and (text := parameter(host.config)) is not None:
            yield Placed(f"{host.path}.config.Topology", places_of(text))


def names(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Units of hostlists; one that can't be read stays as it is, and a rule names it."""
    units: list[str] = []
    for text in texts:
        try:
            units += expand(text)
        except HostlistError:
            units.append(text)
    return tuple(dict.fromkeys(units))


def switches(config: StackConfig, name: str, topology: Topology) -> dict[str, tuple[str, ...]]:
    """All switches of a tree, each with those below it; a lowest one has none."""
    below = {upper: list(names(texts)) for upper, texts in sorted((topology.tree or {}).items())}
    for upper in list(below):
        for lower in below[upper]:
            below.setdefault(lower, [])
    for units in _units(config, name):
        for at, unit in enumerate(units):
            below.setdefault(unit, [])
            if at and unit not in below[units[at - 1]]:
                below[units[at - 1]].append(unit)
    return {unit: tuple(lower) for unit, lower in below.items()}


def blocks(config: StackConfig, name: str, block: BlockTopology) -> tuple[str, ...]:
    """All blocks of a topology, in their order."""
    return names(block.blocks) or tuple(dict.fromkeys(units[-1] for units in _units(config, name)))


def _units(config: StackConfig, name: str) -> Iterator[tuple[str, ...]]:
    for setting in placed(config):
        yield from (place.units for place in setting.places if place.topology == name and place.units)


def text_of(config: StackConfig) -> str:
    """topology.yaml; empty where the stack declares none. What slurmctld would refuse is for the rules to name."""
    document = _document(config)
    return f"{MARK}\n{yaml.safe_dump(document, sort_keys=False, width=4096)}" if document else ""


def outside_text(config: StackConfig) -> str:
    """The same for the admin of an outside slurmctld; empty where the stack itself gives slurmctld the file."""
    return "" if config.slurmctld.owns_conf else text_of(config)


def entries(config: StackConfig) -> tuple[str, ...]:
    """What a file of another's must name for this stack: ``topology: NAME``, ``switch: NAME``, ``block: NAME``."""
    lines: list[str] = []
    for topology in _document(config):
        lines.append(f"topology: {topology['topology']}")
        lines += [f"switch: {unit['switch']}" for unit in topology.get("tree", {}).get("switches", ())]
        lines += [f"block: {unit['block']}" for unit in topology.get("block", {}).get("blocks", ())]
    return tuple(lines)


def pods_without_place(running: Mapping[str, str], config: StackConfig | None) -> Iterator[str]:
    """What jobs of several nodes meet on pods that join a cluster with a topology in its slurm.conf."""
    plugin = running.get(PLUGIN, "")
    if plugin not in _FLAT and (config is None or not config.nodes.topologies):
        yield (
            f"{PLUGIN} is {name_of(plugin)}, and pods have no place in it: jobs of several nodes may never"
            " start on them. Give them places with nodes.topologies (`slinky docs node-table Topology`), or keep their jobs"
            " apart"
        )


def default_of(declared: Mapping[str, Topology]) -> str:
    """The topology of partitions that name none. Pulumi sorts the settings, so their order says nothing."""
    return min(declared, key=lambda name: (not declared[name].default, name))


def _document(config: StackConfig) -> list[dict[str, Any]]:
    declared = config.nodes.topologies
    if not declared:
        return []
    default = default_of(declared)
    return [
        {"topology": name, "cluster_default": name == default, **_body(config, name, topology)}
        for name, topology in sorted(declared.items())
    ]


def _body(config: StackConfig, name: str, topology: Topology) -> dict[str, Any]:
    if topology.tree is not None:
        tree = switches(config, name, topology)
        return {"tree": {"switches": [_switch(unit, below) for unit, below in tree.items()]}}
    if topology.block is not None:
        found_blocks = [{"block": unit} for unit in blocks(config, name, topology.block)]
        return {"block": {"block_sizes": list(topology.block.block_sizes), "blocks": found_blocks}}
    return {"flat": True}


def _switch(unit: str, below: tuple[str, ...]) -> dict[str, str]:
    return {"switch": unit} | ({"children": ",".join(below)} if below else {})
