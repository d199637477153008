"""A screen that renews itself: for a person in front of a terminal, and a line or a page each minute where there is none."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import Final

from slinky_iac.commands.output import seen_width

EVERY_S: Final = 5
UNSEEN_EVERY_S: Final = 60
"""Where no terminal renews the screen, each stays."""
_HOME: Final = "\x1b[H"
_REST_OF_LINE: Final = "\x1b[K"
_REST_OF_SCREEN: Final = "\x1b[J"
_CLEAR: Final = "\x1b[2J"
Frame = Callable[[int], tuple[str, bool]]
"""Text for a width, and whether there is an end to watch for and it has come."""


def watch(frame: Frame, *, otherwise: int, every: int | None = None) -> None:
    """Show ``frame`` again and again until it says that it is the last one, or Ctrl-C, which ends the view and nothing else.

    In a terminal each is written over the one before, without a blank in between, and cut at the last line of the screen.
    """
    tty = sys.stdout.isatty()
    pause = every if every is not None else EVERY_S if tty else UNSEEN_EVERY_S
    try:
        if tty:
            sys.stdout.write(_CLEAR)
        while True:
            size = shutil.get_terminal_size((otherwise, 24))
            text, last = frame(seen_width(size.columns, tty=tty, otherwise=otherwise))
            sys.stdout.write(over(text, size.lines) if tty else text)
            sys.stdout.flush()
            if last:
                return
            time.sleep(pause)
    except KeyboardInterrupt:
        sys.stdout.write("\n" if tty else "")


def over(text: str, height: int) -> str:
    """``text`` from the upper left corner on, over what is there; what is below the screen is said to be there."""
    lines = text.rstrip("\n").split("\n")
    room = max(height - 1, 1)
    if len(lines) > room:
        lines = [*lines[: room - 1], f"… {len(lines) - room + 1} more lines: make the window higher"]
    return _HOME + "".join(f"{line}{_REST_OF_LINE}\n" for line in lines) + _REST_OF_SCREEN
