"""How many examples hypothesis tries: a fifth of each test's own number in every run, ten times it in the fuzz tier."""

from __future__ import annotations

import os
from typing import Final

SHARE: Final = float(os.environ.get("SLINKY_EXAMPLES", "0.2"))


def examples(number: int) -> int:
    """``number`` as this run has it."""
    return max(10, round(number * SHARE))
