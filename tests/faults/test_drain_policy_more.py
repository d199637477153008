"""More of what happens when the wait is over: the part of the deadline tests that takes too long for every run."""

from __future__ import annotations

from tests.e2e.gated import NODES, STACK, Gated
from tests.e2e.slurm import Slurm
from tests.e2e.test_drain_policy import drained, occupy

STANDS_ON = STACK


def test_raising_replicas_again_gives_back_what_a_failed_scale_in_drained(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    jobs = occupy(slurm)
    gated.write(1, {"deadline": "5s"})
    assert gated.try_up().returncode != 0
    assert len(drained(slurm)) == 2

    gated.write(3, {"deadline": "5s"})
    assert any(name.endswith("-scale") for _, name in gated.changes()), "the preview shows that drains are given back"
    gated.stack.up()

    assert drained(slurm) == []
    assert gated.annotations() == {node: {} for node in NODES}
    assert all("RUNNING" in slurm.job_state(job) for job in jobs)
    assert gated.changes() == []


def test_with_on_deadline_undo_a_late_scale_in_leaves_no_trace(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    jobs = occupy(slurm)
    gated.write(2, {"deadline": "5s", "onDeadline": "undo"})

    failed = gated.try_up()
    assert failed.returncode != 0
    assert "the drains are taken back" in failed.stdout
    assert drained(slurm) == []
    assert gated.annotations() == {node: {} for node in NODES}
    assert all("RUNNING" in slurm.job_state(job) for job in jobs)


def test_limits_fail_the_preview_and_change_nothing(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    jobs = occupy(slurm)
    gated.write(1, {"limits": {"maxShare": 0.5, "maxJobs": 1}})

    refused = gated.stack.pulumi("preview", check=False)
    assert refused.returncode != 0
    assert "maxShare" in refused.stdout + refused.stderr
    assert "maxJobs" in refused.stdout + refused.stderr
    assert gated.try_up().returncode != 0
    assert drained(slurm) == []
    assert gated.pods() == list(NODES)
    assert all("RUNNING" in slurm.job_state(job) for job in jobs)
