"""What happens when the wait is over, and how a drain is taken back: real jobs, real deadlines, kept short."""

from __future__ import annotations

import json

from lab import given_slurm
from tests.e2e.gated import NODES, STACK, Gated
from tests.e2e.slurm import Slurm

STANDS_ON = STACK
REQUEUES = given_slurm.release() >= "26.05"
"""Whether the lab's slurmrestd can requeue jobs."""


def occupy(slurm: Slurm, *options: str, seconds: int = 600) -> list[int]:
    """A job on each of the three nodes, which it names."""
    jobs = [slurm.submit("-p", "gpu", "-w", node, "-t", "30", *options, seconds=seconds) for node in NODES]
    slurm.await_running(*jobs)
    return jobs


def fill(slurm: Slurm, *options: str, seconds: int = 600) -> list[int]:
    """The same, where Slurm chooses the node of each: none names one."""
    jobs = [slurm.submit("-p", "gpu", "-N1", "--exclusive", "-t", "30", *options, seconds=seconds) for _ in NODES]
    slurm.await_running(*jobs)
    found = {slurm.job_nodes(job): job for job in jobs}
    assert sorted(found) == sorted(NODES), found
    return [found[node] for node in NODES]


def drained(slurm: Slurm) -> list[str]:
    """Nodes with a drain of ours."""
    return sorted(
        name for name, node in slurm.nodes().items() if "DRAIN" in node["state"] and "slinky-iac:" in node["reason"]
    )


def test_at_the_deadline_nothing_is_killed_and_the_nodes_stay_drained_until_it_is_cancelled_or_gone_on_with(
    gated: Gated, slurm: Slurm
) -> None:
    gated.reset()
    jobs = occupy(slurm)
    gated.write(2, {"deadline": "6s"})

    failed = gated.try_up()
    assert failed.returncode != 0
    assert "Nothing was killed" in failed.stdout, failed.stdout
    assert "drain cancel" in failed.stdout
    assert all("RUNNING" in slurm.job_state(job) for job in jobs)
    (node,) = drained(slurm)

    shown = gated.cli("drain", "status", "--json")
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert (found["schema"], found["unknown"]) == (1, [])
    (row,) = found["drains"]
    assert (row["node"], row["owner"], row["marked"]) == (node, "ours", True)
    assert row["returns"], "slurmctld ends a drain of ours that no run renews"

    cancelled = gated.cli("drain", "cancel")
    assert cancelled.returncode == 0, cancelled.stderr
    assert drained(slurm) == []
    assert gated.annotations() == {node: {} for node in NODES}
    assert all("RUNNING" in slurm.job_state(job) for job in jobs)

    failed = gated.try_up()
    assert failed.returncode != 0
    (again,) = drained(slurm)
    slurm.admin("scancel", str(jobs[NODES.index(again)]))
    gated.write(2, {"deadline": "3m"})
    gated.stack.up()
    gated.await_pods(*(name for name in NODES if name != again))
    kept = [job for name, job in zip(NODES, jobs, strict=True) if name != again]
    assert all("RUNNING" in slurm.job_state(job) for job in kept)


def test_with_on_deadline_requeue_the_jobs_go_back_to_the_queue_and_lose_no_entry(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    jobs = fill(slurm, "--requeue")
    gated.write(2, {"deadline": "6s", "onDeadline": "requeue"})
    if not REQUEUES:
        assert "slurmrestd 25.11 can't requeue jobs" in gated.try_up().stdout
        assert gated.pods() == list(NODES)
        assert all("RUNNING" in slurm.job_state(job) for job in jobs)
        return
    gated.stack.up()

    left = gated.pods()
    assert len(left) == 2
    (moved,) = [job for name, job in zip(NODES, jobs, strict=True) if name not in left]
    assert slurm.jobs()[moved]["restart_cnt"] == 1
    kept = [job for name, job in zip(NODES, jobs, strict=True) if name in left]
    assert all("RUNNING" in slurm.job_state(job) for job in kept)


def test_with_on_deadline_requeue_a_job_that_names_its_node_runs_on(gated: Gated, slurm: Slurm) -> None:
    """slurm-operator 1.0 deletes the node's record with its pod, and slurmctld's next start would end the requeued job."""
    gated.reset()
    jobs = occupy(slurm, "--requeue")
    gated.write(2, {"deadline": "6s", "onDeadline": "requeue"})

    failed = gated.try_up()
    assert failed.returncode != 0
    why = "a requeue would not save these" if REQUEUES else "slurmrestd 25.11 can't requeue jobs"
    assert why in failed.stdout, failed.stdout
    assert gated.pods() == list(NODES)
    assert len(drained(slurm)) == 1
    assert [slurm.jobs()[job]["restart_cnt"] for job in jobs] == [0, 0, 0]
    assert all("RUNNING" in slurm.job_state(job) for job in jobs)


def test_with_on_deadline_cancel_only_the_jobs_on_given_up_nodes_are_signalled_and_cancelled(
    gated: Gated, slurm: Slurm
) -> None:
    gated.reset()
    jobs = occupy(slurm)
    gated.write(2, {"deadline": "6s", "onDeadline": "cancel", "grace": "5s"})
    gated.stack.up()

    left = gated.pods()
    (ended,) = [job for name, job in zip(NODES, jobs, strict=True) if name not in left]
    (row,) = slurm.await_completed(ended)
    assert row.state.split()[0] in {"CANCELLED", "FAILED"}, row
    kept = [job for name, job in zip(NODES, jobs, strict=True) if name in left]
    assert all("RUNNING" in slurm.job_state(job) for job in kept)


def test_a_preview_that_reaches_no_slurmrestd_says_so_and_claims_nothing(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    gated.write(2, {"deadline": "5s"}, slurmrest={"url": "http://127.0.0.1:9"})
    gated.current["slinky-iac:drain"] = {"deadline": "5s"}  # of the metal hosts' gate, which asks the same slurmrestd
    gated.world.stack(gated.stack.name, gated.current)
    plan = gated.plan()
    assert (plan["known"], plan["nodes"], plan["jobs"]) == (False, [], [])
    assert any("could not be asked" in warning for warning in plan["warnings"]), plan
    refused = gated.try_up()
    assert refused.returncode != 0, "what a preview may not know, an update must"
    assert gated.pods() == list(NODES)
    assert drained(slurm) == []
