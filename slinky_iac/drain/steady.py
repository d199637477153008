"""A deadline that a change of the clock doesn't bring forward.

Deadlines are seconds since the epoch, since they are told to people and noted on pods. A clock that is put right in the
middle of a wait (NTP after a boot, a laptop that slept) would end it at once, and at a deadline a policy may cancel jobs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TOLERANCE_S: Final = 30
"""Less than this is rounding and drift."""


@dataclass
class Clocks:
    """Two clocks side by side: ``wall``, which may be set, and ``steady``, which only runs. Both in seconds."""

    wall: float
    steady: float

    def jumped(self, wall: float, steady: float) -> int:
        """By how many seconds the wall clock was set since the last jump that was told; 0 where it wasn't."""
        jump = (wall - self.wall) - (steady - self.steady)
        if abs(jump) < TOLERANCE_S:
            return 0
        self.wall, self.steady = wall, steady
        return round(jump)
