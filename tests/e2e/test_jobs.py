"""Jobs of a stack, submitted by `pulumi up` through slurmrestd, on an operator's pod and on bare metal."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.e2e.gated import STACK, Gated
from tests.e2e.running import fresh, hello, results, starts
from tests.e2e.slurm import Slurm
from tests.stacks import ROOT

STANDS_ON = STACK
SAMPLES = ROOT / "examples" / "jobs"


@pytest.fixture(autouse=True)
def none_left(gated: Gated) -> None:
    """Each test begins with a stack that the settings say."""
    gated.reset()


def test_a_job_runs_once_on_a_pod_and_once_on_metal_and_its_end_is_a_stack_output(gated: Gated, slurm: Slurm) -> None:
    pod, metal = fresh("pod"), fresh("metal")
    gated.up(3, jobs={pod: hello(partition="gpu"), metal: hello(timeLimit="5m", environment={"GREETING": "hello"})})
    found = results(gated.stack)
    shown = {name: (each["state"], each["exitCode"]) for name, each in found.items()}
    assert shown == {pod: ("COMPLETED", 0), metal: ("COMPLETED", 0)}
    assert found[pod]["nodes"].startswith("gpu-")
    assert found[metal]["nodes"].startswith("metal-")
    assert found[metal]["output"] == f"/tmp/slurm-{found[metal]['id']}.out"
    assert {name: len(starts(slurm, name)) for name in found} == {pod: 1, metal: 1}
    assert slurm.jobs()[found[metal]["id"]]["user_name"] == "alice"
    assert slurm.jobs()[found[metal]["id"]]["group_name"] == "alice", "not SlurmUser's group"
    assert gated.changes() == [], "a run that went well is not repeated"


@pytest.mark.parametrize("partition", ["gpu", "metal"])
def test_the_sample_jobs_run_on_pods_and_on_metal(gated: Gated, slurm: Slurm, partition: str) -> None:
    ids = {name: sample(slurm, name, partition) for name in ("hello", "array", "two-nodes")}
    rows = slurm.await_completed(*ids.values())
    assert {row.state for row in rows} == {"COMPLETED"}
    assert len(rows) == 6, "an array of four tasks is four rows"
    prefix = {"gpu": "gpu-", "metal": "metal-"}[partition]
    assert {row.nodes.startswith(prefix) for row in rows} == {True}
    (two,) = [row for row in rows if row.job == str(ids["two-nodes"])]
    assert two.nodes.startswith(f"{prefix}["), "two nodes"
    if partition == "metal":
        (hello_,) = [row for row in rows if row.job == str(ids["hello"])]
        printed = slurm.on(hello_.nodes, "cat", f"/tmp/hello-{ids['hello']}.out")
        assert printed == f"hello from {hello_.nodes}, job {ids['hello']} of alice\n"


def test_the_python_sample_is_a_program_that_runs() -> None:
    """The lab's nodes have no Python: the sample runs as slurmd would start it, on this machine."""
    done = subprocess.run(
        [sys.executable, SAMPLES / "python.py"],
        env={**os.environ, "SLURM_CPUS_ON_NODE": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"2 CPUs: {sum(each * each for each in range(100_000))}\n"


def sample(slurm: Slurm, name: str, partition: str) -> int:
    """Submit a sample as its user does; its id."""
    script = (SAMPLES / f"{name}.sh").read_text()
    options = f"sbatch --parsable -p {partition} -D /tmp"
    return int(slurm.user("sh", "-c", f'printf %s "$1" | {options}', "sh", script).strip().split(";")[0])
