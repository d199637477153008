"""A new template whose pods can't start, with jobs on earlier pods: destroy and removal wait for those jobs, and end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.gated import NAMESPACE, NODESET, STACK, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.faults.test_rollout import calm, uids

__all__ = ["calm"]

STANDS_ON = STACK
SHORT = {"deadline": "4m", "registerDeadline": "20s"}
BROKEN = {"image": "docker.io/library/no-such-image:none"}
"""No registry that the lab reaches has it."""
STUCK = {"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull"}


def stuck(gated: Gated) -> set[str]:
    """Slurm nodes of pods whose image can't be had."""
    found = set()
    for node, pod in gated.world.pods(NAMESPACE, NODESET).items():
        states = [each.get("state", {}) for each in pod["status"].get("containerStatuses", [])]
        if any(state.get("waiting", {}).get("reason") in STUCK for state in states):
            found.add(node)
    return found


def drained(slurm: Slurm) -> set[str]:
    """By the gate, or with RollingUpdate by slurm-operator."""
    return {node for node, states in slurm.states().items() if "DRAIN" in states}


@pytest.mark.parametrize("way", ["destroy", "removal"])
@pytest.mark.parametrize("strategy", [{}, {"updateStrategy": {"type": "RollingUpdate"}}], ids=["Gated", "RollingUpdate"])
def test_a_stuck_rollout_keeps_no_nodeset_and_costs_no_job(
    calm: Gated, slurm: Slurm, way: str, strategy: dict[str, Any]
) -> None:
    gated = calm
    gated.up(3, SHORT, nodeset=strategy)
    before = uids(gated)
    jobs = {node: slurm.submit("-p", "gpu", "-w", node, "-t", "30") for node in ("gpu-1", "gpu-2")}
    slurm.await_running(*jobs.values())
    gated.write(3, SHORT, nodeset=strategy | BROKEN)
    rolled = gated.try_up()
    assert rolled.returncode != 0 or strategy, rolled.stdout

    def waits() -> bool:
        """Whether a new pod has no image, or slurm-operator, which chooses whom it replaces first, waits for a job."""
        return stuck(gated) == {"gpu-0"} or bool(strategy and drained(slurm) and drained(slurm) <= jobs.keys())

    await_true("the rollout is stuck", waits, 120)
    after = uids(gated)
    assert {node: after[node] for node in jobs} == {node: before[node] for node in jobs}
    assert all(slurm.job_state(job) == {"RUNNING"} for job in jobs.values())

    if way == "removal":
        gated.current["slinky-iac:nodesets"] = {}
        gated.world.stack(gated.stack.name, gated.current)
    run = gated.start_up(command="destroy" if way == "destroy" else "up")
    await_true("the nodes of both jobs are drained", lambda: drained(slurm) >= jobs.keys() or run.poll() is not None, 120)
    assert run.poll() is None, run.communicate()[0]
    assert all(slurm.job_state(job) == {"RUNNING"} for job in jobs.values())
    slurm.finish(*jobs.values())
    out, _ = run.communicate(timeout=300)
    assert run.returncode == 0, out
    rows = {int(row.job): (row.state, row.nodes, row.exit_code) for row in slurm.await_completed(*jobs.values())}
    assert rows == {job: ("COMPLETED", node, "0:0") for node, job in jobs.items()}
    assert gated.pods() == []
    gated.changed()
    gated.up(3)
