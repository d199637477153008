"""`slinky qualify` on the lab: a rung is climbed and leaves only what was there before it, also when it is cut off."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import given_operator, kwok
from lab.paths import REPO
from slinky_iac.commands.qualify.settings import NAMESPACE, SELECTOR
from tests.bench.qualify import CONFIG, LINKED
from tests.e2e.slurm import await_true
from tests.e2e.world import World

NODES = "4"


@pytest.fixture
def project(world: World, tmp_path: Path) -> Iterator[Path]:
    world.vacate()
    for name in LINKED:
        (tmp_path / name).symlink_to(REPO / name)
    yield tmp_path
    world.kubectl("delete", "nodes", "-l", SELECTOR, "--ignore-not-found")


def begun(world: World, project: Path, *more: str) -> subprocess.Popen[str]:
    """`slinky qualify` of a small rung."""
    config = project / "qualify.yaml"
    config.write_text(given_operator.settings_of(CONFIG))
    argv = [sys.executable, "-m", "slinky_iac", "qualify", "--config", str(config), "--nodes", NODES, *more]
    env = {**os.environ, **world.env, "PYTHONPATH": str(REPO)}
    return subprocess.Popen(
        ["env", "--default-signal=INT", *argv],
        cwd=project,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def overwrite_readiness(world: World) -> None:
    """What slurm-operator's patch does to one pod that has just started: the whole list of conditions is another one. A rung
    would wait for its readiness to the end."""

    def ready() -> list[str]:
        pods = (each for each in world.objects("pods", NAMESPACE) if "worker" in each["metadata"]["name"])
        conditions = {each["metadata"]["name"]: each["status"].get("conditions", []) for each in pods}
        return [
            name for name, held in conditions.items() if any(c["type"] == "Ready" and c["status"] == "True" for c in held)
        ]

    await_true("a pod of the rung is ready", ready, 200)
    name = ready()[0]
    nothing = json.dumps({"status": {"conditions": [{"type": "PodScheduled", "status": "True"}]}})
    world.kubectl(
        "patch", "pod", name, f"--namespace={NAMESPACE}", "--subresource=status", "--type=merge", f"--patch={nothing}"
    )
    await_true(f"{name} is ready again", lambda: name in ready(), 60)


def test_without_kwok_it_is_refused_and_leaves_nothing(world: World, project: Path) -> None:
    before = world.identities()
    run = begun(world, project)
    _, err = run.communicate(timeout=200)
    assert run.returncode == 3, err
    assert "no kwok answers" in err
    assert world.identities() == before


def test_a_rung_is_climbed_without_a_lost_job_and_leaves_nothing(world: World, project: Path) -> None:
    before = world.identities()
    with kwok.running():
        run = begun(world, project, "--json")
        overwrite_readiness(world)
        out, err = run.communicate(timeout=900)
    assert run.returncode == 0, err
    (rung,) = json.loads(out)["rungs"]
    steps = {each["name"]: each for each in rung["steps"]}
    assert steps["gate"]["lost"] == 0
    assert steps["gate"]["slurmrestd"] > 0
    assert steps["gate"]["gates_mib"] > 0
    assert steps["rollout"]["lost"] == 0, "slurm-operator and slurmrestd were restarted in its middle"
    assert steps["rollout"]["calls"] > 0
    assert steps["preview"]["kubernetes"] > 0
    assert steps["operator alone"]["kubernetes"] is None, "no process of ours has a part in it"
    assert world.identities() == before
    assert not (project / ".slinky-qualify").exists()


def test_a_rung_that_is_cut_off_in_its_install_is_removed(world: World, project: Path) -> None:
    before = world.identities()
    with kwok.running():
        run = begun(world, project)
        await_true("the rung's pods are there", lambda: len(world.objects("pods", NAMESPACE)) >= int(NODES), 200)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=400)
    assert run.returncode == 130, err
    assert "nothing of the ladder is left" in err
    assert world.identities() == before
    assert not (project / ".slinky-qualify").exists()
