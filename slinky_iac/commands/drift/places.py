"""Places in Slurm's topology, as the stack gives them, against those that slurmctld has. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from slinky_iac.config.slurm.places import places_of
from slinky_iac.slurmrest.objects import Node

_LINE: Final = re.compile(r"^\s*NodeName=(\S+)\s(?:.*\s)?Topology=(\S+)", re.IGNORECASE | re.MULTILINE)
_OPTION: Final = re.compile(r"(?:^|\s)Topology=(\S+)", re.IGNORECASE)


def places_of_hosts(text: str) -> dict[str, str]:
    """Places of hosts by their NodeName= lines."""
    return dict(_LINE.findall(text))


def place_of_nodeset(extra_conf: str) -> str:
    """The place that a NodeSet's slurmd registers with; empty for none."""
    match = _OPTION.search(extra_conf)
    return match[1] if match else ""


def _where(text: str) -> Mapping[str, str]:
    """Unit by topology; the way to it is not compared, since slurmctld knows it from its file."""
    return {place.topology: place.units[-1] if place.units else "" for place in places_of(text)}


def misplaced(node: Node, wanted: str, *, by_nodeset: bool = False) -> str:
    """What differs; empty where nothing does, and where this slurmrestd doesn't tell (before Slurm 25.05).

    ``by_nodeset``: its NodeSet's extraConf gives the place.
    """
    if not wanted or node.topology is None or _where(node.topology) == _where(wanted):
        return ""
    got = f"at {node.topology}" if node.topology else "at no place"
    lasts = (
        ". slurm-operator 1.1 and newer remove a place that extraConf gives: there, give the Kubernetes nodes a row of"
        " nodes.table with topology instead"
        if by_nodeset
        else ""
    )
    return (
        f"slurmctld has {node.name} {got} in its topology, and the stack at {wanted}: jobs of several nodes are placed by"
        " the wrong switch or block, or refused. slurmctld drains a pod's node that registers with a unit that it lacks:"
        " give slurmctld the units (`pulumi stack output outsideTopology`, where it is external), then `scontrol"
        f" reconfigure`, and `scontrol update nodename={node.name} topology={wanted}`{lasts}"
    )
