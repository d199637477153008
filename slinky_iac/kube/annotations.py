"""Texts of annotations as slurm-operator reads them."""

from __future__ import annotations

import re
from typing import Final

_COST: Final = re.compile(r"0|[1-9][0-9]{0,9}|-[0-9]{1,20}", re.ASCII)


def read_cost(text: str | None) -> int:
    """A deletion cost annotation as the operator reads it (GetNumberFromAnnotations): an int32, and 0 for all else, so
    for ``+3`` and ``007`` too."""
    cost = int(text) if text is not None and _COST.fullmatch(text) else 0
    return cost if -(1 << 31) <= cost < 1 << 31 else 0


def read_flag(text: str | None) -> bool:
    """A boolean annotation as the operator reads it (Go's strconv.ParseBool)."""
    return text in {"1", "t", "T", "true", "True", "TRUE"}
