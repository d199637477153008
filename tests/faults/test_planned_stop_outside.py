"""slurm.key of a cluster whose pods know one key only changes in a planned stop; slurmctld and metal are outside, and a job
on metal goes on through it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.demo import apply_lines_of
from lab.stacks import imported_keys
from tests.e2e.rotating import NAMESPACE, Rotated, joins, lab_has, settings, verify
from tests.e2e.slurm import Slurm
from tests.e2e.world import World


@pytest.fixture(scope="module")
def stopped(world: World, slurm: Slurm) -> Iterator[Rotated]:
    slurm.cancel_all()
    world.vacate()
    found = settings(1)
    found["slinky-iac:keys"] = {"source": "imported"}
    stack = world.stack("stopping", found)
    stack.pulumi("up", "--yes", "--skip-preview")
    apply_lines_of(stack)
    slurm.await_registered("gpu-0", "metal-1", "metal-2")
    rotated = Rotated(world, slurm, stack)
    yield rotated
    slurm.cancel_all()
    has = rotated.now()
    world.vacate()
    lab_has(has["slurmKey"], has["jwtKey"])


def test_a_job_on_metal_goes_on_and_one_on_a_pod_is_waited_for(stopped: Rotated) -> None:
    old, slurm = imported_keys(), stopped.slurm
    pods = {pod["metadata"]["uid"] for pod in stopped.world.objects("pods", NAMESPACE)}
    on_pod = slurm.submit("-w", "gpu-0", "-t5", seconds=15)
    on_metal = slurm.submit("-w", "metal-1", "-t30")
    slurm.await_running(on_pod, on_metal)
    assert stopped.rotate("slurm", "--start").returncode == 1, "its pods know one key only"
    done = stopped.rotate("slurm", "--stop")
    assert done.returncode == 0, done.stdout + done.stderr
    new = stopped.now()
    assert (new["slurmKey"] != old["slurmKey"], new["jwtKey"] == old["jwtKey"]) == (True, True)
    assert (joins(old["slurmKey"]), joins(new["slurmKey"])) == (False, True)
    assert not pods & {pod["metadata"]["uid"] for pod in stopped.world.objects("pods", NAMESPACE)}
    slurm.await_registered("gpu-0", "metal-1", "metal-2")
    assert slurm.job_state(on_metal) == frozenset({"RUNNING"})
    slurm.finish(on_metal)
    rows = slurm.await_completed(on_pod, on_metal)
    assert {(row.state, row.exit_code) for row in rows} == {("COMPLETED", "0:0")}
    assert len(rows) == 2, "neither was started twice"
    assert sorted(slurm.user("srun", "-N3", "-t1", "hostname").split()) == ["gpu-0", "metal-1", "metal-2"]
    verify(stopped)
    stopped.stack.pulumi("preview", "--expect-no-changes")
