"""slurmctld comes back without its state while jobs run on pods, a scale-in is asked for, then it has its state again.

From 1.1 on, slurm-operator itself deletes healthy pods that slurmctld has no record of (``syncSlurmNodes``), and their jobs
end. So docs/on-call.md says to stop it before such a slurmctld starts.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.slurm import conf
from lab.slurm.cluster import LAB
from slinky_iac import names
from tests.e2e.gated import NAMESPACE, NODES, RESOURCE, STACK, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World

STANDS_ON = STACK
HOST, DAEMON, SAVED = "ctl", "slurmctld", "/tmp/saved-state"
OPERATOR = ("deployment", "-n", "slinky", "slurm-operator")
SAID = "by slurmdbd these jobs run there"


@pytest.fixture
def busy(gated: Gated, slurm: Slurm) -> Iterator[list[int]]:
    """A job on each pod; slurmctld's state and the operator are back when the test ends."""
    gated.reset()
    jobs = [slurm.submit("-p", "gpu", "-w", node, "-t", "20") for node in NODES]
    slurm.await_running(*jobs)
    await_true("slurmdbd has them", lambda: [row.state for row in slurm.accounted(*jobs)] == ["RUNNING"] * 3, 60)
    yield jobs
    if LAB.hosts.run(HOST, ["test", "-e", SAVED], check=False).returncode == 0:
        give_back()
    start_operator(gated.world)
    slurm.cancel_all()
    for pod in gated.world.objects("pods", NAMESPACE):
        if pod["metadata"]["labels"].get(names.LABEL_NAME) == "slurmd":
            gated.world.delete_worker(NAMESPACE, pod["metadata"]["name"])  # it registers again
    gated.up(3)


def lose_state() -> None:
    LAB.stop(HOST, DAEMON)
    LAB.hosts.run(HOST, ["sh", "-c", f"rm -rf {SAVED}; cp -a {conf.STATE_SAVE} {SAVED}; rm -rf {conf.STATE_SAVE}/*"])
    LAB.start(HOST, DAEMON)


def give_back() -> None:
    """slurmctld has its state again."""
    LAB.stop(HOST, DAEMON)
    LAB.hosts.run(HOST, ["sh", "-c", f"rm -rf {conf.STATE_SAVE}/*; cp -a {SAVED}/. {conf.STATE_SAVE}/; rm -rf {SAVED}"])
    LAB.start(HOST, DAEMON)


def start_operator(world: World) -> None:
    world.kubectl("scale", *OPERATOR, "--replicas=1")
    world.kubectl("rollout", "status", *OPERATOR, "--timeout=120s")


def test_jobs_live_through_a_lost_state_while_the_operator_is_stopped(gated: Gated, slurm: Slurm, busy: list[int]) -> None:
    gated.world.kubectl("scale", *OPERATOR, "--replicas=0")
    gated.world.kubectl("wait", "--for=delete", "pod", "-n", "slinky", "-l", "app.kubernetes.io/name=slurm-operator")
    lose_state()
    gated.write(1, {"deadline": "150s"})  # a pod that was ready a moment ago may still register, for two minutes
    done = gated.try_up()
    assert done.returncode != 0
    assert gated.pods() == list(NODES)
    give_back()
    await_true("the jobs are known again", lambda: all("RUNNING" in slurm.job_state(job) for job in busy), 60)
    start_operator(gated.world)
    gated.write(1)
    run = gated.start_up()
    await_true("two nodes are drained", lambda: sum("slinky-iac" in slurm.reason(node) for node in NODES) == 2, 120)
    slurm.finish(*busy)
    out, _ = run.communicate(timeout=300)
    assert run.returncode == 0, out
    assert sorted((row.state, row.nodes) for row in slurm.await_completed(*busy)) == [("COMPLETED", node) for node in NODES]


def test_an_update_that_ends_well_has_written_its_number(gated: Gated, slurm: Slurm, busy: list[int]) -> None:
    """With slurm-operator 1.0 the gate keeps the pods, by slurmdbd, and fails; a newer one deletes them before it ends."""
    lose_state()
    gated.write(1, {"deadline": "150s"})
    done = gated.try_up()
    where = ("nodesets.slinky.slurm.net", "-n", NAMESPACE, RESOURCE)
    number = gated.world.kubectl("get", *where, "-o", "jsonpath={.spec.replicas}").stdout
    assert (done.returncode == 0) == (number == "1"), done.stdout
    assert done.returncode == 0 or (SAID in done.stdout + done.stderr and gated.pods() == list(NODES)), done.stdout
