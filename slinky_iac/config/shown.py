"""How a message shows what was given: short and plain texts only, since a key may stand where it shouldn't.

Messages go to logs, pull requests and pages. So a text that is long, has several lines or looks like base64 is described
and never quoted, and fields that name Secrets are never quoted at all.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 40
"""Characters of the longest text that is shown: 32 bytes in base64, the shortest key, are 44."""
_CODED: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_CODED_PART: Final = re.compile(r"[A-Za-z0-9+/_-]{20,}")
_LONG: Final = re.compile(rf"[^\s.]{{{LONGEST + 1},}}")
_HIDDEN: Final = re.compile(r"(secret|entry|key|password|pass|token)\d*$", re.IGNORECASE)


class Refused(ValueError):
    """A value that a field can't have: the value, which a message may show or describe, and what is allowed."""

    def __init__(self, value: str, words: str) -> None:
        self.value, self.words = value, words
        super().__init__(f"got {shown(value)}{words}")


def shown(value: object) -> str:
    """A text in quotes, or what it is where it may be a secret."""
    text = str(value)
    if "\n" in text or "\r" in text:
        return f"a text of {len(text.splitlines())} lines (not shown)"
    if len(text) > LONGEST:
        return f"a text of {len(text)} characters (not shown)"
    if _coded(text):
        return f"a text of {len(text)} characters that looks like a key (not shown)"
    return repr(value)


def name_of(value: str) -> str:
    """A name in a message as it is, or what it is where it may be a secret."""
    return value if value.isprintable() and shown(value) == repr(value) else shown(value)


def place(path: str) -> str:
    """A path of settings for a message: a part that is longer than any name that people choose is described."""
    cut = _LONG.sub(lambda part: f"({len(part[0])} characters)", path)
    return cut if cut.isprintable() else ascii(cut)


def hidden(field: str) -> bool:
    """Whether a field's value is never shown: what is pasted there by mistake is the Secret's content."""
    return _HIDDEN.search(field) is not None


def _coded(text: str) -> bool:
    """Whether a short text may be a key, or a piece of one: base64's letters, and of all their kinds, as words have not."""
    found = _CODED.fullmatch(text) or _CODED_PART.search(text)
    if found is None:
        return False
    kinds = (str.isupper, str.islower, str.isdigit)
    return all(any(kind(letter) for letter in found[0]) for kind in kinds)
