"""Which generic resources a stack's nodes have."""

from __future__ import annotations

from slinky_iac.config.gres import SHARED, GresItem, items
from slinky_iac.config.stack import StackConfig


def by_node(config: StackConfig) -> dict[str, tuple[GresItem, ...]]:
    """The same by the path of the setting, for NodeSets and outside hosts that have any."""
    found = {f"nodesets.{name}.gres": items(each.slurmd_conf) for name, each in config.nodesets.items()}
    for host in config.external.slurmd_hosts:  # those of one entry may differ by the node table
        path = f"{host.path}.config"
        found[path] = tuple(dict.fromkeys((*found.get(path, ()), *items(host.config))))
    return {path: each for path, each in found.items() if each}


def types_of(config: StackConfig) -> tuple[str, ...]:
    """Names for GresTypes=: what NodeSets and outside hosts have, and gpu beside what divides GPUs."""
    names = {each.name for found in by_node(config).values() for each in found}
    return tuple(sorted(names | ({"gpu"} if names & SHARED else set())))
