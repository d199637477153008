"""`pulumi stack import` of an export that is older than a NodeSet, whose job runs: nothing of it changes until the command
that `pulumi up` prints takes it up. Each step with a state of its own: tests/integration/test_older_state.py."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from lab.demo import apply_lines_of
from tests.e2e.gated import NAMESPACE, NODES, Gated, settings
from tests.e2e.slurm import Slurm
from tests.e2e.world import Settings, World

LATE = "slurm-worker-late"


@pytest.fixture(scope="module")
def gated(ground: None, world: World, slurm: Slurm) -> Iterator[Gated]:
    gated = Gated(world, slurm, world.named("older"))
    gated.up(1)
    yield gated
    slurm.cancel_all()
    world.vacate()


def with_late() -> Settings:
    """One NodeSet more."""
    found = settings(1)
    found["slinky-iac:nodesets"]["late"] = found["slinky-iac:nodesets"]["gpu"] | {"replicas": 1}
    return found


def test_a_nodeset_of_after_the_export_is_taken_up_and_its_job_runs_on(gated: Gated, slurm: Slurm) -> None:
    older = gated.stack.pulumi("stack", "export").stdout
    gated.world.stack(gated.stack.name, with_late())
    gated.stack.up()
    apply_lines_of(gated.stack)
    slurm.await_registered(NODES[0], "late-0")
    job = slurm.submit("-w", "late-0", "-t", "20")
    slurm.await_running(job)
    pods = gated.world.pods(NAMESPACE, "late")["late-0"]["metadata"]["uid"]
    gated.stack.pulumi("stack", "import", stdin=older)

    refused = gated.stack.up(check=False)
    said = refused.stdout + refused.stderr
    assert refused.returncode != 0, said
    assert f"NodeSet {NAMESPACE}/{LATE} is there already with 1 replicas" in said
    (command,) = {line.strip() for line in said.splitlines() if "| pulumi import " in line}
    env = gated.stack.environment("import")
    done = subprocess.run(
        ["sh", "-c", command], cwd=gated.stack.folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    gated.stack.up()
    assert gated.changes() == []
    assert gated.world.pods(NAMESPACE, "late")["late-0"]["metadata"]["uid"] == pods
    assert "RUNNING" in slurm.job_state(job)
    slurm.finish(job)
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes, row.exit_code) == ("COMPLETED", "late-0", "0:0")
