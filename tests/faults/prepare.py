"""`python -m tests.faults.prepare`: what fault tests take from Debian, PyPI and Go, before lanes without a network begin."""

from __future__ import annotations

from lab import apt, enforcer, keda, later_operator, python_env, store
from lab.slurm import jupyter, ldap, munge, nginx, older, python3

PROMETHEUS = {"prometheus": "prometheus", "promtool": "prometheus"}
"""Programs that scrape the lab, and Debian's package of them."""

if __name__ == "__main__":
    munge.image()
    jupyter.image()
    ldap.image()
    jupyter.node_image()
    nginx.image()
    python3.image()
    later_operator.image()
    enforcer.program()
    store.program()
    keda.programs()
    older.root()
    apt.ensure(PROMETHEUS)
    python_env.ensure_dashboard()
