"""Fixtures of the fault tier: those of the end-to-end tier. Run by hand before a release (`./tests/run faults`): it takes
an hour."""

from tests.e2e.conftest import gated, ground, slurm, world

__all__ = ["gated", "ground", "slurm", "world"]
