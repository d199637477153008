"""Node records that slurmctld must have room for. Pure.

MaxNodeCount is the most records that there may be, those of slurm.conf's NodeName= lines among them: slurmctld makes no
record at that number or beyond it (src/common/node_conf.c, create_node_record_at). Without the parameter, or with less than
slurm.conf has nodes, it takes the number of those, and no pod can register (src/slurmctld/read_config.c, read_slurm_conf;
25.11 and 26.05). `scontrol show config` shows that number then, so it can't be told from one that an admin wrote.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from slinky_iac.config.stack import StackConfig
from slinky_iac.names import registered_by

COUNT: Final = "scontrol -o show node | grep -c ^NodeName="
"""Counts slurmctld's nodes, on its host."""
_SUFFIXES: Final = "*~#!%$@^-"
"""Signs that Slurm's commands put behind a base state (sinfo(1), NODE STATE CODES)."""


class Registered(Protocol):
    """A node as slurmctld has it."""

    @property
    def name(self) -> str:
        """NodeName."""
        ...

    def registered_by(self, nodeset: str) -> bool:
        """Whether a pod of the NodeSet registered it."""
        ...


@dataclass(frozen=True)
class RecordedNode:
    """A node of which `scontrol show node` told no more."""

    name: str
    states: frozenset[str]
    features: tuple[str, ...]

    def registered_by(self, nodeset: str) -> bool:
        """Whether a pod of the NodeSet registered it."""
        return registered_by(self.states, self.features, nodeset)


def recorded(lines: Iterable[str] | None) -> tuple[RecordedNode, ...] | None:
    """The nodes in lines with `NodeName=`, `AvailableFeatures=` and `State=`; None where there are no lines to read, or one
    is anything else."""
    if lines is None:
        return None
    nodes: list[RecordedNode] = []
    for line in lines:
        words: dict[str, str] = {}
        for word in line.split():  # the first of a name: what comes later may be somebody's text
            key, _, value = word.partition("=")
            words.setdefault(key, value)
        if not words.get("NodeName"):
            return None
        states = frozenset(state.rstrip(_SUFFIXES) for state in words.get("State", "").split("+"))
        nodes.append(RecordedNode(words["NodeName"], states, tuple(words.get("AvailableFeatures", "").split(","))))
    return tuple(nodes)


@dataclass(frozen=True)
class NodeRecords:
    """How many records there may be at once."""

    pods: int
    """Of the stack's pods: an autoscaler's at its most, and not less than have registered."""
    others: int
    """Of hosts outside that the stack names, and of all other nodes that slurmctld has."""

    @property
    def total(self) -> int:
        """The least MaxNodeCount that has room for all."""
        return self.pods + self.others


def node_records(config: StackConfig, live: Iterable[Registered] = ()) -> NodeRecords:
    """The records of a stack. ``live``: the nodes that slurmctld has now; none where that isn't known."""
    seen = {node.name: any(node.registered_by(nodeset) for nodeset in config.nodesets) for node in live}
    pods = sum(nodeset.most for nodeset in config.nodesets.values())
    others = {host.name for host in config.external.slurmd_hosts} | {name for name, ours in seen.items() if not ours}
    return NodeRecords(max(pods, sum(seen.values())), len(others))
