"""`python -m tests.faults.on_any_host HOST`: as `tests.e2e.on_host`, for hosts too that joined by themselves.

Those boot systemd, so on them a `systemctl` is the real one, and what a script asks of it is done by the unit that the
hand-off rendered.
"""

from __future__ import annotations

import sys

from lab import paths
from lab.slurm import topology
from lab.slurm.hosts import LAB as HOSTS
from tests.e2e import on_host

VIA = f"env PYTHONPATH={paths.REPO} {sys.executable} -m tests.faults.on_any_host {{host}}"


def run(host: str, script: str) -> int:
    """Run a script as root; returns its exit status."""
    if host in topology.FIXED:
        return on_host.run(host, script)
    done = HOSTS.run(host, ["sh", "-s"], stdin=script, timeout=120, check=False)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.stdin.read()))
