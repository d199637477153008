"""The child processes of the language host: started apart, ended whole, never left behind."""

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from lab.standins.lifeline import GRACE


class Programs:
    """Every process that the host has started and that has not been waited for yet.

    Each leads a session of its own: the SIGINT which the engine sends to a plugin's process group would print a
    KeyboardInterrupt traceback on every failed preview, SIGTERM is silent.
    """

    def __init__(self, grace: float = GRACE) -> None:
        self._grace = grace
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str | Path,
        env: Mapping[str, str],
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start `argv`. Raises OSError when the interpreter or the directory is missing."""
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        with self._lock:
            self._running.add(process)
        return process

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        """The exit code (negative: the signal that ended it). Its pipes are closed: read them first."""
        code = process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        with self._lock:
            self._running.discard(process)
        return code

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """SIGTERM now, SIGKILL after the grace, to the whole session; returns at once."""
        if process.poll() is None and _signal(process, signal.SIGTERM):
            threading.Thread(target=self._kill_late, args=(process,), daemon=True).start()

    def stop_all(self) -> None:
        """`stop` for each; returns when all have ended, at the latest when the grace is over."""
        with self._lock:
            processes = list(self._running)
        watchers = [threading.Thread(target=self._kill_late, args=(p,), daemon=True) for p in processes]
        for process, watcher in zip(processes, watchers, strict=True):
            _signal(process, signal.SIGTERM)
            watcher.start()
        for watcher in watchers:
            watcher.join(self._grace + 1)

    def _kill_late(self, process: subprocess.Popen[bytes]) -> None:
        try:
            process.wait(self._grace)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGKILL)


def _signal(process: subprocess.Popen[bytes], sign: signal.Signals) -> bool:
    """Whether the session was still there to take the signal."""
    if process.poll() is not None:
        return False
    try:
        os.killpg(process.pid, sign)
    except ProcessLookupError:
        return False
    return True
