"""Fixtures of the fault tier: those of the end-to-end tier. Run by hand before a release (`./tests/run faults`): it takes
an hour. `SLINKY_E2E_RIGHTS=least` runs a module's stacks with what `rights` prints, as it does there."""

from tests.e2e.conftest import gated, ground, least, own, own_cluster, slurm, world

__all__ = ["gated", "ground", "least", "own", "own_cluster", "slurm", "world"]
