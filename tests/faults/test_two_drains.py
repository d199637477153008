"""Two stacks with NodeSets of one Slurm cluster, scaled in at the same time: each drains its own, neither waits for the
other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import slurm as outside
from lab.demo import nodeset_lines
from lab.stacks import Stack
from slinky_iac.releases import OperatorVersion
from tests.e2e.gated import Gated, bring_up
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.test_two_stacks import started
from tests.e2e.world import Settings, World, dev_settings

NAMESPACE = "slurm-b"
NAME = "gated-b"
CONFUSES = OperatorVersion.parse(dev_settings()["slinky-iac:operator"]["version"]).confuses_equal_names


def settings(replicas: int) -> Settings:
    """One NodeSet in a namespace of its own, of the same outside slurmctld."""
    found = dev_settings()
    # slurm-operator 1.0.1 takes Controllers of one name in two namespaces for one.
    found["slinky-iac:cluster"] |= {"namespace": NAMESPACE, "resourceName": NAMESPACE}
    found["slinky-iac:operator"] = {"install": False, "version": found["slinky-iac:operator"]["version"]}
    cpu = found["slinky-iac:nodesets"]["cpu"] | {"replicas": replicas, "drain": {"deadline": "4m"}}
    found["slinky-iac:nodesets"] = {"cpu": cpu}
    found["slinky-iac:partitions"] = {}
    return found


@pytest.fixture(scope="module")
def first(world: World, slurm: Slurm) -> Iterator[Gated]:
    gated = bring_up(world, slurm)
    gated.up(2)
    yield gated
    slurm.cancel_all()
    gated.stack.destroy()


@pytest.fixture(scope="module")
def second(first: Gated, world: World, slurm: Slurm) -> Iterator[Stack]:
    stack = world.stack(NAME, settings(1))
    stack.up()
    both = [str(each.outputs()["outsideSlurmConf"]) for each in (first.stack, stack)]
    outside.apply_nodesets_conf("\n".join(nodeset_lines(text) for text in both))
    slurm.await_registered("gpu-0", "gpu-1", "cpu-0")
    yield stack
    slurm.cancel_all()
    stack.destroy()
    outside.apply_nodesets_conf(nodeset_lines(both[0]))


def test_two_stacks_drain_at_once_each_its_own_and_no_job_is_lost(
    first: Gated, second: Stack, world: World, slurm: Slurm
) -> None:
    kept = slurm.submit("-p", "gpu", "-w", "gpu-0", "-t", "30", seconds=300)
    going = {
        "gpu-1": slurm.submit("-p", "gpu", "-w", "gpu-1", "-t", "3", seconds=60),
        "cpu-0": slurm.submit("-p", "cpu", "-w", "cpu-0", "-t", "3", seconds=60),
    }
    slurm.await_running(kept, *going.values())
    first.write(1)
    world.stack(NAME, settings(0))
    runs = [started(stack, "up") for stack in (first.stack, second)]
    await_true(
        "each stack drains its own",
        lambda: (
            slurm.reason("gpu-1").startswith("slinky-iac:gated/gpu: scale-in 2->1 (run ")
            and slurm.reason("cpu-0").startswith("slinky-iac:gated-b/cpu: scale-in 1->0 (run ")
        ),
        90,
    )
    assert slurm.reason("gpu-0") == ""
    for run in runs:
        out, _ = run.communicate(timeout=300)
        assert run.returncode == 0, out
    assert first.pods() == ["gpu-0"]
    assert world.pods(NAMESPACE, "cpu") == {}
    rows = slurm.await_completed(*going.values())
    assert sorted((row.job, row.state, row.nodes) for row in rows) == sorted(
        (str(job), "COMPLETED", node) for node, job in going.items()
    )
    assert "RUNNING" in slurm.job_state(kept)


def test_a_third_stack_of_a_taken_name_is_warned_where_the_operator_confuses_them(first: Gated, world: World) -> None:
    taken = settings(0)
    taken["slinky-iac:cluster"] |= {"namespace": "slurm-c", "resourceName": "slurm"}
    stack = world.stack("gated-c", taken)
    shown = stack.pulumi("preview")
    warned = "'slurm' is the name of a cluster in namespace slurm too" in shown.stdout + shown.stderr
    assert warned == CONFUSES, "from 1.1.0 on the operator tells such clusters apart"
