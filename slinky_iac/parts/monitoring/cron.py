"""What a schedule of cron means, as the controller of CronJobs reads it (robfig/cron v3 ``ParseStandard``): five fields."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from slinky_iac.config.shown import name_of

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _DAYS),
)
_DAY_MIN: Final = 24 * 60
_EVERY: Final = frozenset({"*", "?"})


def longest_gap(schedule: str) -> int | None:
    """The most minutes between two times of a schedule; None where it leaves days out. Raises ValueError, which says what
    is wrong with it."""
    texts = schedule.split(" ")
    minutes, hours, *days = (_values(text, *field) for text, field in zip(texts, _FIELDS, strict=True))
    if any(len(values) <= most - least for values, (_, least, most, _) in zip(days, _FIELDS[2:], strict=True)):
        return None
    times = sorted(60 * hour + minute for hour in hours for minute in minutes)
    return max(after - before for before, after in pairwise([*times, times[0] + _DAY_MIN]))


def _values(text: str, field: str, least: int, most: int, names: tuple[str, ...]) -> frozenset[int]:
    return frozenset(value for part in text.split(",") for value in _of_range(part, field, least, most, names))


def _of_range(text: str, field: str, least: int, most: int, names: tuple[str, ...]) -> Iterator[int]:
    """``a``, ``a-b``, ``a/step`` (from a to the end) and ``a-b/step`` (``getRange``)."""
    ends, slash, step = text.partition("/")
    first, dash, last = ends.partition("-")
    if ends in _EVERY:
        begin, end = least, most
    else:
        begin = _number(first, names)
        end = _number(last, names) if dash else most if slash else begin
    wide = _number(step, ()) if slash else 1
    if not least <= begin <= end <= most or wide < 1:
        raise ValueError(f"has {name_of(text)}, which is no {field} of cron, which has numbers from {least} to {most}")
    yield from range(begin, end + 1, wide)


def _number(text: str, names: tuple[str, ...]) -> int:
    """-1, which no field has, for what is none."""
    low = text.lower()
    if low in names:
        return names.index(low) + (names is _MONTHS)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else -1
