"""A count of the requests that processes of this program send, for a measurement that asks for it (`slinky qualify`).

Off unless the environment names a file. Each request, tried again or not, appends one line; no address, name, key or answer
is in it.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

FILE: Final = "SLINKY_IAC_REQUESTS"
"""Environment variable: the file that lines are appended to."""
GATES: Final = "gates"
"""Pulumi's plugin process, in which all gates of an update run; other processes of ours are :data:`PROGRAM`."""
PROGRAM: Final = "program"
KUBERNETES: Final = "kubernetes"
SLURMRESTD: Final = "slurmrestd"
NO_ANSWER: Final = 0
"""In the place of a status: no answer came."""
THROTTLED: Final = 429


@dataclass(frozen=True)
class Tally:
    """What a file of lines says."""

    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By process and server."""
    throttled: int = 0
    """Answers 429 among them."""
    gates_kib: int = 0
    """The most memory that the gates' process had up to its last request; 0 where the system doesn't say."""

    def of(self, server: str) -> int:
        """Requests to one server, of all processes."""
        return sum(count for (_, to), count in self.requests.items() if to == server)


def note(server: str, status: int) -> None:
    """One request was sent to a server, and answered with this HTTP status."""
    if file := os.environ.get(FILE):
        line = f"{_process()} {server} {status} {_peak_kib()}\n"
        with suppress(OSError):  # a measurement that can't be written must not fail a drain
            there = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(there, line.encode())
            finally:
                os.close(there)


def read(lines: Iterable[str]) -> Tally:
    """Add lines up; one that isn't whole is left out."""
    requests: Counter[tuple[str, str]] = Counter()
    throttled = peak = 0
    for line in lines:
        words = line.split()
        if len(words) == 4 and words[2].isdecimal() and words[3].isdecimal():
            requests[words[0], words[1]] += 1
            throttled += int(words[2]) == THROTTLED
            peak = max(peak, int(words[3])) if words[0] == GATES else peak
    return Tally(requests, throttled, peak)


def _process() -> str:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return GATES if spec is not None and spec.name == "pulumi.dynamic.__main__" else PROGRAM


def _peak_kib() -> int:
    """VmHWM of this program alone: Linux's ru_maxrss of a child begins with its parent's."""
    try:
        rows = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(row.split()[1]) for row in rows if row.startswith("VmHWM")), 0)
