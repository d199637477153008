"""What a preflight found, for a terminal and for programs. Pure.

Tables fit the width given, or 100 columns; lines to paste are printed as they are, however long. Texts of others are made
harmless.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from slinky_iac.commands import output
from slinky_iac.commands.output import Paint, clipped
from slinky_iac.preflight.check import Check, Verdict
from slinky_iac.text import plain

WIDTH: Final = 100
SHADES: Final = {Verdict.PROBLEM: "red", Verdict.WARNING: "yellow", Verdict.UNKNOWN: "cyan", Verdict.FINE: "green"}
_INDENT: Final = " " * 10
_WIDEST_SOURCE: Final = 20
_LONGEST: Final = 700


def counts(checks: Sequence[Check]) -> dict[str, int]:
    """How many checks came to each verdict, the worst first."""
    return {verdict.value: sum(each.verdict is verdict for each in checks) for verdict in Verdict}


def headline(cluster: str, checks: Sequence[Check]) -> str:
    """One line: ``preflight of lab: 1 problem, 2 unknown, 20 fine``."""
    found = {name: count for name, count in counts(checks).items() if count}
    words = [f"{n} {name}{'s' if n > 1 and name in ('problem', 'warning') else ''}" for name, n in found.items()]
    return f"preflight of {plain(cluster)}: {', '.join(words) or 'nothing to check'}"


def as_text(cluster: str, checks: Sequence[Check], *, colour: bool = False, width: int = WIDTH) -> str:
    """All checks as a table, the worst first, ending with a line break."""
    paint = Paint(colour)
    lines = [paint(headline(cluster, checks), "bold")]
    if checks:
        source = min(max(len(plain(each.source)) for each in checks), _WIDEST_SOURCE)
        columns = _Columns(max(len(each.name) for each in checks), source, width)
        lines += ["", paint(columns.row("VERDICT", "CHECK", "FROM", "WHAT CAME BACK"), "dim")]
        for each in checks:
            lines += _lines(each, columns, paint)
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Columns:
    """Widths of the second and third column; the first is as wide as its longest word, the last has what is left."""

    name: int
    source: int
    width: int

    @property
    def text(self) -> int:
        return self.width - len(self.row("", "", "", "|")) + 1

    def row(self, verdict: str, name: str, source: str, text: str) -> str:
        return f"{verdict:<8}  {name:<{self.name}}  {clipped(source, self.source):<{self.source}}  {text}"


def _lines(check: Check, columns: _Columns, paint: Paint) -> Iterator[str]:
    first, *rest = _wrapped(f"{check.subject}: {check.got}", columns.text)
    row = columns.row(check.verdict.value, check.name, plain(check.source), first)
    mark = len(check.verdict.value)
    yield paint(row[:mark], SHADES[check.verdict]) + row[mark:]
    yield from (columns.row("", "", "", line) for line in rest)
    if check.change:
        place = f", {check.at}" if check.paste and check.at else ""
        end = ":" if check.paste else "."
        advice = _wrapped(f"{check.change.rstrip('.:')}{place}{end}", columns.width - len(_INDENT) - 3)
        yield from (f"{_INDENT}{'-> ' if at == 0 else '   '}{line}" for at, line in enumerate(advice))
    for line in check.paste:
        yield from (f"{_INDENT}       {part}" for part in _harmless(line))


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(plain(text, _LONGEST), width, break_on_hyphens=False) or [""]


def _harmless(line: str) -> list[str]:
    return [f"{' ' * (len(part) - len(part.lstrip()))}{plain(part, 2000)}" for part in line.split("\n")]


def as_json(stack: str, cluster: str, checks: Sequence[Check]) -> str:
    """The same as JSON, ``schema`` 1, ending with a line break."""
    body = {
        "stack": stack,
        "cluster": cluster,
        "counts": counts(checks),
        "checks": [asdict(each) | {"verdict": each.verdict.value} for each in checks],
    }
    return output.as_json(body) + "\n"
