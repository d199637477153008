"""What a site has declared: resources and fields that aren't the program's, each with a reason, an owner and an end."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

FIELDS: Final = ("what", "reason", "owner", "until")
SCHEMA: Final[Mapping[str, Any]] = {
    "type": "array",
    "description": "What isn't the program's and may be there; `slinky policies accept` writes it.",
    "items": {
        "type": "object",
        "properties": {
            "what": {"type": "string", "pattern": r"^[A-Za-z:/.-]+/[^/]*/[^/]+$|^[A-Za-z:/.-]+/[^/]*/[^:]+:.+$"},
            "reason": {"type": "string", "minLength": 8},
            "owner": {"type": "string", "minLength": 2},
            "until": {"type": "string", "format": "date"},
        },
        "required": list(FIELDS),
        "additionalProperties": False,
    },
}


def today() -> datetime.date:
    """The day by which entries end."""
    return datetime.datetime.now(tz=datetime.UTC).date()


def declared(what: str, entries: Iterable[Mapping[str, Any]], now: datetime.date) -> str | None:
    """Why a fault stands: empty where an entry covers it, the reason where one has ended, None where there is none."""
    said = None
    for entry in entries:
        if not _covers(str(entry.get("what", "")), what):
            continue
        until = _date(entry.get("until"))
        if until is None or not all(str(entry.get(field) or "").strip() for field in FIELDS):
            said = f"its entry in the site file lacks {', '.join(f for f in FIELDS if not entry.get(f)) or 'a date (until)'}"
        elif until < now:
            said = f"its entry in the site file ended on {until}"
        else:
            return ""
    return said


def _covers(entry: str, what: str) -> bool:
    """``*`` stands for a part of a name; an entry without a path covers all of its object."""
    if not entry or entry.rsplit("/", maxsplit=1)[-1].split(":", maxsplit=1)[0].strip("*") == "":
        return False
    return fnmatchcase(what, entry) or fnmatchcase(what, f"{entry}:*") or what == entry


def _date(text: object) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(str(text))
    except ValueError:
        return None
