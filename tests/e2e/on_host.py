"""`python -m tests.e2e.on_host HOST`: run the shell script on standard input on a host of the lab, as ssh would.

The lab's hosts have no systemd, so there a `systemctl` only notes what it is asked, and the lab does it afterwards.
"""

from __future__ import annotations

import sys

from lab import slurm as outside
from lab.slurm import cluster

ASKED = "/run/systemctl.asked"
SYSTEMCTL = f'#!/bin/sh\necho "$@" >> {ASKED}\n'


def run(host: str, script: str) -> int:
    """Run a script as root; returns its exit status after the restarts that it asked for."""
    hosts = cluster.LAB.hosts
    fake = hosts.inside(host, "usr/local/sbin/systemctl")
    fake.write_text(SYSTEMCTL)
    fake.chmod(0o755)
    done = hosts.run(host, ["sh", "-s"], stdin=script, timeout=120, check=False)
    asked = hosts.inside(host, ASKED.lstrip("/"))
    wanted = asked.read_text().splitlines() if asked.exists() else []
    asked.unlink(missing_ok=True)
    for verb, _, daemon in (line.partition(" ") for line in wanted):
        match verb:
            case "restart":
                outside.daemon_restart(host, daemon)
            case "reload":
                hosts.run(host, ["pkill", "-HUP", "-x", daemon])
            case _:
                raise AssertionError(verb)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.stdin.read()))
