"""Generic resources of nodes: what one item of Gres= says.

Source: slurm.conf(5), Gres and GresTypes; ``_get_gres_cnt`` of src/interfaces/gres.c, which parts items at commas and the
parts of one at colons, takes for a count what begins with a digit behind the last colon, and knows the units of
``suffix_mult`` (common/slurm_protocol_defs.c).
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
_NUMBER: Final = "([0-9]+)((?:[kmgtp](?:i?b)?)?)"
_ITEM: Final = re.compile(
    rf"({_NAME})(:(?!no_consume(?::|$)|[0-9]+(?:[kmgtp](?:i?b)?)?$){_TYPE})?(:no_consume)?(?::{_NUMBER})?", re.IGNORECASE
)


@dataclass(frozen=True)
class GresItem:
    """``name[:type][:no_consume][:count]``."""

    name: str
    count: int
    type: str = ""
    """As it is written: slurmctld tells capital letters apart. Empty without."""

    @property
    def typed(self) -> bool:
        """Whether it has a type."""
        return bool(self.type)

    def of(self, name: str, count: int) -> str:
        """The item's text with another name and count."""
        return ":".join(filter(None, (name, self.type, str(count))))

    @classmethod
    def parse(cls, text: str) -> GresItem | None:
        """None: it isn't an item of Gres=. A type that begins with a digit needs a count behind it: Slurm would take it for
        one and drop the item ("Bad GRES configuration")."""
        match = _ITEM.fullmatch(text)
        if match is None or (match[2] and match[4] is None and match[2][1].isdigit()):
            return None
        digits, unit = match[4] or "1", (match[5] or "").lower()
        return cls(match[1], int(digits) * _size(unit) if len(digits) < 16 else 0, (match[2] or "")[1:])


def _size(unit: str) -> int:
    """What a unit stands for: k and kib are 1024, kb is 1000."""
    base = 1000 if len(unit) == 2 else 1024
    power: int = "kmgtp".index(unit[0]) + 1 if unit else 0
    return int(base**power)


def items(parameters: Mapping[str, str]) -> tuple[GresItem, ...]:
    """What a node's parameters say in Gres=; an item that can't be read is left out."""
    texts = [text for key, text in parameters.items() if key.lower() == "gres"]
    parsed = (GresItem.parse(re.sub(r"\(.*\)$", "", item)) for text in texts for item in text.split(","))
    return tuple(gres_item for gres_item in parsed if gres_item is not None)
