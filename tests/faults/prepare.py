"""`python -m tests.faults.prepare`: what fault tests take from Debian, PyPI and Go, before lanes without a network begin."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from lab import apt, enforcer, keda, later_operator, python_env, store
from lab.slurm import jupyter, ldap, munge, nginx, older, program, python3
from tests import wheel

PROMETHEUS = {"prometheus": "prometheus", "promtool": "prometheus", "prometheus-node-exporter": "prometheus-node-exporter"}
"""Programs that scrape the lab, and Debian's packages of them."""

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
    with TemporaryDirectory() as folder:
        program.image(wheel.build(Path(folder)))
    python_env.ensure_dashboard()
