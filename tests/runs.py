"""The ledger of runs: which test module ran when, at which commit, on which parts, and with what result.

``python -m tests.runs keep`` moves what this machine has recorded into the repository's ledgers, ``page`` makes the tables
from them (those of benches too: tests.figures), ``stale`` prints modules that did not pass on the code as it is, oldest
first. Each pytest of tests.lanes, and of tests.shards with ``--record``, writes to the machine's ledger (tests.recorder).
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab import given_operator, tools
from tests import figures, settings_used
from tests.covers import named_by_tests
from tests.ledger import EVIDENCE, Ledger, LedgerRefused, Origin, head, is_current, said
from tests.matrix import CORE

PAGE: Final = EVIDENCE / "runs.md"
UNWATCHED: Final = EVIDENCE / "settings.md"
FAULTS: Final = Path("tests/faults")
PASSED: Final = "passed"
UNKNOWN_S: Final = 180.0
"""Seconds of a module that no run is known of."""
LABS: Final = 2
PREPARED: Final = frozenset(
    Path("lab", name)
    for name in (
        *(
            "dashboard.py",
            "enforcer.py",
            "helm.py",
            "keda.py",
            "kwok.py",
            "later_operator.py",
            "prometheus_kinds.py",
            "store.py",
        ),
        *(f"slurm/{each}.py" for each in ("jupyter", "ldap", "munge", "newer", "nginx", "older", "program", "python3")),
    )
)
"""What tests.faults.prepare makes: images and programs that no other tier needs."""


@dataclass(frozen=True, kw_only=True)
class Run(Origin):
    """One module, from its first test to its last."""

    module: str
    """Its file, from the root."""
    result: str
    """`passed` or `failed`."""
    tests: int
    seconds: float
    operator: str | None
    """Release of slurm-operator; this and the next three None where no lab is used."""
    kubernetes: str | None
    slurm: str | None
    host: str | None
    """Pulumi's language host: `official` or the lab's `stand-in`."""
    settings: list[str]
    """Settings of the stacks that it wrote, beside those of Pulumi.dev.yaml (tests.settings_used)."""


RUNS: Final = Ledger("runs.jsonl", Run, "a run", lambda run: (run.module, run.result, run.python, _parts(run)))


def seconds(runs: Iterable[Run]) -> dict[str, float]:
    """How long each module took at last."""
    return {run.module: run.seconds for run in runs}


def last_passed(runs: Iterable[Run]) -> dict[str, Run]:
    """The newest run of each module that passed."""
    return {run.module: run for run in runs if run.result == PASSED}


def stale(modules: Iterable[Path], runs: Sequence[Run], commit: str) -> list[Path]:
    """Modules without a run that passed on the code as it is: those that never did, then the oldest first.

    Those that never did come in an order that the commit decides, so that runs of several commits don't begin with the same.
    """
    passed = last_passed(runs)

    def key(module: Path) -> tuple[str, str]:
        run = passed.get(str(module))
        return ("" if run is None else run.at, hashlib.sha256(f"{commit} {module}".encode()).hexdigest())

    return sorted((each for each in modules if not is_current(str(each), passed.get(str(each)))), key=key)


def within(minutes: float, modules: Sequence[Path], took: dict[str, float]) -> list[Path]:
    """The first modules that LABS labs get through in the minutes; one that is too long for what is left is passed over."""
    left, chosen = minutes * 60 * LABS, []
    for module in modules:
        needed = took.get(str(module), UNKNOWN_S)
        if needed <= min(left, minutes * 60):
            chosen.append(module)
            left -= needed
    return chosen


def page(runs: Sequence[Run], marks: dict[str, str]) -> str:
    """The page of the last run of each module; ``marks``: a word for the column Code, by module."""
    rows = [
        f"| `{run.module}` | {run.result}, {run.tests} tests | {run.seconds:.0f} s | {said(run)} | {_parts(run)} |"
        f" {marks[run.module]} |"
        for _, run in sorted({run.module: run for run in runs}.items())
    ]
    tier = sorted({Path(run.module) for run in runs if Path(run.module).parent == FAULTS} - set(CORE))
    return "\n".join([*_HEAD, *rows, "", *_MATRIX, *_by_release(runs, CORE), "", *_TIER, *_by_release(runs, tier), ""])


def _by_release(runs: Sequence[Run], modules: Sequence[Path]) -> list[str]:
    """The last run of each module on each release of slurm-operator, a column a release and language host."""
    last = {(run.module, _cell(run)): run for run in runs if run.operator}
    columns = sorted({cell for module, cell in last if Path(module) in modules})
    head = ["| Module |" + "".join(f" {each} |" for each in columns), "|---|" + "---|" * len(columns)]
    rows = []
    for module in map(str, modules):
        found = [last.get((module, column)) for column in columns]
        shown = ("" if run is None else f"{run.result}, {run.at[:10]}, {run.commit[:8]}" for run in found)
        rows.append(f"| `{module}` |" + "".join(f" {each} |" for each in shown))
    return [*head, *rows]


_MATRIX: Final = (
    "## Core modules by release of slurm-operator",
    "",
    "`./tests/run matrix` runs these modules on the lab's own slurm-operator and on each that `--operator-source` names.",
    "A cell is the last run on that release, with Pulumi's official language host or the lab's stand-in.",
    "",
)
_TIER: Final = (
    "## The other fault modules by release of slurm-operator",
    "",
    "A cell is the last run on that release, as above; some modules bring releases of their own beside it.",
    "",
)


def _cell(run: Run) -> str:
    return f"{run.operator}, {run.host}"


_HEAD: Final = (
    "# Runs of test modules",
    "",
    "Made by `python -m tests.runs page` from `runs.jsonl`, which has one line a run of a module"
    " ([ADR 26](../adr/0026-a-ledger-of-runs.md)).",
    "Code is *old* where a file that the module covers has changed since, as of the commit that made this page;",
    "`python -m tests.runs stale` says it for the code as it is. A module that isn't in the table has no run on record.",
    "",
    "| Module | Result | Time | Ended (UTC) | Commit | On | Code |",
    "|---|---|---|---|---|---|---|",
)


def _parts(run: Run) -> str:
    lab = {"slurm-operator": run.operator, "Kubernetes": run.kubernetes, "Slurm": run.slurm, "host:": run.host}
    return ", ".join(f"{name} {value}" for name, value in {"Python": run.python, **lab}.items() if value)


def unwatched(runs: Sequence[Run]) -> str:
    """The page of settings that were in no stack of a module that passed on the lab."""
    passed = [run for run in runs if run.result == PASSED and run.operator]
    watched = {name for run in passed for name in run.settings} | (settings_used.of_the_lab() if passed else set())
    every = settings_used.every()
    rows: dict[str, list[str]] = {}
    for name in every:
        if name not in watched:
            definition, _, field = name.partition(".")
            rows.setdefault(definition, []).append(f"`{field}`")
    count = sum(map(len, rows.values()))
    head = [*_UNWATCHED, f"{len(every) - count} of {len(every)} settings were watched; these {count} were not:", ""]
    table = ["| Section | Settings |", "|---|---|"]
    return "\n".join([*head, *table, *(f"| {name} | {', '.join(fields)} |" for name, fields in rows.items()), ""])


_UNWATCHED: Final = (
    "# Settings that no run on the lab had",
    "",
    "Made by `python -m tests.runs page`. A setting is watched once a stack with it ran on the lab (real Kubernetes,",
    "slurm-operator and Slurm) in a module of tests that passed; [Runs](runs.md) has the modules. The others are tested as",
    "far as the objects that the program makes of them. Sections are those of the",
    "[configuration reference](../configuration.md).",
    "",
)


def write_pages() -> None:
    """Make the pages from the repository's ledgers."""
    runs = RUNS.read(RUNS.kept)
    passed = last_passed(runs)
    marks = {run.module: figures.mark(current=is_current(run.module, passed.get(run.module))) for run in runs}
    PAGE.write_text(page(runs, marks))
    UNWATCHED.write_text(unwatched(runs))
    figures.write_page()


