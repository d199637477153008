"""Which process is the engine that started this plugin, whether it lives, and whether a call comes from it.

All three are about one process and not about a port: a port that the engine leaves is anybody's, and a port that listens
takes calls from every user of the machine. What the kernel says is read from ``/proc``: its tables of TCP sockets
(proc_pid_net(5)), the sockets that a process holds (``/proc/PID/fd``), its parent and its start (proc_pid_stat(5)).
"""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
KNOWN: Final = sys.platform == "linux"
"""Whether this system can say which process holds a socket."""
_LOOPBACK: Final = f"{int.from_bytes(socket.inet_aton('127.0.0.1'), sys.byteorder):08X}"
"""127.0.0.1 as the tables write it, as a number of this machine. An IPv6 socket that speaks IPv4 has it at the end of its
address."""
_LISTENS: Final = "0A"
_ADDRESS: Final = re.compile(r"127\.0\.0\.1:[0-9]{1,5}")
_GONE: Final = ("Z", "X")


@dataclass(frozen=True)
class Socket:
    """A row of the tables: a TCP socket whose own address is 127.0.0.1."""

    port: int
    peer: int
    """Port of the other side; 0 where it listens."""
    listens: bool
    inode: str


@dataclass(frozen=True)
class EngineProcess:
    """The engine."""

    pid: int
    started: str
    """Ticks from the machine's start to its own: with ``pid`` they name one process, also after the number is used again."""

    def lives(self) -> bool:
        """Whether it has not ended."""
        try:
            _, started, state = _status(self.pid)
        except OSError:
            return False
        return started == self.started and state not in _GONE

    def calls_from(self, peer: str) -> bool:
        """Whether a call to this process comes from the engine, by the caller's address as gRPC writes it
        (``ipv4:127.0.0.1:40312``). Both ports are compared: another user's connection to here can have the port of one that
        the engine has to elsewhere. Raises OSError where the kernel doesn't say."""
        family, _, address = peer.partition(":")
        host, _, port = address.rpartition(":")
        if family != "ipv4" or host != "127.0.0.1" or not port.isdigit():
            return False
        table = tuple(_sockets())
        ours = _held_by(os.getpid())
        served = {tcp_socket.port for tcp_socket in table if tcp_socket.listens and tcp_socket.inode in ours}
        calling = {tcp_socket.inode for tcp_socket in table if tcp_socket.port == int(port) and tcp_socket.peer in served}
        return self.lives() and bool(calling & _held_by(self.pid))


def address_in(arguments: Sequence[str]) -> str:
    """The engine's address among the arguments of a plugin; empty where there is none. The flags of `pulumi -v=9
    --logtostderr --tracing URL` come before it (``buildPluginArguments``, ``sdk/go/common/resource/plugin/plugin.go``)."""
    return next((word for word in reversed(arguments) if _ADDRESS.fullmatch(word)), "")


def found(address: str) -> EngineProcess | None:
    """The one of this process's ancestors that listens on ``address`` (``127.0.0.1:40312``). None: none does, or the kernel
    doesn't say."""
    port = address.rpartition(":")[2]
    pid = os.getppid()
    try:
        listening = {tcp_socket.inode for tcp_socket in _sockets() if tcp_socket.listens and str(tcp_socket.port) == port}
        while pid:
            parent, started, _ = _status(pid)
            if listening & _held_by(pid):
                return EngineProcess(pid, started)
            pid = parent
    except OSError:
        return None
    return None


def _sockets() -> Iterator[Socket]:
    """Raises OSError."""
    for table in (PROC / "net" / "tcp", *(PROC / "net").glob("tcp6")):
        for line in table.read_text().splitlines()[1:]:
            fields = line.split()
            (own, port), (_, peer) = (side.split(":") for side in fields[1:3])
            if own.endswith(_LOOPBACK):
                yield Socket(int(port, 16), int(peer, 16), fields[3] == _LISTENS, fields[9])


def _held_by(pid: int) -> frozenset[str]:
    """Inodes of the sockets that a process holds. Raises OSError."""
    links = [_target(link) for link in (PROC / str(pid) / "fd").iterdir()]
    return frozenset(link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:["))


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return ""  # closed since


def _status(pid: int) -> tuple[int, str, str]:
    """Parent, start and state. Raises OSError."""
    fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return int(fields[1]), fields[19], fields[0]
