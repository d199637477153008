"""A stack of an earlier release, killed in the middle of a scale-in, is taken over by today's code: no pod changes for it.

The earlier release is the last one with two gates a NodeSet, taken from this repository's history.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import paths
from lab.stacks import LINKED
from tests.e2e.gated import NAMESPACE, NODES, Gated, bring_up, settings
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World

RELEASE = "832340bde70513b634028221b89fc2979f011fe8"
STACK = "migrated"
GATES_THEN = {"ScaleInGate", "TeardownGate"}
GATE_NOW = {"NodeSetScale"}
CHOSEN = "gpu-1"


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of that release."""
    folder = tmp_path_factory.mktemp("earlier")
    packed = subprocess.run(["git", "archive", RELEASE], cwd=paths.REPO, capture_output=True, check=True, timeout=60).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture
def gated(world: World, slurm: Slurm, earlier: Path) -> Iterator[Gated]:
    """Three pods behind the gates of that release."""
    world.vacate()
    run_by(earlier, world.stack(STACK, settings(3)).folder)
    yield bring_up(world, slurm, STACK)
    slurm.cancel_all()
    world.vacate()


def run_by(code: Path, project: Path) -> None:
    """Let a stack's project run the program of this folder; the Python environment is today's."""
    for name in set(LINKED) - {"venv"}:
        (project / name).unlink()
        (project / name).symlink_to(code / name)


def gates(gated: Gated) -> set[str]:
    """Kinds of gates of NodeSets in the state."""
    resources = json.loads(gated.stack.pulumi("stack", "export").stdout)["deployment"]["resources"]
    return {each["type"].rsplit(":", 1)[1] for each in resources} & (GATES_THEN | GATE_NOW)


def pods(gated: Gated) -> dict[str, str]:
    """UID of each pod, by Slurm node."""
    return {node: pod["metadata"]["uid"] for node, pod in gated.world.pods(NAMESPACE, "gpu").items()}


def killed_in_mid_drain(gated: Gated) -> dict[str, int]:
    """A job on each node, and a scale-in to two that is killed when one is drained. Returns the jobs by node."""
    limits = {node: "5" if node == CHOSEN else "20" for node in NODES}
    jobs = {node: gated.slurm.submit("-p", "gpu", "-w", node, "-t", limit) for node, limit in limits.items()}
    gated.slurm.await_running(*jobs.values())
    gated.write(2)
    run = gated.start_up()
    try:
        await_true("it is drained by that release", lambda: gated.drained(CHOSEN), 120)
        assert run.poll() is None, "it waits for the job"
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
    gated.stack.pulumi("cancel", "--yes", check=False)
    assert gates(gated) == GATES_THEN
    return jobs


def all_completed(gated: Gated, jobs: dict[str, int]) -> None:
    """By slurmdbd: each ended when it was done, where it began, and was started once."""
    found = sorted((row.job, row.state, row.nodes, row.exit_code) for row in gated.slurm.await_completed(*jobs.values()))
    assert found == sorted((str(job), "COMPLETED", node, "0:0") for node, job in jobs.items())


def scale_in_and_destroy(gated: Gated, replicas: int, jobs: dict[str, int]) -> None:
    """The ordinary course from now on: an empty preview, a scale-in that waits for its jobs, and the end of the stack."""
    assert gates(gated) == GATE_NOW
    assert gated.changes() == []
    gated.write(replicas)
    going = gated.planned_nodes()
    gated.finish_when_drained(gated.start_up(), going, *(jobs[node] for node in going))
    gated.await_pods(*(node for node in jobs if node not in going))
    assert gated.changes() == []
    gated.slurm.finish(*(job for node, job in jobs.items() if node not in going))
    all_completed(gated, jobs)
    gated.stack.pulumi("state", "unprotect", "--all", "--yes")
    gated.stack.destroy()
    assert gated.world.objects("pods", NAMESPACE) == []


def test_a_drain_of_an_earlier_release_is_given_back_where_its_number_is_taken_back(gated: Gated) -> None:
    jobs = killed_in_mid_drain(gated)
    before = pods(gated)
    run_by(paths.REPO, gated.stack.folder)
    gated.up(3)
    assert pods(gated) == before
    assert not any("slinky-iac:" in node["reason"] for node in gated.slurm.nodes().values())
    assert gated.annotations() == {node: {} for node in NODES}
    assert all("RUNNING" in gated.slurm.job_state(job) for job in jobs.values())
    scale_in_and_destroy(gated, 2, jobs)


def test_a_drain_of_an_earlier_release_is_gone_on_with(gated: Gated) -> None:
    jobs = killed_in_mid_drain(gated)
    before = pods(gated)
    run_by(paths.REPO, gated.stack.folder)
    assert gated.planned_nodes() == [CHOSEN]
    gated.finish_when_drained(gated.start_up(), [CHOSEN], jobs[CHOSEN])
    gated.await_pods(*(node for node in NODES if node != CHOSEN))
    assert pods(gated).items() <= before.items()
    ended = {CHOSEN: jobs.pop(CHOSEN)}
    all_completed(gated, ended)
    scale_in_and_destroy(gated, 1, jobs)
