"""The ladder of `slinky qualify` on the lab: real API server, slurm-operator, slurmctld and slurmrestd; fake kubelets (kwok)
and Slurm nodes without slurmd.

Run (as root, the lab up, nothing of a stack on it): venv/bin/python -m tests.bench.qualify [--nodes 36,144]

Each rung installs a stack of its own, fills its nodes with jobs, scales half of them in through the gate and then, after a
scale-out, by the operator alone, replaces all pods with both servers restarted in the middle, and destroys the stack.
Requests are counted in this program's clients, each try; those of all clients by the API server, and slurmctld's calls by
slurmctld.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab import given_operator, kwok
from lab.paths import REPO
from slinky_iac.commands.output import FOUND
from slinky_iac.commands.qualify.model import ALONE, GATE
from tests import figures
from tests.e2e.world import lab_environment
from tests.figures import Measured

CONFIG = REPO / "lab/qualify.yaml"
LINKED = ("Pulumi.yaml", "__main__.py", "components", "slinky_iac", "requirements.txt", "venv", ".lab-charts")
NAMES = {
    "seconds": ("whole", "s"),
    "drained_s": ("to drained", "s"),
    "after_jobs_s": ("jobs' end to pods gone", "s"),
    "kubernetes": ("to the API server", ""),
    "slurmrestd": ("to slurmrestd", ""),
    "served": ("API server, all clients", ""),
    "gates_mib": ("gates' process", "MiB"),
    "calls": ("calls of slurmctld", ""),
    "call_seconds": ("their time", "s"),
    "lost": ("jobs lost", ""),
}
"""Of a step: its column and unit."""


def climbed(nodes: str) -> list[dict[str, Any]]:
    """The rungs as `slinky qualify --json` prints them, those that lost a job too, for that is a figure. Raises
    CalledProcessError where it fails."""
    with tempfile.TemporaryDirectory(prefix="slinky-iac-bench-") as folder, kwok.running():
        for name in LINKED:
            (Path(folder) / name).symlink_to(REPO / name)
        config = Path(folder) / "qualify.yaml"
        config.write_text(given_operator.settings_of(CONFIG))
        argv = [sys.executable, "-m", "slinky_iac", "qualify", "--json", "--config", str(config), "--nodes", nodes]
        env = {**os.environ, **lab_environment(), "PYTHONPATH": str(REPO)}
        done = subprocess.run(argv, cwd=folder, env=env, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, FOUND):
        done.check_returncode()
    rungs: list[dict[str, Any]] = json.loads(done.stdout)["rungs"]
    return rungs


def rows(rungs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Measured]]:
    """For the ledger: a row for each step; the gate's seconds beside the operator's."""
    found: dict[str, dict[str, Measured]] = {}
    for rung in rungs:
        steps = {step["name"]: step for step in rung["steps"]}
        for name, step in steps.items():
            cells = {}
            for key, (column, unit) in NAMES.items():
                beside = steps[ALONE].get(key) if name == GATE and unit == "s" and key != "call_seconds" else None
                if step[key] is not None:
                    ratio = step[key] / beside if beside else None
                    cells[column] = Measured(step[key], unit, ALONE if beside else None, ratio)
            found[f"{rung['nodes']}, {name}"] = cells
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Climb and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="36,144", help="sizes (default 36,144)")
    args = parser.parse_args(argv)
    found = rows(climbed(args.nodes))
    figures.record(Path(__file__), "qualify", found)
    for row, cells in found.items():
        print(f"{row}: " + "; ".join(f"{column} {figures.told(cell)}" for column, cell in cells.items()))


if __name__ == "__main__":
    main()
