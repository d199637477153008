"""`pulumi up --plan`, the strict way of docs/ci.md, on the real operator: what a review saved is done, or nothing is."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.e2e.gated import NAMESPACE, NODES, NODESET, STACK, Gated
from tests.e2e.slurm import Slurm, await_true

STANDS_ON = STACK
VIOLATED = "violates plan"


def reviewed(gated: Gated, folder: Path) -> Path:
    """The plan of a review of the settings that are written."""
    plan = folder / "plan.json"
    gated.stack.pulumi("preview", "--save-plan", str(plan))
    return plan


def apply(gated: Gated, plan: Path, *, check: bool = True) -> subprocess.CompletedProcess[str]:
    """The update of `apply`: that plan or nothing."""
    gated.changed()
    return gated.stack.pulumi("up", "--yes", "--plan", str(plan), check=check)


def test_a_scale_in_is_done_as_it_was_reviewed(gated: Gated, slurm: Slurm, tmp_path: Path) -> None:
    gated.reset()
    gated.write(2)
    (node,) = gated.planned_nodes()
    apply(gated, reviewed(gated, tmp_path))
    gated.await_pods(*sorted({*NODES} - {node}))
    assert gated.changes() == []


def test_a_scale_out_is_done_as_it_was_reviewed(gated: Gated, slurm: Slurm, tmp_path: Path) -> None:
    gated.reset()
    gated.up(2)
    gated.write(3)
    apply(gated, reviewed(gated, tmp_path))
    slurm.await_registered(*NODES)
    assert gated.changes() == []


def test_a_job_that_came_after_the_review_lives_and_nothing_is_done(gated: Gated, slurm: Slurm, tmp_path: Path) -> None:
    """Another node is selected then, or the same with a job: neither is what was approved."""
    gated.reset()
    gated.write(2)
    (node,) = gated.planned_nodes()
    plan = reviewed(gated, tmp_path)
    job = slurm.submit("-p", NODESET, "-w", node, "-t", "10")
    slurm.await_running(job)

    refused = apply(gated, plan, check=False)
    assert refused.returncode != 0
    assert VIOLATED in refused.stdout + refused.stderr
    assert gated.pods() == sorted(NODES)
    assert not any("DRAIN" in states for name, states in slurm.states().items() if name in NODES)
    assert "RUNNING" in slurm.job_state(job)

    apply(gated, reviewed(gated, tmp_path))  # a new review selects an idle node
    await_true("two pods are left", lambda: len(gated.pods()) == 2, 90)
    assert node in gated.pods()
    slurm.finish(job)
    (row,) = slurm.await_completed(job)
    assert row.state == "COMPLETED"


def test_a_rollout_is_done_as_it_was_reviewed(gated: Gated, slurm: Slurm, tmp_path: Path) -> None:
    gated.reset()
    before = {name: pod["metadata"]["uid"] for name, pod in gated.world.pods(NAMESPACE, NODESET).items()}
    gated.write(3, nodeset={"env": {"REVIEWED": "yes"}})
    apply(gated, reviewed(gated, tmp_path))
    after = {name: pod["metadata"]["uid"] for name, pod in gated.world.pods(NAMESPACE, NODESET).items()}
    assert before.keys() == after.keys()
    assert not {*before.values()} & {*after.values()}, "each pod is a new one"
    assert gated.changes() == []


def test_a_new_stack_is_made_as_it_was_reviewed(gated: Gated, slurm: Slurm, tmp_path: Path) -> None:
    """With imported keys, whose Secrets Kubernetes shows in a preview: they aren't there yet."""
    gated.reset()
    gated.changed()
    gated.stack.destroy()
    gated.write(3)
    apply(gated, reviewed(gated, tmp_path))
    slurm.await_registered(*NODES)
    assert gated.changes() == []
