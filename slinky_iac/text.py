"""Texts that people read: texts of others made harmless, and times in words.

Names of users, jobs, contexts and annotations are anybody's text: no terminal escape, no bidirectional override, no line
that is none, nothing that Markdown or HTML would take for more than text. Times are always UTC: reviewers sit in many zones.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from typing import Final

LONGEST: Final = 400
"""Characters of one text that are shown; a message of megabytes isn't read, and hides what is after it."""
MOST_IN_MESSAGE: Final = 300
"""Characters of others' text in an error message."""
_LIKE: Final = 0.75
"""Likeness, 0 to 1, from which on a word is taken for a misspelt one."""
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!|~>@:/=^$])")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Control, format, surrogate and private characters, and Unicode's own line and paragraph separators."""


def _sign(char: str) -> str:
    """A character, or a visible one in the place of one that controls what is shown."""
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(char) in _UNSEEN else char


def printable(text: str) -> str:
    """``text`` with its line breaks, and with nothing else that controls what is shown."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(" " if char in "\r\t" else char if char == "\n" else _sign(char) for char in text)


def one_line(text: str, longest: int = MOST_IN_MESSAGE) -> str:
    """``text`` fit for an error message: on one line, printable, short."""
    line = "".join(c if c.isprintable() else " " for c in text[: 4 * longest])
    line = " ".join(line.split())
    return line if len(line) <= longest else f"{line[:longest]}…"


def plain(text: str, longest: int = LONGEST) -> str:
    """One line without control, format or surrogate characters (terminal escapes, bidirectional overrides, line breaks);
    each becomes a blank or a visible sign."""
    cut = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(" " if char in "\n\r\t" else _sign(char) for char in cut).strip()


def markdown(text: str) -> str:
    """Text that GitHub shows as it is: no link, no mention, no image, no table cell, no HTML."""
    safe = html.escape(plain(text), quote=False)
    escaped = _MARKDOWN.sub(r"\\\1", safe)
    # A backslash doesn't stop GitHub from notifying who is @mentioned or linking an address: a word joiner inside does.
    return escaped.replace("\\@", "&#64;&#8288;").replace("\\:\\/", "\\:&#8288;\\/").replace("www\\.", "www&#8288;\\.")


def page(text: str, longest: int = LONGEST) -> str:
    """Text for HTML and SVG, inside elements and inside quoted attributes."""
    return html.escape(plain(text, longest), quote=True)


def moment(text: object, now: int | None = None) -> int | None:
    """Seconds since 1970 of an RFC 3339 text, fractions cut off; ``now`` is taken for the word now; None for all else."""
    if not isinstance(text, str):
        return None
    if text == "now":
        return now
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int(instant.timestamp()) if instant.tzinfo is not None else None


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


def latest(moments: Iterable[int | None], none: int = 0) -> int | None:
    """The last of them, ``none`` where there is none; None where one isn't known."""
    instants = tuple(moments)
    known = [instant for instant in instants if instant is not None]
    return max(known, default=none) if len(known) == len(instants) else None


def closest(word: str, known: Iterable[str]) -> str:
    """Which of the known words was meant by another one that is very like it, capital letters aside; empty where that would
    be a guess."""
    low = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(word.lower(), low, n=1, cutoff=_LIKE)
    return low[close[0]] if close else ""


def some(words: Iterable[str], most: int = 8) -> str:
    """``gpu-2, gpu-3``; of many the first, and how many more there are."""
    every = list(words)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def counted(number: int, what: str = "job") -> str:
    """``1 job``, ``2 jobs``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def listed(faults: Sequence[str], where: str = "") -> str:
    """``2 errors`` and where, then each on a line of its own."""
    return "\n".join((f"{counted(len(faults), 'error')}{where}:", *(f"  {fault}" for fault in faults)))


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


UTC_ZONE: Final = " UTC"


def until(moment: int | None, now: int, zone: str = "") -> str:
    """``06:41 (in 12 min)``; ``zone``: behind the time where nothing else on the screen says that it is UTC."""
    if moment is None:
        return "unknown"
    if moment <= now:
        return "now"
    return f"{at(moment, now)}{zone} (in {span(moment - now)})"
