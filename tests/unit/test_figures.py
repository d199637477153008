"""The ledger of benches, and the page that is made from it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests import figures
from tests.covers import covered, digest
from tests.figures import BLOCK, FIGURES, Figure, Measured
from tests.stacks import ROOT

BENCH = Path("tests/bench/plan.py")
FIGURE = Figure(
    at="2026-11-26T19:00:00+00:00",
    commit="a" * 40,
    dirty=False,
    code="other",
    python="3.11.7",
    bench=str(BENCH),
    table="planning",
    row="half",
    column="ours",
    value=0.3333,
    unit="s",
    rival="sort only",
    ratio=5.25,
    cores=2,
    load=1.5,
)
PAGE = "before\n<!-- figures: planning | Removed -->\nwhatever\n<!-- end -->\nafter\n"


def test_a_table_has_values_ratios_and_what_they_were_measured_on() -> None:
    given = [FIGURE, replace(FIGURE, column="memory", value=1200, unit="MiB", rival=None, ratio=None)]
    made = figures.page(PAGE, given, {"planning: half": "as it is"})
    assert made == (
        "before\n<!-- figures: planning | Removed -->\n"
        "| Removed | ours | memory | Measured (UTC) | Commit | On | Code |\n|---|---|---|---|---|---|---|\n"
        "| half | 0.333 s, 5.25x sort only | 1,200 MiB | 2026-11-26 19:00 | aaaaaaaa | 2 cores, load 1.5, Python 3.11.7 |"
        " as it is |\n<!-- end -->\nafter\n"
    )
    assert figures.page(made, given, {"planning: half": "as it is"}) == made


def test_a_bench_covers_what_it_measures_and_not_what_writes_it_down() -> None:
    files = {str(each) for each in covered(BENCH)}
    assert {str(BENCH), "slinky_iac/drain/cost.py", "slinky_iac/slurmrest/rows.py"} <= files
    assert not {"tests/figures.py", "tests/ledger.py", "slinky_iac/commands/listing.py"} & files


def test_rows_that_are_numbers_come_by_their_size() -> None:
    given = [replace(FIGURE, row=row) for row in ("50,000", "1,000", "other", "200")]
    made = figures.page(PAGE, given, {})
    assert re.findall(r"(?m)^\| ([\w,]+) \| 0", made) == ["other", "200", "1,000", "50,000"]


def test_steps_of_a_size_stand_together_as_they_were_run_at_last() -> None:
    rows = ("36, gate", "144, gate", "36, fill", "36, gate", "144, fill", "2 of 10, all")
    made = figures.page(PAGE, [replace(FIGURE, row=row) for row in rows], {})
    assert re.findall(r"(?m)^\| ([\w, ]+) \| 0", made) == ["2 of 10, all", "36, fill", "36, gate", "144, gate", "144, fill"]


def test_a_figure_whose_code_has_changed_since_makes_its_row_old() -> None:
    current = replace(FIGURE, code=digest(covered(BENCH)))
    assert figures.marks([current]) == {"planning: half": "as it is"}
    assert figures.marks([current, replace(FIGURE, column="memory")]) == {"planning: half": "old"}
    assert figures.marks([replace(FIGURE, column="memory"), current]) == {"planning: half": "old"}
    assert figures.marks([replace(current, bench="tests/bench/gone.py")]) == {"planning: half": "old"}
    assert figures.marks([FIGURE, current]) == {"planning: half": "as it is"}, "the newest counts"


@pytest.mark.parametrize("change", [{"value": "much"}, {"ratio": "2x"}, {"cores": True}, {"load": None}])
def test_a_line_that_is_not_a_figure_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    file = tmp_path / "bench.jsonl"
    FIGURES.append(file, [replace(FIGURE, **change)])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=rf"line 1: isn't a figure \({next(iter(change))}\)"):
        FIGURES.read(file)


def test_what_a_bench_records_is_of_its_own_code(tmp_path: Path) -> None:
    ledger = tmp_path / "bench.jsonl"
    figures.record(ROOT / BENCH, "planning", {"half": {"ours": Measured(0.123456, "s", "sort only", 5.0)}}, ledger)
    (found,) = FIGURES.read(ledger)
    assert (found.bench, found.value, found.ratio) == (str(BENCH), 0.1235, 5.0)
    assert found.code == digest(covered(BENCH))


def test_the_tables_of_the_page_are_made_from_the_ledger() -> None:
    """Their marks are as of the commit that made them: all else is the ledger's."""
    shown = figures.PAGE.read_text()
    kept = FIGURES.read(FIGURES.kept)
    made = figures.page(shown, kept, {})
    assert [_unmarked(line) for line in made.splitlines()] == [_unmarked(line) for line in shown.splitlines()]
    assert kept


def _unmarked(line: str) -> str:
    return re.sub(r" \| (as it is|old) \|$", "", line)


def test_each_table_of_the_ledger_is_on_the_page_and_every_number_there_is_of_the_ledger() -> None:
    shown = figures.PAGE.read_text()
    assert {found["table"] for found in BLOCK.finditer(shown)} >= {each.table for each in FIGURES.read(FIGURES.kept)}
    by_hand = [line for line in BLOCK.sub("", shown).splitlines() if line.startswith("|")]
    assert [line for line in by_hand if "tests.bench" not in line and line not in ("| What | Command |", "|---|---|")] == []
