"""Fixtures of the end-to-end tier: the lab must be up (`./lab/lab up`, as tests/run does); a lab that isn't fails the tier.

Every test works on real daemons: pulumi's engine, kube-apiserver, slurm-operator, slurmctld, slurmdbd, slurmrestd.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from lab.slurm import cluster
from tests.e2e.gated import NODES, Gated, bring_up
from tests.e2e.own_hosts import own, own_cluster
from tests.e2e.slurm import Slurm
from tests.e2e.world import World, lab_environment

__all__ = ["gated", "ground", "own", "own_cluster", "slurm", "world"]
RIGHTS = "SLINKY_E2E_RIGHTS"
"""`least`: stacks of every module go to Kubernetes with the rights that `slinky rights` prints for them."""
LEAST = {
    "test_drain_jobs",
    "test_drain_policy",
    "test_drift",
    "test_status",
    "test_drain_teardown",
    "test_stack_life",
    "test_two_stacks",
    "test_leaks",
    "test_preflight",
}
"""Modules whose stacks always do; those of the others go as the lab's administrator else."""


@pytest.fixture(scope="session")
def world() -> World:
    """The lab, checked to be up."""
    world = World(lab_environment())
    world.require_up()
    return world


@pytest.fixture(scope="session")
def slurm(world: World) -> Slurm:
    """Slurm as its users and its admin see it, from the outside hosts."""
    return Slurm(cluster.LAB.hosts)


@pytest.fixture(scope="module", autouse=True)
def ground(request: pytest.FixtureRequest, world: World) -> None:
    """No stack of another module is left when a module begins, but the one that it says it stands on."""
    world.run_with_rights(least=os.environ.get(RIGHTS) == "least" or request.module.__name__.rsplit(".", 1)[-1] in LEAST)
    world.vacate(keep=getattr(request.module, "STANDS_ON", None))


@pytest.fixture(autouse=True)
def least(world: World) -> Iterator[None]:
    """No request was refused that a stack has sent: `rights` prints all that it needs."""
    yield
    if world.accounts:
        world.accounts.require_none_refused()


@pytest.fixture(scope="module")
def gated(ground: None, world: World, slurm: Slurm) -> Iterator[Gated]:
    """Three pods behind gates. They stay for the next module, without jobs and drains."""
    gated = bring_up(world, slurm)
    yield gated
    slurm.cancel_all()
    for node in set(NODES) & set(slurm.nodes()):
        slurm.admin("scontrol", "update", f"nodename={node}", "state=undrain", check=False)
