"""The core modules on each slurm-operator that is at hand: ``python -m tests.matrix [--operator-source DIR …]``.

A cell is the lab's own operator, or one that you have built (lab/given_operator.py). Cells run one after the other,
each over the lanes of tests.lanes; the ledger has a line a module, and ``python -m tests.runs page`` makes their table. The
language host is the stand-in, or the one that ``SLINKY_LAB_LANGUAGE_HOST`` names. Exit code: 0 if every cell passed, else 1;
2 where a folder isn't an operator's, and nothing was run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from lab import given_operator, paths, tools
from lab.errors import LabError
from tests.faults import prepare

CORE: Final = tuple(
    Path("tests", name)
    for name in (
        *(f"e2e/test_{each}.py" for each in ("drain_jobs", "drain_policy", "drain_teardown", "stack_life")),
        *(f"faults/test_{each}.py" for each in ("drain_faults", "fence", "nodeset_faults", "operator_faults")),
        *(f"faults/test_{each}.py" for each in ("other_hands", "rollout", "rollout_login", "slurm_conf_gate")),
        "faults/test_who_loses_inside.py",
    )
)
"""What a release of slurm-operator must hold before this program names it: scale-in, rollout, destroy, slurm.conf."""


def cells(sources: Sequence[str]) -> dict[str, Mapping[str, str]]:
    """Variables of each cell, by the operator's release: the lab's own first. Raises LabError where a folder lacks
    something, or two of the cells are of one release."""
    found: dict[str, Mapping[str, str]] = {tools.OPERATOR: {given_operator.SOURCE.variable: ""}}
    for source in sources:
        variables = {given_operator.SOURCE.variable: str(Path(source).resolve())}
        operator = given_operator.given(variables)
        if operator is None or operator.version in found:
            release = "no release" if operator is None else f"slurm-operator {operator.version}, which another cell has"
            raise LabError(f"--operator-source {source}: {release}. Name one folder a release. Nothing was started")
        found[operator.version] = variables
    return found


def run(release: str, variables: Mapping[str, str], modules: Sequence[Path]) -> bool:
    """Run the modules of one cell; returns whether all passed."""
    print(f"\n== slurm-operator {release}", flush=True)
    argv = [sys.executable, "-m", "tests.lanes", *map(str, modules)]
    return subprocess.run(argv, cwd=paths.REPO, env={**os.environ, **variables}, check=False).returncode == 0


def main(argv: Sequence[str]) -> int:
    """Run the cells; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description="the core modules on each slurm-operator")
    meaning = "a source tree of slurm-operator with its manager built; once for each release"
    parser.add_argument("--operator-source", action="append", default=[], metavar="DIR", help=meaning)
    parser.add_argument("modules", nargs="*", type=Path, default=CORE, metavar="MODULE", help="in place of the core modules")
    asked = parser.parse_args(argv)
    try:
        found = cells(asked.operator_source)
    except LabError as error:
        print(error, file=sys.stderr)
        return 2
    prepare.main([str(module) for module in asked.modules])
    failed = [release for release, variables in found.items() if not run(release, variables, asked.modules)]
    print(f"\nfailed on slurm-operator {', '.join(failed)}" if failed else f"\npassed on slurm-operator {', '.join(found)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
