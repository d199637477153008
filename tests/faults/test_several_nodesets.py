"""A stack with two NodeSets: each goes after its own gate, and none has pods without a gate, whatever fails beside it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.demo import apply_lines_of
from tests.e2e.gated import NAMESPACE, NODESET, STACK, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import dev_settings

STANDS_ON = STACK
OTHER = "cpu"
SHORT = {"deadline": "40s"}
KIND = "nodesets.slinky.slurm.net"


def write(gated: Gated, *, other: bool = True) -> None:
    """One pod of the stack's own NodeSet, and one of another one."""
    gated.write(1, SHORT)
    if other:
        gated.current["slinky-iac:nodesets"][OTHER] = dev_settings()["slinky-iac:nodesets"][OTHER] | {"drain": SHORT}
    gated.world.stack(gated.stack.name, gated.current)


def nodesets(gated: Gated) -> set[str]:
    return {each["metadata"]["name"].rpartition("-")[2] for each in gated.world.objects(KIND, NAMESPACE)}


@pytest.fixture
def two(gated: Gated, slurm: Slurm) -> Iterator[Gated]:
    gated.reset()
    write(gated)
    gated.stack.up()
    apply_lines_of(gated.stack)
    slurm.await_registered("gpu-0", "cpu-0")
    yield gated
    slurm.cancel_all()
    gated.changed()


def test_an_idle_nodeset_goes_while_the_gate_of_another_waits_and_a_destroy_is_repeated(two: Gated, slurm: Slurm) -> None:
    gated = two
    job = slurm.submit("-p", NODESET, "-w", "gpu-0", "-t", "20")
    slurm.await_running(job)
    run = gated.start_up(command="destroy")
    await_true("the idle NodeSet is gone", lambda: nodesets(gated) == {NODESET} or run.poll() is not None, 120, every=0.2)
    assert run.poll() is None, "the gate of the other waits for its job"
    assert slurm.job_state(job) == {"RUNNING"}
    failed, _ = run.communicate(timeout=120)
    assert run.returncode != 0, failed
    assert nodesets(gated) == {NODESET}
    assert slurm.job_state(job) == {"RUNNING"}

    again = gated.start_up(command="destroy")
    await_true("it waits for the job again", lambda: gated.drained("gpu-0"), 60)
    slurm.finish(job)
    out, _ = again.communicate(timeout=300)
    assert again.returncode == 0, out
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes) == ("COMPLETED", "gpu-0")


@pytest.fixture
def one(gated: Gated, slurm: Slurm) -> Iterator[Gated]:
    """The stack before its second NodeSet."""
    gated.reset()
    write(gated, other=False)
    gated.stack.up()
    yield gated
    slurm.cancel_all()
    gated.changed()


@pytest.mark.parametrize("harm", ["another resource fails", "SIGKILL"])
def test_a_nodeset_whose_first_update_was_cut_off_ends_no_job_when_it_is_taken_back(
    one: Gated, slurm: Slurm, harm: str
) -> None:
    gated = one
    write(gated)
    if harm == "SIGKILL":
        run = gated.start_up()
        await_true("the NodeSet is there", lambda: OTHER in nodesets(gated) or run.poll() is not None, 90, every=0.1)
        assert run.poll() is None
        gated.kill(run)
    else:
        gated.current["slinky-iac:external"]["slurmdHosts"].append({"name": "metal-9"})
        gated.world.stack(gated.stack.name, gated.current)
        assert gated.try_up().returncode != 0
    where = (KIND, "-n", NAMESPACE, f"slurm-worker-{OTHER}")
    number = gated.world.kubectl("get", *where, "-o", "jsonpath={.spec.replicas}", check=False).stdout
    job = None
    if number not in {"", "0"}:
        slurm.await_registered("cpu-0")
        job = slurm.submit("-p", "all", "-w", "cpu-0", "-t", "20")
        slurm.await_running(job)

    write(gated, other=False)
    done = gated.try_up()
    if job is None:
        assert done.returncode == 0, done.stdout
        assert OTHER not in nodesets(gated)
        return
    assert done.returncode != 0, "it waited for the job, or the fence refused"
    assert slurm.job_state(job) == {"RUNNING"}
    slurm.finish(job)
    gated.stack.up()
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes) == ("COMPLETED", "cpu-0")
    assert OTHER not in nodesets(gated)
