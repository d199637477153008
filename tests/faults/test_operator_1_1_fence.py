"""The fence of pods on slurm-operator 1.1.0 and newer, which also deletes pods whose node slurmctld doesn't have."""

from __future__ import annotations

from tests.e2e.gated import NODES, NODESET, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.faults import test_fence_pods
from tests.faults.test_fence_pods import busy, refusals, three, uids
from tests.faults.test_lost_state import give_back, lose_state
from tests.faults.test_operator_1_1 import STANDS_ON, gated

__all__ = ["STANDS_ON", "gated", "three"]


def test_a_pod_whose_node_slurmctld_lost_is_replaced(gated: Gated, slurm: Slurm) -> None:
    """The jobs beside it run on."""
    before = uids(gated)
    job = slurm.submit("-p", NODESET, "-w", "gpu-0", "--exclusive", "-t", "30")
    slurm.await_running(job)
    slurm.admin("scontrol", "delete", "nodename=gpu-1")
    await_true("its pod is a new one", lambda: uids(gated).get("gpu-1", before["gpu-1"]) != before["gpu-1"], 180, every=2)
    slurm.await_registered("gpu-1")
    assert {node for node, uid in uids(gated).items() if uid != before[node]} == {"gpu-1"}
    slurm.finish(job)
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes) == ("COMPLETED", "gpu-0")


test_a_number_lowered_while_the_operator_was_down_costs_no_job = (
    test_fence_pods.test_a_number_lowered_while_the_operator_was_down_costs_no_job
)
test_an_operator_that_comes_back_without_slurmrestd_deletes_no_busy_pod = (
    test_fence_pods.test_an_operator_that_comes_back_without_slurmrestd_deletes_no_busy_pod
)
test_an_idle_pod_goes_as_before = test_fence_pods.test_an_idle_pod_goes_as_before


def test_a_slurmctld_that_comes_back_without_its_state_costs_no_pod(gated: Gated, slurm: Slurm) -> None:
    """The operator would delete every pod. With its state again, slurmctld knows the jobs, which have run on."""
    before = uids(gated)
    jobs = busy(slurm)
    refused = refusals(gated.world)
    lose_state()
    try:
        await_true("the operator was refused all pods", lambda: refusals(gated.world) >= refused + 3, 240, every=2)
    finally:
        give_back()
    assert uids(gated) == before
    await_true("the jobs are known", lambda: all("RUNNING" in slurm.job_state(job) for job in jobs.values()), 60)
    slurm.finish(*jobs.values())
    rows = slurm.await_completed(*jobs.values())
    assert {(row.state, row.nodes, row.exit_code) for row in rows} == {("COMPLETED", node, "0:0") for node in NODES}
