"""What `keys show` and `keys verify` print of rows: ages, and plain data. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from slinky_iac.commands.rotation.agreement import Agreement, Held


def age(seconds: int | None) -> str:
    """``12d``, ``3h``, ``5m``: the largest unit that fits."""
    if seconds is None:
        return "-"
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def plain(rows: Sequence[Held | Agreement]) -> list[dict[str, object]]:
    """Rows for JSON."""
    return [asdict(row) for row in rows]
