"""A new pod would take the name of a Slurm node that is somebody else's: two Kubernetes clusters at one slurmctld.

slurmctld 26.05.5 gives the name to the slurmd that registers last, and ends the jobs of the one before with NODE_FAIL.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.gated import NODES, STACK, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.faults.foreign_slurmd import registered_outside

STANDS_ON = STACK
TAKEN = NODES[2]


@pytest.fixture
def stranger(gated: Gated, slurm: Slurm) -> Iterator[str]:
    """A node of the third pod's name, which isn't there, on a metal host."""
    gated.up(2)
    await_true("the record of the third pod is gone", lambda: TAKEN not in slurm.nodes(), 60)
    with registered_outside(slurm, TAKEN):
        yield TAKEN


def test_a_scale_out_leaves_a_name_that_is_in_use_and_its_job_alone(gated: Gated, slurm: Slurm, stranger: str) -> None:
    job = slurm.submit("-p", "gpu", "-w", stranger, "-t", "20")
    slurm.await_running(job)
    gated.write(3, {"registerDeadline": "10s"})
    said = gated.stack.pulumi("preview").stdout
    assert f"{stranger} is in use in Slurm" in said, said
    done = gated.try_up()
    assert done.returncode != 0
    assert f"{stranger} is in use in Slurm" in done.stdout + done.stderr
    assert gated.pods() == sorted(NODES[:2])
    assert "RUNNING" in slurm.job_state(job)
    slurm.finish(job)
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes) == ("COMPLETED", stranger)
