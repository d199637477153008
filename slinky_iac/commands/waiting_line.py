"""One line on a terminal that counts seconds while a command waits for others."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from slinky_iac.commands.output import clipped

EVERY_S: Final = 1.0
LONG_S: Final = 20
"""From then on the line also says what may take that long."""
CLEAR: Final = "\r\x1b[K"


@contextmanager
def waiting_line(out: TextIO, said: str, *, later: str = "", clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Shows ``said`` and the seconds on ``out`` while the block runs, and nothing afterwards; on a terminal only."""
    if not out.isatty():
        yield
        return
    over, began = threading.Event(), clock()

    def count() -> None:
        passed = 0
        while True:
            out.write(CLEAR + clipped(line(said, passed, later), shutil.get_terminal_size().columns - 1))
            out.flush()
            if over.wait(EVERY_S):
                return
            passed = int(clock() - began)

    counting = threading.Thread(target=count, name="waiting-line", daemon=True)
    counting.start()
    try:
        yield
    finally:
        over.set()
        counting.join()
        out.write(CLEAR)
        out.flush()


def line(said: str, passed_s: int, later: str = "") -> str:
    """The line after so many seconds."""
    seconds = f" … {passed_s} s" if passed_s else " …"
    return f"{said}{seconds}{f'; {later}' if later and passed_s >= LONG_S else ''}"
