"""In which network namespace a lab's bridges and routes are: written down by `up`, compared before anything is touched.

All labs name their interfaces alike, so each has a namespace of its own. A command that is given in another one would not
find its lab's interfaces there, and would take away another lab's.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from lab import paths
from lab.errors import LabError

Command = tuple[str, ...]
# 71 is SO_NETNS_COOKIE (linux/socket.h, since Linux 5.14), which Python has no name for.
_COOKIE = "import socket, sys; print(int.from_bytes(socket.socket().getsockopt(socket.SOL_SOCKET, 71, 8), sys.byteorder))"


def cookie(entering: Command = ()) -> int | None:
    """The kernel's own number of the namespace that the command ``entering`` leads into; of ours where it is empty.

    Unlike the inode's, it isn't given again when the namespace is gone. None where it can't be had: on an older Linux.
    """
    done = subprocess.run([*entering, sys.executable, "-I", "-c", _COOKIE], capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else None


@dataclass(frozen=True)
class Namespace:
    """A network namespace: that of inode ``inode`` (``/proc/self/ns/net``), in the boot that the kernel calls ``boot``."""

    boot: str
    inode: int
    cookie: int | None


@dataclass(frozen=True)
class OwnNetwork:
    """The namespace of one lab, as ``note`` has it."""

    note: Path
    proc: Path = Path("/proc")
    cookie: Callable[[Command], int | None] = cookie

    def claim(self) -> bool:
        """Take this process's namespace for the lab's, before anything is made in it; what it returns is `require`'s."""
        there, here = self.require(), self._here()
        if self._noted() != here:
            self.note.parent.mkdir(parents=True, exist_ok=True)
            new = self.note.with_suffix(".new")
            new.write_text(json.dumps(asdict(here)))
            new.rename(self.note)
        return there

    def require(self) -> bool:
        """Whether the lab's interfaces can be here: not where their namespace is gone, and they with it.

        Raises LabError where it is another one than this process's, with the way into it.
        """
        way, noted = self.way(), self._noted()
        if way and noted:
            raise LabError(
                f"the network of this lab ({self.note.parent}) is in namespace {noted.inode}, and this command was given in"
                f" {self._here().inode}, where interfaces of the same names are another lab's. Nothing was touched. Give it"
                f" there: put `{' '.join(way)}` before it"
            )
        return way is not None

    def way(self) -> Command | None:
        """What leads into the lab's namespace: nothing where it is this process's; None where it is gone."""
        noted, here = self._noted(), self._here()
        if noted is None or noted == here:
            return ()
        if noted.boot != here.boot or noted.inode == here.inode:
            return None
        return self._entering(noted)

    def _here(self) -> Namespace:
        inode = _inode(self.proc / "self" / "ns" / "net")
        assert inode is not None
        boot = (self.proc / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
        return Namespace(boot, inode, self.cookie(()))

    def _noted(self) -> Namespace | None:
        if not self.note.exists():
            return None
        try:
            return Namespace(**json.loads(self.note.read_text()))
        except (ValueError, TypeError):
            raise LabError(
                f"{self.note} isn't what `lab/lab up` writes, so the network namespace of this lab is unknown."
                " Nothing was touched. If it is this one, remove the file"
            ) from None

    def _entering(self, noted: Namespace) -> Command | None:
        """The command that leads into a namespace; None where it is gone, even if its inode's number was given again."""
        for way in self._ways(noted.inode):
            found = self.cookie(way)
            if found is not None or noted.cookie is None:  # else the process ended while we looked: by another one, then
                return way if found == noted.cookie else None
        return None

    def _ways(self, inode: int) -> Iterator[Command]:
        """By a process that is in it, or by a file that it is mounted on (`ip netns add`)."""
        for pid in sorted(int(folder.name) for folder in self.proc.iterdir() if folder.name.isdecimal()):
            if _inode(self.proc / str(pid) / "ns" / "net") == inode:
                yield ("nsenter", "-t", str(pid), "-n")
        for line in (self.proc / "self" / "mountinfo").read_text().splitlines():
            _, _, _, root, point, *_ = line.split()
            if root == f"net:[{inode}]":
                yield ("nsenter", f"--net={point}")


def _inode(link: Path) -> int | None:
    """The number in ``net:[4026531840]``; None where the process is gone, or its namespaces aren't ours to see."""
    try:
        return int(str(link.readlink()).removeprefix("net:[").removesuffix("]"))
    except OSError:
        return None


NOTE = "network-namespace.json"
LAB = OwnNetwork(paths.STATE / NOTE)
