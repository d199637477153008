"""Why a file isn't valid YAML, in words of indentation and lines in place of a parser's tokens. Pure."""

from __future__ import annotations

import re
from typing import Final

_NO_SPACE: Final = re.compile(r"\s*(?:- )?[A-Za-z][A-Za-z0-9-]*:[^\s:/#'\"{\[][^:]*")
_BARE: Final = re.compile(r"\s*[A-Za-z][A-Za-z0-9-]*(?: [^:#]+)?")
_VALUE: Final = re.compile(r"\s*(?:- )?[^\s#'\"][^#'\"]*?:\s+(\S.*)")
_PAIR: Final = re.compile(r"\s*(?:- )?[^\s#][^#]*?:\s+[^\s#].*")


def explained(text: str, line: int) -> tuple[int, str] | None:  # noqa: PLR0911 - one return a fault
    """What is wrong near ``line``, at which a parser stopped, and in which line; None where only the parser can say."""
    lines = text.splitlines()
    here = min(line, len(lines))
    before = _before(lines, here)
    for number in (before, here):
        if 0 < number <= len(lines) and _NO_SPACE.fullmatch(lines[number - 1]):
            return number, f"a space is missing after `:` on line {number}"
    for number in (here, before):
        if 0 < number <= len(lines) and (why := _of_quotes(lines[number - 1], number)):
            return number, why
    if not 0 < before < here:
        return None
    if _BARE.fullmatch(lines[before - 1]) and ":" in lines[here - 1]:
        return before, f"line {before} has no `:` behind its name: write `NAME: VALUE`"
    now, then = _indent(lines[here - 1]), _indent(lines[before - 1])
    if now > then and _PAIR.fullmatch(lines[before - 1]):
        return here, (
            f"line {here} is indented more than line {before}, which has a value already: indent both alike, by as many"
            " spaces as the settings beside them"
        )
    if now < then and now not in _levels(lines, before):
        return here, (
            f"line {here} is indented less than line {before}, and not as any line above it that it could belong to: give"
            " settings of one level the same number of spaces"
        )
    first = _first_of_list(lines, here)
    if first and not lines[here - 1].lstrip().startswith("- "):
        return here, f"line {here} has no `- `, and is beside a list that begins in line {first}"
    return None


def _of_quotes(line: str, number: int) -> str:
    """What is wrong with the quotes of a line's value; empty where nothing is."""
    found = _VALUE.fullmatch(line)
    if found is None:
        return ""
    value = found[1].partition(" #")[0].strip()
    if value[:1] in ("'", '"'):
        closed = value.replace('\\"', "").count(value[0]) % 2 == 0
        return "" if closed else f"the quote that opens in line {number} isn't closed: add {value[0]} at its end"
    plain = value[:1] not in ("[", "{", "|", ">", "&", "*", "!", "")
    return f"the value in line {number} has `: ` in it: put quotes around it" if plain and ": " in f"{value} " else ""


def _before(lines: list[str], here: int) -> int:
    """Number of the last line before one that isn't empty or a comment; 0 for none."""
    return next((n for n in range(here - 1, 0, -1) if lines[n - 1].strip() and not lines[n - 1].lstrip().startswith("#")), 0)


def _levels(lines: list[str], number: int) -> set[int]:
    """Indentation of a line, and of each that it is below."""
    found = {_indent(lines[number - 1])}
    for line in reversed(lines[: number - 1]):
        if line.strip() and not line.lstrip().startswith("#"):
            found |= {own} if (own := _indent(line)) < min(found) else set()
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _first_of_list(lines: list[str], here: int) -> int:
    """The first line of a list whose items are indented as this line is; 0 for none."""
    own, found = _indent(lines[here - 1]), 0
    for number in range(here - 1, 0, -1):
        if not lines[number - 1].strip():
            continue
        if _indent(lines[number - 1]) < own:
            break
        if _indent(lines[number - 1]) == own and lines[number - 1].lstrip().startswith("- "):
            found = number
    return found
