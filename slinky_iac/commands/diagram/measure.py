"""How wide words are, without a browser: by the widest of the common interface fonts, so that they fit in every one."""

from __future__ import annotations

from typing import Final

_NARROW: Final = {0.28: "ijl|'", 0.34: " .,:;/![]", 0.40: "-()frt·", 0.53: "csz?_", 0.60: "vxyka"}
_WIDE: Final = {0.64: "0123456789", 0.75: "ABCDEFGHKNPQRSTUVXYZ&", 0.98: "mMWw%@…"}
_EM: Final = {char: em for table in (_NARROW, _WIDE) for em, chars in table.items() for char in chars}
"""DejaVu Sans, in em, rounded up; it is wider than Arial, Segoe UI, Roboto and San Francisco."""
_OTHER: Final = 0.66
_ASIAN: Final = 1.05
_BOLD: Final = 1.13


def width(text: str, size: float, *, bold: bool = False) -> float:
    """At most so many pixels wide in letters of ``size`` pixels."""
    ems = sum(_EM.get(char, _OTHER if ord(char) < 0x2E80 else _ASIAN) for char in text)
    return ems * size * (_BOLD if bold else 1.0)


def wrapped(text: str, size: float, room: float, most: int, *, bold: bool = False) -> tuple[str, ...]:
    """``text`` in at most ``most`` lines no wider than ``room``: broken at blanks, else behind ``-./:,``, else anywhere.
    What is too much ends in an ellipsis."""
    lines: list[str] = []
    left = text.strip()
    while left and len(lines) < most:
        if width(left, size, bold=bold) <= room:
            return (*lines, left)
        if len(lines) == most - 1:
            return (*lines, _cut(left, size, room, bold=bold))
        end = _break(left, size, room, bold=bold)
        lines.append(left[:end].strip())
        left = left[end:].strip()
    return tuple(lines)


def _fits(text: str, size: float, room: float, *, bold: bool) -> int:
    """How many characters from the beginning fit; at least one."""
    end = 1
    while end < len(text) and width(text[: end + 1], size, bold=bold) <= room:
        end += 1
    return end


def _break(text: str, size: float, room: float, *, bold: bool) -> int:
    end = _fits(text, size, room, bold=bold)
    blank = text.rfind(" ", 0, end + 1)
    if blank > 0:
        return blank
    marks = [at + 1 for at in range(end) if text[at] in "-./:,"]
    return marks[-1] if marks and marks[-1] > end // 3 else end


def _cut(text: str, size: float, room: float, *, bold: bool) -> str:
    return text[: _fits(text, size, room - width("…", size, bold=bold), bold=bold)].rstrip() + "…"
