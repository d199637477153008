"""`python -m tests.faults.prepare`: what fault tests take from Debian and Go, before lanes without a network begin."""

from __future__ import annotations

from lab import later_operator
from lab.slurm import munge

if __name__ == "__main__":
    munge.image()
    later_operator.image()
