"""Fixtures of the fault tier: those of the end-to-end tier. Run by hand before a release (`./tests/run faults`), it takes
about half an hour; its last report is in docs/faults.md."""

from tests.e2e.conftest import slurm, world

__all__ = ["slurm", "world"]
