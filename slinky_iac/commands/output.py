"""What commands give back: JSON with the number of its shape, exit codes, and text for a terminal: columns as wide as
their content, 16 colours, without colours where the output isn't a terminal; a screen that renews itself, and a line that
counts seconds while a command waits.

Why no library: rich takes 60 ms to import, and with rich and click installed every import of httpx takes 60 ms more."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TextIO, TypeVar

Read = TypeVar("Read")

WAITS: Final = 3
"""Exit code: somebody has to do something first."""
PARTLY_UNKNOWN: Final = 4
"""Exit code: something could not be asked, or is over a limit."""
DRIFTED: Final = 5
"""Exit code: something runs that isn't as the stack says."""
FOUND: Final = 6
"""Exit code: something is wrong, foreign or differs."""
INTERRUPTED: Final = 130
"""Exit code after Ctrl-C, as a shell's own."""
UNREAD: Final = 141
"""Exit code where the reader of the output has gone, as a shell's own."""
SCHEMA: Final = 1
"""Number of the shape of every command's JSON; it changes when a field goes or changes its meaning."""
STACK: Final = "stack; by default the selected one"
NARROWEST: Final = 80
WIDEST: Final = 140
_COLOURS: Final = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "cyan": 36, "bold": 1, "dim": 2}


def add_stack(parser: argparse._ActionsContainer) -> None:
    """`--stack`."""
    parser.add_argument("--stack", help=STACK)


def add_json(parser: argparse._ActionsContainer) -> None:
    """`--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def as_argument(read: Callable[[str], Read]) -> Callable[[str], Read]:
    """A reader of an argument whose ValueError is what the command says: argparse would show the reader's name instead."""

    def argument(text: str) -> Read:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return argument


def as_json(data: Mapping[str, object]) -> str:
    """One object for programs, with the number of its shape."""
    return json.dumps({"schema": SCHEMA, **data}, indent=2)


def print_result(arguments: argparse.Namespace, data: Mapping[str, object], words: str) -> None:
    """Print what a command gives back, as `--json` asks for it or for people."""
    print(as_json(data) if arguments.json else words)


def wants_colour(env: Mapping[str, str], *, tty: bool) -> bool:
    """Whether marks help: a terminal that knows them, and no NO_COLOR is set (https://no-color.org)."""
    return tty and not env.get("NO_COLOR") and env.get("TERM") != "dumb"


def terminal(otherwise: int) -> tuple[bool, int]:
    """Whether marks help on standard output, and how wide text may be there: as wide as the terminal, between what tables
    need and what eyes follow; ``otherwise`` where it is none."""
    tty = sys.stdout.isatty()
    columns = shutil.get_terminal_size((otherwise, 24)).columns
    return wants_colour(os.environ, tty=tty), min(max(columns, NARROWEST), WIDEST) if tty else otherwise


class Paint:
    """Colours, or nothing."""

    def __init__(self, colour: bool) -> None:  # noqa: FBT001
        self.on = colour

    def __call__(self, text: str, name: str) -> str:
        return f"\x1b[{_COLOURS[name]}m{text}\x1b[0m" if self.on and text else text


def clipped(text: str, width: int) -> str:
    """``text``, or its beginning and an ellipsis where it is longer than ``width``."""
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"


def columns(rows: Sequence[Sequence[str]], paint: Paint, shades: Mapping[str, str] | None = None) -> Iterable[str]:
    """Lines of a table, the first row being its titles. A cell that is a key of ``shades`` gets that colour."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for number, row in enumerate(rows):
        shade = {} if number == 0 or shades is None else shades
        cells = (
            (paint(cell, shade[cell]) if cell in shade else cell) + " " * (width - len(cell))
            for cell, width in zip(row, widths, strict=True)
        )
        line = f"  {'  '.join(cells)}".rstrip()
        yield line if number else paint(line, "dim")


EVERY_S: Final = 5
UNSEEN_EVERY_S: Final = 60
"""Where no terminal renews the screen, each stays."""
_HOME: Final = "\x1b[H"
_REST_OF_LINE: Final = "\x1b[K"
_REST_OF_SCREEN: Final = "\x1b[J"
_CLEAR: Final = "\x1b[2J"
Frame = Callable[[int], tuple[str, bool]]
"""Text for a width, and whether there is an end to watch for and it has come."""


LONGEST_S: Final = 86400


def add_every(parser: argparse.ArgumentParser, when: str = "") -> None:
    """The option for the pause of :func:`watch`. ``when``: begins its help."""
    words = f"{when}seconds between two screens (default {EVERY_S}; {UNSEEN_EVERY_S} without a terminal)"
    parser.add_argument("--every", type=as_argument(_pause), metavar="SECONDS", help=words)


def _pause(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and 1 <= int(text) <= LONGEST_S):
        raise ValueError(f"got {text[:40]!r}; a pause is a whole number of seconds from 1 to {LONGEST_S}")
    return int(text)


def watch(frame: Frame, otherwise: int, every: int | None = None) -> None:
    """Show ``frame`` again and again until it says that it is the last one, or Ctrl-C, which ends the view and nothing else.

    In a terminal each is written over the one before, without a blank in between, and cut at the last line of the screen.
    """
    tty = sys.stdout.isatty()
    pause = every if every is not None else EVERY_S if tty else UNSEEN_EVERY_S
    try:
        if tty:
            sys.stdout.write(_CLEAR)
        while True:
            text, last = frame(terminal(otherwise)[1])
            sys.stdout.write(over(text, shutil.get_terminal_size().lines) if tty else text)
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


COUNT_S: Final = 1.0
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
            if over.wait(COUNT_S):
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
