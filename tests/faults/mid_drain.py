"""A scale-in of three busy nodes to two, under way: what every fault in the middle of a drain is done to.

The job of gpu-1 ends first, so gpu-1 is selected; the gate asks slurmrestd by way of a proxy that can misbehave.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.e2e.gated import NODES, Gated, bring_up
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World, steps
from tests.faults.proxy import FaultProxy, Mode

__all__ = ["JOB_S", "Begin", "Case", "begin", "gated", "proxy"]

SLURMRESTD = ("10.99.0.12", 6820)
JOB_S = 45
"""Length of the first job to end."""
LONG_S = 900
"""Length of the others: longer than any test."""


@pytest.fixture(scope="module")
def proxy() -> Iterator[FaultProxy]:
    with FaultProxy(*SLURMRESTD) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def gated(world: World, slurm: Slurm) -> Iterator[Gated]:
    gated = bring_up(world, slurm)
    yield gated
    slurm.cancel_all()
    gated.up(3)
    gated.stack.destroy()


@dataclass
class Case:
    """Three busy nodes and a scale-in to two that is under way."""

    gated: Gated
    slurm: Slurm
    jobs: dict[str, int]
    chosen: str
    run: subprocess.Popen[str]

    def finish(self, timeout: float = 240) -> str:
        """Wait for the update's end; returns its output."""
        out, _ = self.run.communicate(timeout=timeout)
        return out

    def settle(self) -> None:
        """Whatever came of the first update: the next one finishes, every job is or was where it began, nothing is left."""
        done = self.gated.try_up()
        assert done.returncode == 0, done.stdout
        self.gated.await_pods(*(node for node in NODES if node != self.chosen))
        self.assert_no_job_lost()
        ours = [name for name, node in self.slurm.nodes().items() if "slinky-iac:" in node["reason"] and name != self.chosen]
        assert ours == [], "a drain of ours was forgotten"
        marks = self.gated.annotations()
        assert marks == {node: {} for node in NODES if node != self.chosen}, marks
        preview = self.gated.stack.pulumi("preview", "--json")
        assert steps(preview) == [], (steps(preview), _due(preview))

    def await_end_of_the_first_job(self) -> None:
        """Wait until no job holds gpu-1."""
        job = self.jobs[self.chosen]
        await_true("the first job has ended", lambda: self.slurm.job_state(job) & {"COMPLETED", "FAILED", "CANCELLED"}, 120)

    def assert_no_job_lost(self) -> None:
        """The job of the selected node ended there when done; the others run on, where they began. None was run twice."""
        (row,) = self.slurm.await_completed(self.jobs[self.chosen])
        assert (row.state, row.nodes) == ("COMPLETED", self.chosen)
        known = self.slurm.jobs()
        kept = {node: known[job] for node, job in self.jobs.items() if node != self.chosen}
        found = {node: (job["job_state"], job["nodes"], job["restart_cnt"]) for node, job in kept.items()}
        assert found == {node: (["RUNNING"], node, 0) for node in kept}


def _due(preview: subprocess.CompletedProcess[str]) -> list[object]:
    """Why gates would run although no setting has changed."""
    inputs = (step.get("newState", {}).get("inputs", {}) for step in json.loads(preview.stdout)["steps"])
    return [each["due"] for each in inputs if "due" in each]


Begin = Callable[..., Case]


@pytest.fixture
def begin(gated: Gated, slurm: Slurm, proxy: FaultProxy) -> Iterator[Begin]:
    """Start a scale-in from three busy nodes to two, by way of the proxy, and return when the node is drained.

    An update that a failed test leaves behind is killed, so that the next test finds the stack free.
    """
    runs: list[subprocess.Popen[str]] = []

    def start(*, wait_for_drain: bool = True, deadline: str = "4m") -> Case:
        proxy.mode = Mode.PASS
        gated.reset()
        lengths = {node: JOB_S if node == "gpu-1" else LONG_S for node in NODES}
        jobs = {
            node: slurm.submit("-p", "gpu", "-w", node, "-t", str(20 if seconds > JOB_S else 3), seconds=seconds)
            for node, seconds in lengths.items()
        }
        slurm.await_running(*jobs.values())
        gated.write(2, {"deadline": deadline}, slurmrest={"url": proxy.url})
        run = gated.start_up()
        runs.append(run)
        if wait_for_drain:
            await_true("gpu-1 is drained by us", lambda: "slinky-iac:" in slurm.reason("gpu-1"), 60)
        return Case(gated, slurm, jobs, "gpu-1", run)

    yield start
    for run in runs:
        if run.poll() is None:
            gated.kill(run)
