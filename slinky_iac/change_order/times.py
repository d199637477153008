"""Absolute times and how long from the preview: always UTC, for reviewers sit in many zones."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo


def seconds(text: object, now: int) -> int | None:
    """Seconds since the epoch of ``2026-11-21T06:41:00Z``; ``now`` is taken for the word now; None for all else."""
    if text == "now":
        return now
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int(moment.timestamp()) if moment.tzinfo is not None else None


def at(moment: int | None, now: int) -> str:
    """``06:41`` on the day of ``now``, else ``22 Nov 06:41``; ``unknown`` for None."""
    if moment is None:
        return "unknown"
    when = datetime.fromtimestamp(moment, tz=UTC)
    return when.strftime("%H:%M" if when.date() == datetime.fromtimestamp(now, tz=UTC).date() else "%-d %b %H:%M")


def full(moment: int) -> str:
    """``2026-11-21 06:41 UTC``."""
    return datetime.fromtimestamp(moment, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")


def local(moment: int, zone: tzinfo | None) -> str:
    """``01:46 CST``, the same moment in a reader's zone; empty where that is UTC or isn't known."""
    if zone is None:
        return ""
    when = datetime.fromtimestamp(moment, tz=zone)
    return "" if not when.utcoffset() else when.strftime("%-d %b %H:%M %Z")


def stamp(moment: int) -> str:
    """``2026-11-21T06:41:00Z``, for machines."""
    return datetime.fromtimestamp(moment, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def span(length: int) -> str:
    """``45 s``, ``12 min``, ``2 h 5 min``, ``3 d 4 h``."""
    length = abs(length)
    if length < 60:
        return f"{length} s"
    minutes = round(length / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def until(moment: int | None, now: int) -> str:
    """``06:41 (in 12 min)``."""
    if moment is None:
        return "unknown"
    if moment <= now:
        return "now"
    return f"{at(moment, now)} (in {span(moment - now)})"
