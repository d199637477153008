"""Times as slurm.conf writes them. Pure.

Source: ``time_str2secs`` and ``time_str2mins`` of common/parse_time.c, slurm.conf(5).
"""

from __future__ import annotations

import re
from typing import Final

_TIME: Final = re.compile(r"(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?")


def minutes(text: str) -> int | None:
    """Minutes of a time, seconds rounded up as slurmctld does; None where there is no limit, or none that can be read."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    days, *rest = match.groups()
    numbers = [int(digits) for digits in rest if digits is not None]
    if days is not None:
        hours, whole, seconds = (*numbers, 0, 0)[:3]
        return int(days) * 1440 + hours * 60 + whole + (seconds + 59) // 60
    if len(numbers) == 3:
        return numbers[0] * 60 + numbers[1] + (numbers[2] + 59) // 60
    return numbers[0] + ((numbers[1] + 59) // 60 if len(numbers) == 2 else 0)
