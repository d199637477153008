"""Our ranking against the operator's own: its Go code, from its published module, sorts the same thousands of pod lists.

A small Go test of ours is put beside ``sort.go`` in a copy of the module and run there. It needs neither Kubernetes nor
the network once the lab's tools are built.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lab import charts, go
from slinky_iac import names
from slinky_iac.drain.ranking import predicted_victims
from slinky_iac.kube.objects import Pod
from slinky_iac.releases import OperatorVersion
from tests.made.pods import pod as made_pod

UTILS = "internal/controller/nodeset/utils"
CLIENT = "github.com/SlinkyProject/slurm-client"
NOW = 1_800_000_000
COSTS = ["-1", "0", "5", "-2147483648", "2147483647", "2147483648", "+3", "007", "-007", "x", "", "-1000000000"]
FLAGS = ["true", "true", "false", "True", "1", "yes", ""]


def some_cases(count: int) -> list[dict[str, Any]]:
    """Pod lists with ties on every step of the ranking, the same in every run."""
    dice = random.Random(2026)
    cases = []
    for _ in range(count):
        ordinals = dice.sample(range(30), dice.randint(1, 24))
        pods = [_pod(dice, ordinal) for ordinal in ordinals]
        cases.append({"Pods": pods, "Delete": dice.randint(0, len(pods))})
    return cases


def _pod(dice: random.Random, ordinal: int) -> dict[str, Any]:
    odd = dice.random() < 0.2
    annotations = {}
    if dice.random() < 0.4:
        annotations[names.ANNOTATION_DELETION_COST] = dice.choice(COSTS)
    if dice.random() < 0.5:
        moment = datetime.fromtimestamp(NOW + dice.choice([0, 5, 9]), tz=UTC)
        annotations[names.ANNOTATION_POD_DEADLINE] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    if dice.random() < 0.4:
        annotations[names.ANNOTATION_POD_CORDON] = dice.choice(FLAGS)
    return {
        "Name": f"hpc-worker-gpu-{ordinal}",
        "Node": dice.choice(["", "k-1", "k-2"]) if odd else "k-3",
        "Phase": dice.choice(["Pending", "Unknown", "Failed", "Succeeded", "Running"]) if odd else "Running",
        "Ready": dice.random() < 0.75,
        "Annotations": annotations,
        "ReadySince": NOW - dice.randint(0, 5),
        "Created": NOW - dice.randint(5, 9),
    }


def read(pod: dict[str, Any]) -> Pod:
    """The same pod as the planner gets it."""
    return made_pod(
        pod["Name"],
        ordinal=int(pod["Name"].rpartition("-")[2]),
        scheduled=pod["Node"] != "",
        phase=pod["Phase"],
        ready=pod["Ready"],
        ready_changed=pod["ReadySince"],
        created=pod["Created"],
        annotations=pod["Annotations"],
    )


def operators_choice(version: str, cases: list[dict[str, Any]], folder: Path) -> list[list[str]]:
    """What the Go code of one release deletes in each case."""
    program = go.ensure()
    source = go.module(charts.MODULE, version, charts.CHECKSUMS[version], go=program)
    copy = folder / "operator"
    shutil.copytree(source, copy, copy_function=shutil.copyfile)
    subprocess.run(["chmod", "-R", "u+w", str(copy)], check=True)
    for test in (copy / UTILS).glob("*_test.go"):
        test.unlink()
    shutil.copy(Path(__file__).parent / "operator" / "ranking_test.go", copy / UTILS)
    (folder / "cases.json").write_text(json.dumps(cases))
    env = go.environment(
        {
            "CGO_ENABLED": "0",
            "GOFLAGS": "-mod=mod",
            "GONOSUMDB": "github.com/SlinkyProject/*",
            "RANKING_CASES": str(folder / "cases.json"),
            "RANKING_ANSWERS": str(folder / "answers.json"),
        }
    )
    if version == "1.1.0":  # its slurm-client isn't served; the one before has all that sort.go's neighbours need
        replaced = [str(program), "mod", "edit", f"-replace={CLIENT}={CLIENT}@v1.0.1"]
        subprocess.run(replaced, cwd=copy, env=env, check=True)
    run = [str(program), "test", "-vet=off", "-count=1", "-run", "TestRankingForSlinkyIac", f"./{UTILS}"]
    done = subprocess.run(run, cwd=copy, env=env, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    answers: list[list[str]] = json.loads((folder / "answers.json").read_text())
    return answers


@pytest.mark.parametrize("version", ["1.0.1", "1.1.0"])
def test_the_operator_deletes_what_we_predict(version: str, tmp_path: Path) -> None:
    cases = some_cases(3000)
    release = OperatorVersion.parse(version)
    uncertain = 0
    for case, deleted in zip(cases, operators_choice(version, cases, tmp_path), strict=True):
        pods = [read(pod) for pod in case["Pods"]]
        prediction = predicted_victims(pods, len(pods) - case["Delete"], release)
        assert len(deleted) == len(prediction.victims)
        assert set(deleted) ^ set(prediction.victims) <= prediction.uncertain, case
        uncertain += bool(prediction.uncertain)
    assert 0 < uncertain < len(cases) / 10, "the cut falls between contradictory pods now and then, and seldom"
