"""Names of users, jobs and partitions are anybody's text: made harmless for a terminal, for Markdown, for HTML."""

from __future__ import annotations

import html
import re
from typing import Final

from slinky_iac.printable import sign

_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!|~>@:/=^$])")
LONGEST: Final = 400
"""Characters of one text that are shown; a message of megabytes isn't read, and hides what is after it."""


def plain(text: str, longest: int = LONGEST) -> str:
    """One line without control, format or surrogate characters (terminal escapes, bidirectional overrides, line breaks);
    each becomes a blank or a visible sign."""
    cut = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(" " if char in "\n\r\t" else sign(char) for char in cut).strip()


def markdown(text: str) -> str:
    """Text that GitHub shows as it is: no link, no mention, no image, no table cell, no HTML."""
    safe = html.escape(plain(text), quote=False)
    escaped = _MARKDOWN.sub(r"\\\1", safe)
    # A backslash doesn't stop GitHub from notifying who is @mentioned or linking an address: a word joiner inside does.
    return escaped.replace("\\@", "&#64;&#8288;").replace("\\:\\/", "\\:&#8288;\\/").replace("www\\.", "www&#8288;\\.")


def page(text: str, longest: int = LONGEST) -> str:
    """Text for HTML and SVG, inside elements and inside quoted attributes."""
    return html.escape(plain(text, longest), quote=True)
