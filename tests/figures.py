"""The figures of benches: what was measured, against which rival of the same run, on which machine and of which code.

Each bench records its rows at its end (:func:`record`). The tables of docs/evidence/performance.md are made from the
repository's ledger by ``python -m tests.runs page``, between two comments each; a figure is *old* where a file that its
bench covers has changed since.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.ledger import EVIDENCE, Ledger, Origin, is_current, origin, said
from tests.stacks import ROOT

PAGE: Final = EVIDENCE / "performance.md"
OLD: Final = "old"
AS_IT_IS: Final = "as it is"
_SIZED: Final = re.compile(r"(\d[\d,]*)(?:, [a-z].*)?")
BLOCK: Final = re.compile(r"(<!-- figures: (?P<table>[\w ,-]+) \| (?P<head>[^|>]*) -->\n).*?(<!-- end -->)", re.DOTALL)
"""A table of the page: its name in the ledger, and the head of its first column."""


@dataclass(frozen=True, kw_only=True)
class Figure(Origin):
    """One cell of a table."""

    bench: str
    """The bench's file, from the root."""
    table: str
    row: str
    column: str
    value: float
    unit: str
    rival: str | None
    """What the ratio is to: another way of the same run."""
    ratio: float | None
    """This value to the rival's, as the bench takes it."""
    cores: int
    load: float
    """Load average of one minute at the end: the machine is shared."""


FIGURES: Final = Ledger("bench.jsonl", Figure, "a figure", lambda each: (each.table, each.row, each.column))


@dataclass(frozen=True)
class Measured:
    """One value, as a bench has it."""

    value: float
    unit: str = ""
    rival: str | None = None
    ratio: float | None = None


def record(bench: Path, table: str, rows: Mapping[str, Mapping[str, Measured]], to: Path | None = None) -> None:
    """Write what a bench has measured to this machine's ledger, or ``to`` another; ``bench``: its file."""
    file = bench.resolve().relative_to(ROOT)
    of = origin(file)
    cores, load = os.cpu_count() or 1, round(os.getloadavg()[0], 1)
    FIGURES.append(
        to or FIGURES.recorded,
        [
            Figure(
                **of,
                bench=str(file),
                table=table,
                row=row,
                column=column,
                value=round(each.value, 4),
                unit=each.unit,
                rival=each.rival,
                ratio=None if each.ratio is None else round(each.ratio, 3),
                cores=cores,
                load=load,
            )
            for row, columns in rows.items()
            for column, each in columns.items()
        ],
    )


def mark(*, current: bool) -> str:
    """A word for the column Code."""
    return AS_IT_IS if current else OLD


def marks(figures: Sequence[Figure]) -> dict[str, str]:
    """Of each row, by table and row: old as soon as one of its figures is."""
    found: dict[str, str] = {}
    for each in newest(figures).values():
        key = f"{each.table}: {each.row}"
        found[key] = mark(current=is_current(each.bench, each) and found.get(key) != OLD)
    return found


def newest(figures: Sequence[Figure]) -> dict[tuple[str, str, str], Figure]:
    """The last figure of each cell."""
    return {(each.table, each.row, each.column): each for each in figures}


def table(name: str, head: str, figures: Sequence[Figure], marked: Mapping[str, str]) -> str:
    """One table; a row's commit and machine are those of its oldest figure."""
    mine = [each for each in newest(figures).values() if each.table == name]
    if not mine:
        return "No figure is on record.\n"
    columns = list(dict.fromkeys(each.column for each in mine))
    last = {each.row: number for number, each in enumerate(figures) if each.table == name}
    rows = sorted(last, key=lambda row: (_size(row), last[row]))
    lines = [f"| {head} | {' | '.join(columns)} | Measured (UTC) | Commit | On | Code |"]
    lines.append("|" + "---|" * (len(columns) + 5))
    for row in rows:
        of_row = {each.column: each for each in mine if each.row == row}
        oldest = min(of_row.values(), key=lambda each: each.at)
        cells = " | ".join(told(of_row[column]) if column in of_row else "" for column in columns)
        on = f"{oldest.cores} cores, load {oldest.load:g}, Python {oldest.python}"
        lines.append(f"| {row} | {cells} | {said(oldest)} | {on} | {marked.get(f'{name}: {row}', OLD)} |")
    return "\n".join([*lines, ""])


def _size(row: str) -> int:
    """A row that is a number, or a number and a step, comes by its size; those of one size as they came at last."""
    match = _SIZED.fullmatch(row)
    return int(match[1].replace(",", "")) if match else 0


def told(each: Figure | Measured) -> str:
    """A value for people: three digits, and whole numbers whole."""
    return f"{_number(each.value)}{f' {each.unit}' if each.unit else ''}" + (
        f", {_number(each.ratio)}x {each.rival}" if each.ratio is not None else ""
    )


def _number(value: float) -> str:
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def page(text: str, figures: Sequence[Figure], marked: Mapping[str, str]) -> str:
    """The page with its tables made."""
    return BLOCK.sub(lambda found: f"{found[1]}{table(found['table'], found['head'], figures, marked)}{found[4]}", text)


def write_page() -> None:
    """Make the tables from the repository's ledger."""
    figures = FIGURES.read(FIGURES.kept)
    PAGE.write_text(page(PAGE.read_text(), figures, marks(figures)))
