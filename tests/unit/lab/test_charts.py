"""The operator's charts are copied once, and whole, however many processes ask at the same moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from lab import paths
from lab.given_operator import NEEDED, SOURCE

FILES = 60
ASKERS = 6
ASKER = """
import json, sys
from lab import charts
print("ready", flush=True)
sys.stdin.readline()
folder = charts.chart_dir()
print(json.dumps(sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())))
"""


def test_processes_that_ask_at_once_all_get_the_whole_copy(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for name in (*NEEDED, *(f"helm/slurm/templates/{number}.yaml" for number in range(FILES))):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("version: 1.2.1\n")
    for attempt in range(5):
        env = {**os.environ, SOURCE.variable: str(tree), "SLINKY_IAC_CACHE": str(tmp_path / str(attempt))}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": env, "cwd": paths.REPO}
        askers = [subprocess.Popen([sys.executable, "-c", ASKER], **pipes) for _ in range(ASKERS)]  # type: ignore[call-overload]
        for each in askers:
            assert each.stdout.readline() == "ready\n"
        for each in askers:
            each.stdin.write("\n")
            each.stdin.flush()
        copies = {each.communicate()[0] for each in askers}
        assert {each.returncode for each in askers} == {0}
        assert len(copies) == 1
        whole = json.loads(copies.pop())
        assert sum(each.startswith("slurm/templates/") for each in whole) == FILES
        assert "slurm-operator/charts/slurm-operator-crds/Chart.yaml" in whole
