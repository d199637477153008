"""What each command of the lab does. Progress goes to stderr, what was asked for to stdout."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

from lab import (
    apt,
    demo,
    docs_site,
    engine,
    forwarding,
    given_kubernetes,
    given_operator,
    given_slurm,
    images,
    inotify,
    locks,
    obtain,
    own_images,
    own_network,
    paths,
    python_env,
    slurm,
    supervise,
)
from lab.errors import LabError
from lab.given_host import HOST
from lab.given_operator import SOURCE
from lab.kubernetes import layout, machine
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.kubernetes.cluster import remove_mount_points
from lab.slurm import hosts


def run(asked: argparse.Namespace) -> int:
    """Dispatch a parsed command line."""
    match asked.command:
        case "up":
            _take(asked)
            up(asked.only)
        case "down":
            down(asked.only)
        case "status":
            return status(as_json=asked.json)
        case "shell":
            shell(asked.host, asked.argv)
        case "logs":
            logs(asked.name, follow=asked.follow)
        case "env":
            wanted = engine.environment(tools()["pulumi"], os.environ.get("PATH", ""))
            print(engine.exports(wanted | _exported()), end="")
        case "docs":
            print(docs_site.build(asked.out))
        case "tools":
            HOST.take(asked.language_host)
            tools()
        case "demo":
            _take(asked)
            up(None)
            demo.run(say=say, notebooks=asked.jupyter)
    return 0


def _exported() -> dict[str, str]:
    return {
        name: folder
        for given in (SOURCE, HOST, given_kubernetes.FOLDER, given_slurm.FOLDER)
        for name, folder in given.exported().items()
    }


def _take(asked: argparse.Namespace) -> None:
    SOURCE.take(asked.operator_source)
    given_kubernetes.FOLDER.take(asked.kubernetes)
    given_slurm.FOLDER.take(asked.slurm)
    HOST.take(asked.language_host)


def say(line: str) -> None:
    """Tell the user what happens."""
    print(f"lab: {line}", file=sys.stderr, flush=True)


def tools() -> dict[str, Path]:
    """Every program and both Python environments, in place and ready. Repeatable and quick when they are."""
    apt.ensure(say=say)
    python_env.ensure(say=say)
    python_env.ensure_policies(say=say)
    programs = obtain.ensure(say=say)
    with locks.alone("engine", lambda: say("pulumi: somebody else is preparing it; waiting")):
        engine.prepare(programs, say=say)
    return programs


def up(only: str | None) -> None:
    """Bring up both halves, or one. Raises LabError in another network namespace than this lab's."""
    _must_be_root()
    begun = monotonic()
    if not own_network.LAB.claim():
        forwarding.forget()
    apt.ensure(say=say)
    forwarding.on()
    with ThreadPoolExecutor(2) as pool:
        halves = []
        if only != "kubernetes":  # while tools are built, it waits for a mirror most of the time
            halves.append(pool.submit(slurm.up, say=say))
        if only != "slurm":
            inotify.enough()
            programs = tools() | given_kubernetes.programs()
            with locks.alone("images", lambda: say("images: somebody else is packing them; waiting")):
                given = given_operator.given()
                theirs = [] if given is None else own_images.of_programs(given.binaries, given.images)
                wanted = [*own_images.ensure(programs), *theirs, *slurm.images()]
                seed = images.seed(wanted)
            halves.append(pool.submit(KUBERNETES.up, programs, wanted, seed, say=say))
        for half in halves:
            half.result()
    say(f'up after {monotonic() - begun:.0f} s; next: `eval "$(lab/lab env)"`, or `lab/lab demo`')


def down(only: str | None) -> None:
    """Take down both halves, or one, whatever state they are in. Raises LabError in another network namespace."""
    _must_be_root()
    network_there = own_network.LAB.require()
    if only != "slurm":
        KUBERNETES.down(network_there=network_there)
        inotify.restore(last=remove_mount_points)
    if only != "kubernetes":
        slurm.down(network_there=network_there)
    if only is None:
        killed = supervise.sweep()
        engine.end_left_behind()
        if network_there:
            forwarding.restore()
        machine.unmount_below(paths.STATE)
        shutil.rmtree(paths.STATE, ignore_errors=True)
        say(f"down{f'; {len(killed)} stray processes ended' if killed else ''}")


def status(*, as_json: bool) -> int:
    """Print what lives; 0 if all of it does. Raises LabError in another network namespace than this lab's."""
    own_network.LAB.require()
    found = {"kubernetes": KUBERNETES.status(), "slurm": slurm.status()}
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        for half, parts in found.items():
            for name, lives in parts.items():
                print(f"{half:12}{name:28}{'up' if lives else 'down'}")
    return 0 if all(lives for parts in found.values() for lives in parts.values()) else 1


def shell(host: str, argv: Sequence[str]) -> None:
    """Become a shell, or the command `argv`, on a host or node."""
    node = next((node for node in layout.NODES if node.name == host), None)
    command = list(argv) or ["bash"]
    if node is not None:
        entered = machine.entered(KUBERNETES.home, node, command)
    elif host in slurm.status():
        entered = hosts.LAB.entered(host, command)
    else:
        names = [*(node.name for node in layout.NODES), *(name for name in slurm.status() if "/" not in name)]
        raise LabError(f"there is no {host} in the lab; there are {', '.join(names)}")
    os.chdir("/")
    os.execvp(entered[0], entered)


def logs(name: str | None, *, follow: bool) -> None:
    """Show a log, or the names of all logs."""
    names = sorted(path.stem for path in paths.LOGS.glob("*.log"))
    if name is None:
        print("\n".join(names) or f"no logs in {paths.LOGS}")
    elif name in names:
        pager = ["tail", "-n", "+1", *(["-f"] if follow else []), str(supervise.log_path(name))]
        os.execvp(pager[0], pager)
    else:
        raise LabError(f"there is no log {name}; there are {', '.join(names) or 'none, the lab is down'}")


def _must_be_root() -> None:
    if os.geteuid() != 0:
        raise LabError("the lab makes namespaces, mounts and routes: run it as root")
