"""slurmctld comes back without its state while jobs run on pods, a scale-in is asked for, then it has its state again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.slurm import conf
from lab.slurm.cluster import LAB
from tests.e2e.gated import NODES, STACK, Gated
from tests.e2e.slurm import Slurm, await_true

STANDS_ON = STACK
HOST, DAEMON, SAVED = "ctl", "slurmctld", "/tmp/saved-state"


@pytest.fixture
def without_state(gated: Gated, slurm: Slurm) -> Iterator[list[int]]:
    """A job on each pod, and a slurmctld that knows neither; its state is back when the test calls `give_back`."""
    gated.reset()
    jobs = [slurm.submit("-p", "gpu", "-w", node, "-t", "20") for node in NODES]
    slurm.await_running(*jobs)
    await_true("slurmdbd has them", lambda: [row.state for row in slurm.accounted(*jobs)] == ["RUNNING"] * 3, 60)
    LAB.stop(HOST, DAEMON)
    LAB.hosts.run(HOST, ["sh", "-c", f"rm -rf {SAVED}; cp -a {conf.STATE_SAVE} {SAVED}; rm -rf {conf.STATE_SAVE}/*"])
    LAB.start(HOST, DAEMON)
    yield jobs
    if LAB.hosts.run(HOST, ["test", "-e", SAVED], check=False).returncode == 0:
        give_back()


def give_back() -> None:
    """slurmctld has its state again."""
    LAB.stop(HOST, DAEMON)
    LAB.hosts.run(HOST, ["sh", "-c", f"rm -rf {conf.STATE_SAVE}/*; cp -a {SAVED}/. {conf.STATE_SAVE}/; rm -rf {SAVED}"])
    LAB.start(HOST, DAEMON)


def test_pods_stay_while_jobs_run_there_by_slurmdbd(gated: Gated, slurm: Slurm, without_state: list[int]) -> None:
    jobs = without_state
    gated.write(1, {"deadline": "150s"})  # a pod that was ready a moment ago may still register, for two minutes
    done = gated.try_up()
    assert done.returncode != 0
    assert "by slurmdbd these jobs run there" in done.stdout + done.stderr
    assert gated.pods() == list(NODES)
    give_back()
    await_true("the jobs are known again", lambda: all("RUNNING" in slurm.job_state(job) for job in jobs), 60)
    gated.write(1)
    run = gated.start_up()
    await_true("two nodes are drained", lambda: sum("slinky-iac" in slurm.reason(node) for node in NODES) == 2, 120)
    slurm.finish(*jobs)
    out, _ = run.communicate(timeout=300)
    assert run.returncode == 0, out
    assert sorted((row.state, row.nodes) for row in slurm.await_completed(*jobs)) == [("COMPLETED", node) for node in NODES]
