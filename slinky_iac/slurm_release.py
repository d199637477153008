"""Major releases of Slurm in their order, and the protocol numbers that stand for them."""

from __future__ import annotations

import re
from typing import Final

_MAJOR: Final = re.compile(r"(\d\d)\.(\d\d)")
_OLDEST_PROTOCOL: Final = 40 << 8
"""23.11's, from which on every major release has the next multiple of 256 (slurm_protocol_common.h)."""


def ordinal(release: str) -> int | None:
    """Major releases counted, two a year since 23.11: ``26.05.5`` is one after ``25.11``. None: not a release."""
    found = _MAJOR.match(release)
    return int(found[1]) * 2 + (int(found[2]) > 8) if found is not None else None


def of_protocol(rpc_version: int) -> str:
    """The major release that a protocol number stands for (11520 is 45 times 256, and 45 is 26.05); empty for none."""
    if rpc_version < _OLDEST_PROTOCOL or rpc_version % 256:
        return ""
    year, second = divmod((rpc_version >> 8) + 7, 2)
    return f"{year:02}.{'11' if second else '05'}"
