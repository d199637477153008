"""Why a file isn't valid YAML, in words of indentation, quotes and lines in place of a parser's tokens. Pure."""

from __future__ import annotations

import re
from typing import Final

import yaml

from slinky_iac.config.shown import shown, unknown_word

_NO_SPACE: Final = re.compile(r"\s*(?:- )?[A-Za-z][A-Za-z0-9-]*:[^\s:/#'\"{\[][^:]*")
_PAIR: Final = re.compile(r"\s*(?:- )?[^\s#][^#]*?:\s+[^\s#].*")
_TOKEN: Final = re.compile(r"<[a-z ]+>|[^A-Za-z0-9]{1,3}")
_QUOTED: Final = re.compile(r"'([^']*)'")
_OPEN: Final = re.compile(r"""\s*(?:- )?(?:[^\s#'"][^'"]*?:\s+)?(?:"(?:[^"\\]|\\.)*|'(?:[^']|'')*)""")
"""A line whose value begins with a quote that the line doesn't close."""
_TWO: Final = re.compile(r"\s*(?:- )?[^\s#'\"{\[:]+:\s+[^\s#'\"{\[&*|>][^#'\"{\[]*?:(?:\s.*|$)")
"""A line that has `: ` in its value, too."""
_ALONE: Final = re.compile(r"\s*(?:- )?([A-Za-z][A-Za-z0-9_-]*)\s+[^:#]+")
"""A name and its value without a colon between."""
_CUT: Final = re.compile(r"[^#]*[{\[][^#]*\s#.*")
_AT_END: Final = "<stream end>"
_TEMPLATE: Final = re.compile(r"\{\{|%\{|\$\{|<%")


def why_not(text: str, wrong: yaml.MarkedYAMLError) -> tuple[int, str]:
    """The line of a fault that a parser found, and what is wrong there: in words of lines, else in the parser's own without
    what may not be shown."""
    mark = wrong.problem_mark or wrong.context_mark
    if mark and wrong.problem == "but found another document":
        return (
            mark.line + 1,
            f"line {mark.line + 1} begins a second document, and one is read: make two files",
        )
    if _AT_END in (wrong.problem or "") and (opened := _unclosed(text)):
        return opened
    if mark and (near := explained(text, mark.line + 1)):
        return near
    where = f"column {mark.column + 1}: " if mark else ""
    problem = _QUOTED.sub(_shown_part, wrong.problem or wrong.context or "")
    begun = wrong.context_mark if (wrong.context or "").startswith("while parsing a flow") else None
    since = f"; look at the bracket that opens in line {begun.line + 1}" if begun and mark and begun.line < mark.line else ""
    return (mark.line + 1 if mark else 0), f"{where}this isn't valid YAML: {problem}{since}"


def _unclosed(text: str) -> tuple[int, str] | None:
    """The innermost bracket that a text doesn't close; None where another thing isn't closed."""
    begun: list[yaml.Token] = []
    try:
        for token in yaml.scan(text, yaml.SafeLoader):
            if isinstance(token, yaml.FlowMappingStartToken | yaml.FlowSequenceStartToken):
                begun.append(token)
            elif isinstance(token, yaml.FlowMappingEndToken | yaml.FlowSequenceEndToken) and begun:
                begun.pop()
    except (yaml.YAMLError, ValueError, OverflowError):  # a number of a sign that there isn't raises what chr() raises
        return None
    if not begun:
        return None
    line, sign = begun[-1].start_mark.line + 1, "}" if isinstance(begun[-1], yaml.FlowMappingStartToken) else "]"
    if said := _in_line(text.splitlines(), line):
        return line, said
    return line, f"the bracket that opens in line {line} isn't closed: add `{sign}` where its value ends"


def is_template(text: str) -> bool:
    """Whether a text that isn't YAML has marks of a template's."""
    return _TEMPLATE.search(text) is not None


def _shown_part(match: re.Match[str]) -> str:
    """What a parser quotes: a token of YAML's as it is, of the file's own text what may be shown."""
    return match[0] if _TOKEN.fullmatch(match[1]) else shown(match[1])


def explained(text: str, line: int) -> tuple[int, str] | None:
    """What is wrong near ``line``, at which a parser stopped, and in which line; None where only the parser can say."""
    lines = text.splitlines()
    here = min(line, len(lines))
    before = _before(lines, here)
    for judge in (_no_space, _in_line):
        for number in (before, here):
            if said := judge(lines, number):
                return number, said
    if opened := next((n for n in range(1, here + 1) if _OPEN.fullmatch(lines[n - 1])), 0):
        return opened, f"the quote that opens in line {opened} isn't closed: add it at the text's end"
    return _indented(lines, before, here) if 0 < before < here else None


def _no_space(lines: list[str], number: int) -> str:
    missing = 0 < number <= len(lines) and _NO_SPACE.fullmatch(lines[number - 1])
    return f"a space is missing after `:` on line {number}" if missing else ""


def _indented(lines: list[str], before: int, here: int) -> tuple[int, str] | None:
    """What is wrong with the indentation of a line, and the one before it."""
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


def _in_line(lines: list[str], number: int) -> str:
    """What is wrong within one line; empty where only those around it can say."""
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    if _TWO.fullmatch(line):
        return f"the value in line {number} has `: ` in it: put quotes around it"
    if _CUT.fullmatch(line) and line.count("{") + line.count("[") > _closed(line):
        return f"` #` begins a comment in line {number}, so its bracket isn't closed: put the text that has it in quotes"
    name = _ALONE.fullmatch(line)
    after = next((later_line for later_line in lines[number:] if later_line.strip()), "")
    if name and (_indent(after) <= _indent(line) or after.lstrip().startswith("- ")) and not _in_block(lines, number):
        return f"line {number} has no `:` behind its name: write `{unknown_word(name[1])}: VALUE`"
    return ""


def _closed(line: str) -> int:
    """Brackets that are closed before the comment of a line."""
    before = line.partition(" #")[0]
    return before.count("}") + before.count("]")


def _in_block(lines: list[str], number: int) -> bool:
    """Whether a line is one of a text of several lines."""
    own = _indent(lines[number - 1])
    above = next((line for line in reversed(lines[: number - 1]) if line.strip() and _indent(line) < own), "")
    return above.rstrip().endswith(("|", ">", "|-", ">-", "|+", ">+"))


def _before(lines: list[str], here: int) -> int:
    """Number of the last line before one that isn't empty or a comment; 0 for none."""
    return next((n for n in range(here - 1, 0, -1) if lines[n - 1].strip() and not lines[n - 1].lstrip().startswith("#")), 0)


def _levels(lines: list[str], number: int) -> set[int]:
    """Indentation of a line, and of each that it is below."""
    levels = {_indent(lines[number - 1])}
    for line in reversed(lines[: number - 1]):
        if line.strip() and not line.lstrip().startswith("#"):
            levels |= {own} if (own := _indent(line)) < min(levels) else set()
    return levels


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _first_of_list(lines: list[str], here: int) -> int:
    """The first line of a list whose items are indented as this line is; 0 for none."""
    own, first_line = _indent(lines[here - 1]), 0
    for number in range(here - 1, 0, -1):
        if not lines[number - 1].strip():
            continue
        if _indent(lines[number - 1]) < own:
            break
        if _indent(lines[number - 1]) == own and lines[number - 1].lstrip().startswith("- "):
            first_line = number
    return first_line
