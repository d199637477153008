"""Rows of `slinky preflight` about topology.yaml. Pure."""

from __future__ import annotations

from typing import Final

from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm.places import Place, places_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.node_table.topology import blocks, switches
from slinky_iac.preflight.check import Answers, Expect, fine, problem
from slinky_iac.preflight.facts import Facts


def _has(config: StackConfig, place: Place) -> bool:
    topology = config.nodes.topologies.get(place.topology)
    if topology is None:
        return False
    if topology.tree is not None:
        return bool(place.units) and place.units[-1] in switches(config, place.topology, topology)
    return topology.block is None or place.units in {(unit,) for unit in blocks(config, place.topology, topology.block)}


def _units(config: StackConfig, facts: Facts) -> Answers:
    """Every place that a node has now is in the topology.yaml that the update writes: slurmctld ends where one isn't (Slurm
    26.05 ``read_config.c``, where ``topology_g_add_rm_node`` fails for a saved place that the file lacks)."""
    if not config.nodes.topologies:
        return
    taken = [node for node in facts.slurm.nodes or () if node.topology]
    lacking = {node.name: place for node in taken for place in places_of(node.topology or "") if not _has(config, place)}
    if lacking:
        first, place = next(iter(lacking.items()))
        more = f" ({len(lacking) - 1} more like it)" if len(lacking) > 1 else ""
        yield problem(
            f"lacks {name_of(':'.join((place.topology, *place.units)))}, where slurmctld has {first}{more}: slurmctld ends"
            " when it reads the file",
            "Keep the unit in nodes.topologies until no node has it: first move the nodes, then remove the unit in a later"
            " update",
        )
    elif taken:
        yield fine(f"has the place of each node ({len(taken)})")


EXPECTED: Final = (Expect("topology", "topology.yaml", "slurmctld", _units),)
