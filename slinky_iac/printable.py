"""Texts of others made harmless: no terminal escape, no bidirectional override, no line that isn't one.

Names of users, jobs, contexts and annotations are anybody's text, and every message of this program may quote one.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Control, format, surrogate and private characters, and Unicode's own line and paragraph separators."""


def sign(char: str) -> str:
    """A character, or a visible one in the place of one that controls what is shown."""
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(char) in _UNSEEN else char


def printable(text: str) -> str:
    """``text`` with its line breaks, and with nothing else that controls what is shown."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(" " if char in "\r\t" else char if char == "\n" else sign(char) for char in text)
