"""A node as a running thing: namespaces held by one process. When that ends, nothing of the node is left."""

import contextlib
import itertools
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from lab import supervise
from lab.errors import LabError
from lab.kubernetes import network
from lab.kubernetes.layout import Home, Node

INIT = Path(__file__).with_name("node-init.sh")
CGROUPS = Path("/sys/fs/cgroup")
START_SECONDS = 15.0


def up(home: Home, node: Node, nodes: tuple[Node, ...]) -> None:
    """Start the node's first process and join it to the network. Does nothing that is done already."""
    folder = home.node(node)
    if pid(home, node) is None:
        supervise.stop(node.name, timeout=2.0)
        clear_cgroups(node.cgroup)
        folder.mkdir(parents=True, exist_ok=True)
        make_cgroups(node.cgroup)
        seal = ["unshare", "--mount", "--uts", "--net", "--pid", "--fork", "--kill-child"]
        supervise.start(node.name, [*seal, "sh", str(INIT), node.name, str(node.address), str(folder)])
        supervise.await_true(f"{node.name} is there", lambda: pid(home, node) is not None, START_SECONDS, log=node.name)
    first = pid(home, node)
    if first is None:
        raise LabError(f"{node.name} ended right after its start; see {supervise.log_path(node.name)}")
    network.attach(node, nodes, first)


def down(node: Node) -> None:
    """End the node and everything in it."""
    supervise.stop(node.name, timeout=2.0)
    clear_cgroups(node.cgroup)


def pid(home: Home, node: Node) -> int | None:
    """The node's first process as the machine numbers it; None if the node is not up."""
    try:
        number, start = (int(word) for word in (home.node(node) / "pid").read_text().split())
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return number if int(fields[19]) == start and fields[0] not in "ZX" else None


def entered(home: Home, node: Node, argv: Sequence[str]) -> list[str]:
    """The command that runs `argv` in the node. Raises LabError if the node is not up."""
    first = pid(home, node)
    if first is None:
        raise LabError(f"{node.name} is not up; start the lab with `lab/lab up`")
    return ["nsenter", "-t", str(first), "-m", "-u", "-n", "-p", "--", *argv]


def hierarchies() -> list[Path]:
    """Every cgroup hierarchy of this machine: those of v1 and the unified one beside them, or the unified one alone."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    folders = (folder.resolve() for folder in CGROUPS.iterdir())
    return sorted({folder for folder in folders if (folder / "cgroup.procs").exists()})


def make_cgroups(path: str) -> None:
    """Make a cgroup in every hierarchy, fit for a kubelet to put pods below it.

    In v1's cpuset a group without cpus and mems takes no process; in v2 a group has the controllers its parent gives.
    """
    for top in hierarchies():
        folders = [top, *(top / parent for parent in reversed(Path(path).parents[:-1])), top / path]
        for parent, folder in itertools.pairwise(folders):
            folder.mkdir(exist_ok=True)
            if top == CGROUPS:  # v2
                _delegate(parent)
                continue
            for file in ("cpuset.cpus", "cpuset.mems"):
                if (folder / file).exists() and not (folder / file).read_text().strip():
                    (folder / file).write_text((parent / file).read_text())


def clear_cgroups(path: str) -> None:
    """Kill every process below a cgroup and remove it from every hierarchy, deepest first. Missing is fine."""
    deadline = time.monotonic() + 10.0
    while left := [folder for top in hierarchies() if (folder := top / path).exists()]:
        for folder in left:
            for child in sorted(folder.rglob("*/"), key=lambda child: len(child.parts), reverse=True):
                _empty(child)
            _empty(folder)
        if time.monotonic() > deadline:
            raise LabError(f"cgroups remain: {', '.join(str(folder) for folder in left)}; see cgroup.procs in them")


def _delegate(folder: Path) -> None:
    for controller in (folder / "cgroup.controllers").read_text().split():
        # One that can't be given away is missed by the kubelet, which then says which.
        with contextlib.suppress(OSError):
            (folder / "cgroup.subtree_control").write_text(f"+{controller}")


def _empty(folder: Path) -> None:
    try:
        for line in (folder / "cgroup.procs").read_text().split():
            os.kill(int(line), signal.SIGKILL)
        folder.rmdir()
    except FileNotFoundError:
        return
    except OSError:  # busy until the kernel has taken the killed ones away: the caller comes again
        time.sleep(0.02)


def mounts_below(folder: Path) -> list[str]:
    """Mount points under `folder` in the machine's own mount namespace, deepest first."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return sorted((point for point in points if Path(point).is_relative_to(folder)), key=len, reverse=True)


def unmount_below(folder: Path) -> None:
    """Detach every mount under `folder`, so that removing the folder can't reach into one."""
    for point in mounts_below(folder):
        subprocess.run(["umount", "-l", point], capture_output=True, check=False)
    left = mounts_below(folder)
    if left:
        raise LabError(f"still mounted: {', '.join(left)}; nothing below was removed; `umount` them and try again")
