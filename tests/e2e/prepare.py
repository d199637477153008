"""`python -m tests.e2e.prepare`: what end-to-end tests take from package registries, before lanes without a network begin.

Ansible, and the Python and cloud-init of blank hosts. Warm it is done at once.
"""

from __future__ import annotations

from lab import python_env
from lab.slurm import blank

if __name__ == "__main__":
    python_env.ensure_ansible()
    blank.LAYER.ensure()
