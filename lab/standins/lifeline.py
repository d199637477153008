"""End this process when what it works for has died, so that a killed engine leaves no orphans behind.

The engine starts plugins in process groups of their own; when it is killed hard (SIGKILL, or SIGPIPE from `| head`)
they get no signal. Two witnesses are used: the engine's address refuses connections, and the parent process has exited.
"""

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence

PERIOD = 1.0
"""Seconds between two looks at the engine's address."""
GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL: as long as the engine itself gives its plugins."""


def engine_address(argv: Sequence[str]) -> str:
    """The engine's host:port among a plugin's arguments: the last one that is no flag; empty when there is none."""
    return next((arg for arg in reversed(argv) if not arg.startswith("-")), "")


def refuses(address: str) -> bool:
    """Whether no process listens at host:port. A time-out or a full queue is no proof of death, only a refusal is."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def watch_engine(address: str, on_gone: Callable[[], None], *, period: float = PERIOD) -> threading.Thread:
    """Call `on_gone` once, from a daemon thread, when the engine's address has refused twice in a row."""

    def look() -> None:
        refused = 0
        while refused < 2:
            time.sleep(period)
            refused = refused + 1 if refuses(address) else 0
        on_gone()

    thread = threading.Thread(target=look, name="engine-lifeline", daemon=True)
    thread.start()
    return thread


def watch_parent(pid: int, on_gone: Callable[[], None]) -> threading.Thread:
    """Call `on_gone` once, from a daemon thread, when process `pid` has exited (Linux 5.3 or newer: pidfd)."""

    def look() -> None:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            on_gone()
            return
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        poller.poll()
        os.close(fd)
        on_gone()

    thread = threading.Thread(target=look, name="parent-lifeline", daemon=True)
    thread.start()
    return thread


def leave(grace: float = GRACE) -> None:
    """End this process, and its children when it leads a process group: SIGTERM, `grace` seconds, SIGKILL."""
    whole_group = os.getpgrp() == os.getpid()
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if whole_group:
            os.killpg(0, sign)
        else:
            os.kill(os.getpid(), sign)
        time.sleep(grace)
