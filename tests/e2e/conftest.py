"""Fixtures of the end-to-end tier: the lab must be up (`./lab/lab up`, as tests/run does); a lab that isn't fails the tier.

Every test works on real daemons: pulumi's engine, kube-apiserver, slurm-operator, slurmctld, slurmdbd, slurmrestd.
"""

from __future__ import annotations

import pytest

from lab.slurm import cluster
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
