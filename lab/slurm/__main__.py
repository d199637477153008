"""`python3 -m lab.slurm up|down|status|images|check|run HOST COMMAND…`: the outside hosts without the rest of the lab."""

import argparse
import subprocess
import sys
from collections.abc import Sequence

from lab import own_network
from lab.errors import LabError
from lab.slurm import check, image
from lab.slurm.cluster import LAB
from lab.slurm.hosts import LAB as HOSTS


def _status() -> int:
    state = LAB.status()
    for name, alive in state.items():
        print(f"{name:24}{'up' if alive else 'down'}")
    return 0 if all(state.values()) else 1


def _check() -> int:
    for line in check.run(LAB):
        print(line)
    return 0


def main(argv: Sequence[str]) -> int:
    """Run one command. Returns the exit status: 1 when something is not as it should be."""
    parser = argparse.ArgumentParser(prog="python3 -m lab.slurm", description=__doc__)
    parser.add_argument("command", choices=("up", "down", "status", "images", "check", "run"))
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="for run: HOST COMMAND…")
    asked = parser.parse_args(argv)
    try:
        match asked.command:
            case "up":
                own_network.LAB.claim()
                LAB.up()
            case "down":
                LAB.down(network_there=own_network.LAB.require())
            case "images":
                print(image.ensure().archive)
            case "status":
                return _status()
            case "check":
                return _check()
            case "run" if len(asked.rest) > 1:
                return subprocess.run(HOSTS.entered(asked.rest[0], asked.rest[1:]), check=False).returncode
            case _:
                parser.error("run needs HOST COMMAND…")
    except LabError as error:
        print(f"lab.slurm: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
