"""The child processes of the language host: started in its process group, ended as the official host ends them."""

import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

GRACE = 5.0
"""Seconds between SIGINT and SIGKILL: `cmd.WaitDelay` of the official host."""


class Programs:
    """Every process that the host has started and that has not been waited for yet."""

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
        process = subprocess.Popen(argv, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
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
        """SIGINT now, SIGKILL after the grace, to the process alone; returns at once."""
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            threading.Thread(target=self._kill_late, args=(process,), daemon=True).start()

    def stop_all(self) -> None:
        """`stop` for each; returns when all have ended, at the latest when the grace is over."""
        with self._lock:
            processes = list(self._running)
        for process in processes:
            self.stop(process)
        for process in processes:
            self._kill_late(process)

    def _kill_late(self, process: subprocess.Popen[bytes]) -> None:
        try:
            process.wait(self._grace)
        except subprocess.TimeoutExpired:
            process.kill()
