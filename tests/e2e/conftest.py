"""Fixtures of the end-to-end tier: the lab must be up (`./lab/lab up`, as tests/run does); a lab that isn't fails the tier.

Every test works on real daemons: pulumi's engine, kube-apiserver, slurm-operator, slurmctld, slurmdbd, slurmrestd.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.slurm import cluster
from tests.e2e.gated import NODES, Gated, bring_up
from tests.e2e.slurm import Slurm
from tests.e2e.world import World, lab_environment


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
    world.vacate(keep=getattr(request.module, "STANDS_ON", None))


@pytest.fixture(scope="module")
def gated(ground: None, world: World, slurm: Slurm) -> Iterator[Gated]:
    """Three pods behind gates. They stay for the next module, without jobs and drains."""
    gated = bring_up(world, slurm)
    yield gated
    slurm.cancel_all()
    for node in set(NODES) & set(slurm.nodes()):
        slurm.admin("scontrol", "update", f"nodename={node}", "state=undrain", check=False)
