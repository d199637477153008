"""Fixtures of the fault tier: those of the end-to-end tier. Run by hand before a release (`./tests/run faults`): it takes
an hour."""

import pytest

from tests.e2e.conftest import gated, ground, slurm
from tests.e2e.world import World, lab_environment

__all__ = ["gated", "ground", "slurm"]


@pytest.fixture(scope="session")
def world() -> World:
    """The lab, checked to be up. Its stacks are the administrator's: faults are made in places that no stack writes."""
    world = World(lab_environment())
    world.require_up()
    return world
