"""Generic resources of nodes: what one item of Gres= says, and which types a stack's nodes have.

Source: slurm.conf(5), Gres and GresTypes; ``src/interfaces/gres.c``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from slinky_iac.config.stack import StackConfig

SHARED: Final = frozenset({"mps", "shard"})
"""Types that divide GPUs: without gpu beside them in GresTypes slurmctld ends (gres.c, ``gres_is_shared_name``)."""
_NAME: Final = "[A-Za-z0-9_][A-Za-z0-9_.-]*"
_ITEM: Final = re.compile(rf"({_NAME})(:(?!no_consume|[0-9]+$){_NAME})?(:no_consume)?(:[0-9]+[KMGTP]?)?")
_UNITS: Final = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}


@dataclass(frozen=True)
class GresItem:
    """``name[:type][:no_consume][:count]``."""

    name: str
    count: int

    @classmethod
    def parse(cls, text: str) -> GresItem | None:
        """None: it isn't an item of Gres=."""
        found = _ITEM.fullmatch(text)
        if found is None:
            return None
        count = (found[4] or ":1")[1:]
        digits = count.rstrip("KMGTP")
        return cls(found[1], int(digits) * _UNITS[count[len(digits) :]] if len(digits) < 16 else 0)


def items(parameters: Mapping[str, str]) -> tuple[GresItem, ...]:
    """What a node's parameters say in Gres=; an item that can't be read is left out."""
    texts = [text for key, text in parameters.items() if key.lower() == "gres"]
    parsed = (GresItem.parse(re.sub(r"\(.*\)$", "", item)) for text in texts for item in text.split(","))
    return tuple(each for each in parsed if each is not None)


def by_node(config: StackConfig) -> dict[str, tuple[GresItem, ...]]:
    """The same by the path of the setting, for NodeSets and outside hosts that have any."""
    found = {f"nodesets.{name}.gres": items(each.slurmd_conf) for name, each in config.nodesets.items()}
    hosts = enumerate(config.external.slurmd_hosts)
    found |= {f"external.slurmdHosts.{number}.config": items(host.config) for number, host in hosts}
    return {path: each for path, each in found.items() if each}


def types_of(config: StackConfig) -> tuple[str, ...]:
    """Names for GresTypes=: what NodeSets and outside hosts have, and gpu beside what divides GPUs."""
    names = {each.name for found in by_node(config).values() for each in found}
    return tuple(sorted(names | ({"gpu"} if names & SHARED else set())))
