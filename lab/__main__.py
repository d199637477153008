"""`lab/lab COMMAND`: the local hybrid cluster, up and down, and what one does with it."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from lab import commands, locks, paths
from lab.errors import LabError

READ_ONLY = ("status", "shell", "logs", "docs")
"""Commands that do not wait for another lab command to end."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="lab/lab", description=__doc__)
    add = top.add_subparsers(dest="command", required=True, metavar="COMMAND").add_parser
    for name, meaning in (("up", "start what is not up"), ("down", "end all of it and leave the machine clean")):
        halves = add(name, help=meaning)
        halves.add_argument("--only", choices=("kubernetes", "slurm"), help="one half")
        if name == "up":
            _given(halves)
    add("status", help="what runs").add_argument("--json", action="store_true", help="for programs")
    shell = add("shell", help="a shell, or a command, on an outside host (ctl, metal-1, …) or a node (node-1, …)")
    shell.add_argument("host", metavar="HOST")
    shell.add_argument("argv", nargs=argparse.REMAINDER, metavar="COMMAND…")
    logs = add("logs", help="the log of a process; without NAME, the names")
    logs.add_argument("name", nargs="?", metavar="NAME")
    logs.add_argument("-f", "--follow", action="store_true", help="keep reading")
    add("env", help="shell text for eval: PATH, KUBECONFIG and Pulumi's offline settings")
    docs = add("docs", help="build the pages as a site")
    docs.add_argument(
        "--out", type=Path, default=paths.CACHE / "docs", metavar="DIR", help="the site's folder, which it replaces"
    )
    _language_host(add("tools", help="only get or build the tools and the Python environments"))
    shown = add("demo", help="up, then `pulumi up` of Pulumi.dev.yaml, then a job on pods and on metal")
    shown.add_argument("--jupyter", action="store_true", help="a JupyterHub as well; the last line is its address")
    _given(shown)
    return top


def _given(command: argparse.ArgumentParser) -> None:
    meaning = "a source tree of slurm-operator with its manager built in it, in place of the lab's own operator"
    command.add_argument("--operator-source", metavar="DIR", help=meaning)
    meaning = "a folder with the programs of another release of Kubernetes, and containerd, in place of the lab's own"
    command.add_argument("--kubernetes", metavar="DIR", help=meaning)
    meaning = "a folder with an installation of another release of Slurm, in place of Debian's"
    command.add_argument("--slurm", metavar="DIR", help=meaning)
    _language_host(command)


def _language_host(command: argparse.ArgumentParser) -> None:
    meaning = "a folder with Pulumi's official language host and its two scripts, in place of the stand-ins"
    command.add_argument("--language-host", metavar="DIR", help=meaning)


def main(argv: Sequence[str]) -> int:
    """Run one command; 1 when something is not as it should be, 130 after Ctrl-C."""
    asked = parser().parse_args(argv)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        if asked.command in READ_ONLY:
            return commands.run(asked)
        with locks.alone(paths.CGROUP, lambda: commands.say("another lab command is at work; waiting for it")):
            return commands.run(asked)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab: interrupted; the same command again goes on from here, `lab/lab down` cleans up", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 141


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
