"""Nodes that follow the queue: KEDA on the lab, slurmctld's own metrics, and every job's row from slurmdbd."""

from __future__ import annotations

import time

from tests.e2e.gated import NODES
from tests.faults.autoscaled import COOLDOWN_S, Autoscaled, Witness, autoscaled, recipe

__all__ = ["autoscaled"]


def completed(found: Autoscaled, *jobs: int) -> None:
    """Every job ran once, to its end."""
    rows = found.slurm.await_completed(*jobs)
    assert [row.state for row in rows] == ["COMPLETED"] * len(jobs), rows


def test_two_jobs_bring_two_nodes_from_none_and_an_empty_queue_sends_them_away(autoscaled: Autoscaled) -> None:
    autoscaled.empty()
    with Witness(autoscaled) as seen:
        jobs = [autoscaled.submit("-N1"), autoscaled.submit("-N1")]
        autoscaled.slurm.await_running(*jobs, timeout=240)
        assert autoscaled.replicas == 2
        seen.await_looks(COOLDOWN_S + 15)  # no job waits for longer than the cool-down: nothing may go
        assert autoscaled.replicas == 2
        autoscaled.slurm.finish(*jobs)
        ended = time.monotonic()
        completed(autoscaled, *jobs)
        autoscaled.await_replicas(0)
        assert time.monotonic() - ended > COOLDOWN_S - 15
    assert seen.drained_under_work == set()
    assert max(seen.numbers) == 2


def test_a_wide_job_on_no_nodes_starts(autoscaled: Autoscaled) -> None:
    autoscaled.empty()
    with Witness(autoscaled) as seen:
        job = autoscaled.submit("-N3")
        autoscaled.slurm.await_running(job, timeout=240)
        autoscaled.slurm.finish(job)
        completed(autoscaled, job)
    assert seen.drained_under_work == set()


def test_two_of_three_idle_exactly_these_go(autoscaled: Autoscaled) -> None:
    autoscaled.three_nodes()
    job = autoscaled.submit("-N1", "-w", "gpu-1")
    autoscaled.slurm.await_running(job)
    with Witness(autoscaled) as seen:
        autoscaled.await_pods_of("gpu-1")
        assert "RUNNING" in autoscaled.slurm.job_state(job)
        autoscaled.slurm.finish(job)
        completed(autoscaled, job)
    assert seen.drained_under_work == set()


def test_the_known_recipe_drains_nodes_under_work_and_ours_drains_none(autoscaled: Autoscaled) -> None:
    """Side by side: three jobs run, none waits, for two cool-downs. No job is lost in either case, for the operator waits;
    but the recipe's nodes take no further job."""
    drained: dict[str, set[str]] = {}
    for name in ("ours", "recipe"):
        autoscaled.empty()
        if name == "ours":
            drained[name] = _three_jobs(autoscaled)
        else:
            with recipe(autoscaled, COOLDOWN_S):
                drained[name] = _three_jobs(autoscaled)
                autoscaled.slurm.cancel_all()
    assert drained["ours"] == set()
    assert drained["recipe"] == set(NODES)


def _three_jobs(found: Autoscaled) -> set[str]:
    jobs = [found.submit("-N1") for _ in NODES]
    found.slurm.await_running(*jobs, timeout=240)
    with Witness(found) as seen:
        seen.await_looks(2 * COOLDOWN_S + 30)
    found.slurm.finish(*jobs)
    completed(found, *jobs)
    return seen.drained_under_work
