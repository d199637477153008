"""Fixtures of the fault tier: those of the end-to-end tier. Run by hand before a release (`./tests/run faults`): it takes
an hour."""

from tests.e2e.conftest import gated, ground, own, own_cluster, slurm, world

__all__ = ["gated", "ground", "own", "own_cluster", "slurm", "world"]
