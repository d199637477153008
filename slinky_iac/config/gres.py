"""Generic resources of nodes: what one item of Gres= says.

Source: slurm.conf(5), Gres and GresTypes; ``src/interfaces/gres.c``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

SHARED: Final = frozenset({"mps", "shard"})
"""Types that divide GPUs: without gpu beside them in GresTypes slurmctld ends (gres.c, ``gres_is_shared_name``)."""
_NAME: Final = "[A-Za-z0-9_][A-Za-z0-9_.-]*"
_TYPE: Final = r"[A-Za-z0-9_][A-Za-z0-9_.+-]*"
_ITEM: Final = re.compile(rf"({_NAME})(:(?!no_consume|[0-9]+$){_TYPE})?(:no_consume)?(:[0-9]+[KMGTP]?)?")
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