def main(argv: Sequence[str]) -> int:
    """Carry out one command; returns the exit code: 2 where a ledger can't be read."""
    parser = argparse.ArgumentParser(prog="python -m tests.runs", description="the ledger of runs")
    add = parser.add_subparsers(dest="command", required=True).add_parser
    add("keep", help="move this machine's runs and figures into docs/evidence")
    add("page", help="make docs/evidence/runs.md and settings.md, and the tables of performance.md")
    asked_for = add("stale", help="modules that did not pass on the code as it is, oldest first")
    asked_for.add_argument("folders", nargs="*", type=Path, default=[FAULTS], metavar="FOLDER")
    asked_for.add_argument("--minutes", type=float, metavar="N", help="as many as two labs get through in them")
    meaning = "only those that passed once, so that their time is known, and that tests.faults.prepare makes nothing for"
    asked_for.add_argument("--known", action="store_true", help=meaning)
    wanted = parser.parse_args(argv)
    try:
        if wanted.command == "keep":
            kept = f"{RUNS.keep()} runs and {figures.FIGURES.keep()} figures kept"
            print(f"{kept}; next: python -m tests.runs page, and commit docs/evidence")
        elif wanted.command == "page":
            write_pages()
        else:
            runs = RUNS.known()
            modules = [each for folder in wanted.folders for each in sorted(folder.glob("test_*.py"))]
            if wanted.known:
                given = given_operator.given()
                operator = tools.OPERATOR if given is None else given.version  # a pass on another says nothing of this lab
                passed = last_passed(run for run in runs if run.operator == operator)
                modules = [each for each in modules if str(each) in passed and not named_by_tests(each) & PREPARED]
            found = stale(modules, runs, head())
            print(*(found if wanted.minutes is None else within(wanted.minutes, found, seconds(runs))), sep="\n")
    except LedgerRefused as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
