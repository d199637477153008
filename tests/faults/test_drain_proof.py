"""What a drain says of jobs before and after it, on real parts: jobs that lose by a node they are not on, and lost ones."""

from __future__ import annotations

import json

import pytest

from tests.e2e.gated import NODES, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.faults.mid_drain import gated

__all__ = ["gated"]


@pytest.mark.parametrize("may", ["--requeue", "--no-requeue"])
def test_a_job_that_its_node_takes_along_in_a_drain_is_an_error_with_its_number(
    gated: Gated, slurm: Slurm, may: str
) -> None:
    """An admin sets the node down while the gate waits for its jobs."""
    gated.reset()
    kept = slurm.submit("-p", "gpu", "-w", "gpu-0,gpu-1", "-N", "2", "-t", "20", seconds=900)
    ends = slurm.submit("-p", "gpu", "-w", "gpu-2", "-n", "1", "-t", "2", seconds=30)
    lost = slurm.submit("-p", "gpu", "-w", "gpu-2", "-n", "1", "-t", "10", may, seconds=600)
    slurm.await_running(kept, ends, lost)
    gated.write(2)
    run = gated.start_up()
    await_true("gpu-2 is drained by us", lambda: gated.drained("gpu-2"), 120)
    await_true("the short one is over", lambda: "RUNNING" not in slurm.job_state(ends), 90)
    slurm.admin("scontrol", "update", "nodename=gpu-2", "state=down", "reason=power")
    out, _ = run.communicate(timeout=300)
    assert run.returncode != 0, out
    assert f"1 job(s) of 2 lost with their nodes, by slurmdbd: {lost} of alice (NODE_FAIL on gpu-2" in out
    assert f"sacct -D -j {lost}" in out
    gated.await_pods("gpu-0", "gpu-1")
    assert "RUNNING" in slurm.job_state(kept)
    slurm.cancel_all()
    again = gated.try_up()
    assert again.returncode == 0, again.stdout
    assert gated.changes() == []


def test_plan_and_change_order_name_jobs_that_lose_by_a_node_they_are_not_on(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    kept = slurm.submit("-p", "gpu", "-w", "gpu-0", "-t", "20", seconds=600)
    slurm.await_running(kept)
    wide = slurm.submit("-p", "gpu", "-N", "3", "--exclusive", "-t", "20", seconds=600, user="bob")
    # Of all three: a node that it didn't name would be chosen.
    named = slurm.submit("-p", "gpu", "-w", ",".join(NODES), "-N", "3", "-t", "20", "-H", seconds=600)
    gated.write(2)
    warnings = "\n".join(gated.plan()["warnings"])
    assert f"gpu-2 is named by --nodelist of 1 job ({named} of alice)" in warnings
    assert f"{wide} of bob in gpu" in warnings
    assert "could run on no node that is left" in warnings
    preview = gated.stack.folder / "preview.json"
    preview.write_text(gated.stack.pulumi("preview", "--json").stdout)
    order = gated.cli("plan", "--format", "json", str(preview)).stdout
    assert f"({named} of alice)" in order
    assert f"{wide} of bob in gpu" in order
    removal = json.loads(gated.cli("drain", "plan", "--stack", gated.stack.name, "--json").stdout)["plans"]
    assert any(f"({named} of alice)" in text for plan in removal for text in plan["warnings"])


def test_a_destroy_says_what_became_of_its_jobs(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    jobs = [slurm.submit("-p", "gpu", "-w", node, "-t", "2", seconds=25) for node in NODES]
    slurm.await_running(*jobs)
    run = gated.start_up(command="destroy")
    out, _ = run.communicate(timeout=300)
    assert run.returncode == 0, out
    assert "3 jobs ran on, 0 lost" in out
