"""Places of nodes in Slurm's topology, as ``Topology=`` has them. Pure.

Source: Slurm 26.05 ``topology_g_add_rm_node`` (interfaces/topology.c).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a node is in one topology: its unit, and for a tree what is above it, the highest first."""

    topology: str
    units: tuple[str, ...]


def places_of(text: str) -> tuple[Place, ...]:
    """``topo-switch:core:s1,topo-block:b1`` as slurmctld reads it (``topology_g_add_rm_node``)."""
    split = (place.split(":") for place in text.split(",") if place)
    return tuple(Place(name, tuple(unit for unit in units if unit)) for name, *units in split)


def parameter(conf: Mapping[str, str]) -> str | None:
    """``Topology=`` among a node's parameters."""
    return next((text for key, text in conf.items() if key.lower() == "topology"), None)


def has_place(text: str | None, name: str) -> bool:
    """Whether a value of ``Topology=`` has a place in this topology."""
    return any(place.topology == name for place in places_of(text or ""))
