"""`python -m tests.faults.prepare`: what fault tests take from Debian, PyPI and Go, before lanes without a network begin."""

from __future__ import annotations

from lab import enforcer, keda, later_operator, store
from lab.slurm import jupyter, munge, nginx, older, python3

if __name__ == "__main__":
    munge.image()
    jupyter.image()
    nginx.image()
    python3.image()
    later_operator.image()
    enforcer.program()
    store.program()
    keda.programs()
    older.root()
