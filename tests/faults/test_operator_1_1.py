"""slurm-operator 1.1.0 beside an outside slurmctld: a stack comes up with it, jobs run, gates drain; and the planner's
picture of it is right where no gate marks a pod (`test_operator_ranking` has the cases).

On a lab with a newer operator of your own (`lab up --operator-source DIR`) the stack has that one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from lab import demo, later_operator, paths
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.stacks import Stack
from slinky_iac.releases import OperatorVersion
from tests.e2e.gated import NAMESPACE, NODES, Gated
from tests.e2e.slurm import Slurm
from tests.e2e.world import Settings, World, dev_settings
from tests.faults import test_operator_ranking
from tests.faults.later_operator import on_later_operator
from tests.faults.test_operator_ranking import settings, three, unsteered

__all__ = ["settings", "three", "unsteered"]

STANDS_ON = "later-gated"


RELEASE = OperatorVersion.parse(dev_settings()["slinky-iac:operator"]["version"])
"""Of the lab's own operator."""


def later(found: Settings) -> None:
    """slurm-operator 1.1.0, or the lab's own where that is as new."""
    if RELEASE.minor == 0:
        on_later_operator(found)


class OnLaterOperator(Gated):
    """Three pods behind gates, of slurm-operator 1.1.0 or newer."""

    def write(self, replicas: int, drain: Mapping[str, object] | None = None, **more: Any) -> None:
        operator = dev_settings(later)["slinky-iac:operator"]
        super().write(replicas, drain, operator=operator, **more)


@pytest.fixture(scope="module")
def gated(ground: None, world: World, slurm: Slurm) -> Iterator[Gated]:
    if RELEASE.minor == 0:
        later_operator.load(KUBERNETES)
    stack = Stack(STANDS_ON, paths.STATE / "projects" / STANDS_ON, world.env)
    gated = OnLaterOperator(world, slurm, stack)
    gated.up(3)
    demo.apply_lines_of(stack)
    slurm.await_registered(*NODES)
    yield gated
    slurm.cancel_all()
    world.vacate()


def test_a_job_runs_on_its_pods_and_on_metal_and_nothing_is_left_to_do(gated: Gated) -> None:
    assert demo.job(5).split() == [*NODES, "metal-1", "metal-2"]
    gated.stack.pulumi("preview", "--expect-no-changes")
    gated.stack.pulumi("refresh", "--preview-only", "--expect-no-changes")
    (controller,) = gated.world.objects("controllers.slinky.slurm.net", NAMESPACE)
    assert {"external", "jwtKeyRef", "slurmKeyRef"} <= set(controller["spec"])


def test_the_idle_node_goes_first_and_a_busy_one_is_waited_for(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    long, short = (slurm.submit("-p", "gpu", "-w", f"gpu-{at}", "-t", minutes) for at, minutes in ((2, "20"), (0, "5")))
    slurm.await_running(long, short)
    gated.write(2)
    assert gated.planned_nodes() == ["gpu-1"]
    gated.stack.up()
    gated.await_pods("gpu-0", "gpu-2")

    gated.write(1)
    assert gated.planned_nodes() == ["gpu-0"], "its job ends first"
    gated.finish_when_drained(gated.start_up(), ["gpu-0"], short)
    gated.await_pods("gpu-2")
    assert "RUNNING" in slurm.job_state(long)
    slurm.finish(long)
    rows = [(row.state, row.nodes, row.exit_code) for row in slurm.await_completed(long, short)]
    assert sorted(rows) == [("COMPLETED", "gpu-0", "0:0"), ("COMPLETED", "gpu-2", "0:0")]
    gated.reset()


# Last, since pulumi has its claim to replicas again only when the module ends.
test_the_operator_gives_up_whom_the_planner_predicts = (
    test_operator_ranking.test_the_operator_gives_up_whom_the_planner_predicts
)
