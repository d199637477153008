"""`python -m tests.faults.prepare [MODULE …]`: what fault tests take from Debian, PyPI and Go, before lanes without network.

With modules: only what these import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from lab import apt, enforcer, helm, keda, kwok, later_operator, prometheus_kinds, python_env, store
from lab.slurm import jupyter, ldap, munge, newer, nginx, older, program, python3
from tests import wheel
from tests.covers import named_by_tests

PROMETHEUS: Final = {
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "prometheus-node-exporter": "prometheus-node-exporter",
}
"""Programs that scrape the lab, and Debian's packages of them."""


def _program_image() -> None:
    with TemporaryDirectory() as folder:
        program.image(wheel.build(Path(folder)))


MADE: Final[dict[Path, tuple[Callable[[], object], ...]]] = {
    Path("lab/slurm/munge.py"): (munge.image,),
    Path("lab/slurm/newer.py"): (newer.image,),
    Path("lab/slurm/jupyter.py"): (jupyter.image, jupyter.node_image),
    Path("lab/slurm/ldap.py"): (ldap.image,),
    Path("lab/slurm/nginx.py"): (nginx.image,),
    Path("lab/slurm/python3.py"): (python3.image,),
    Path("lab/later_operator.py"): (later_operator.image,),
    Path("lab/enforcer.py"): (enforcer.program,),
    Path("lab/store.py"): (store.program,),
    Path("lab/keda.py"): (keda.programs,),
    Path("lab/kwok.py"): (kwok.program,),
    Path("lab/helm.py"): (helm.programs,),
    Path("lab/prometheus_kinds.py"): (prometheus_kinds.folder,),
    Path("lab/slurm/older.py"): (older.root,),
    Path("lab/slurm/program.py"): (_program_image,),
    Path("lab/dashboard.py"): (python_env.ensure_dashboard,),
}
"""By the file of the lab whose import says that it is needed. Prometheus is Debian's, and always there: it is quick."""


def main(modules: Sequence[str]) -> None:
    """Make what the modules need; all of it without one."""
    needed = {file for module in modules for file in named_by_tests(Path(module))} if modules else set(MADE)
    for file, made in MADE.items():
        if file in needed:
            for make in made:
                make()
    apt.ensure(PROMETHEUS)


if __name__ == "__main__":
    main(sys.argv[1:])
