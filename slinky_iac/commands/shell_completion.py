"""Completion scripts for bash, zsh and fish, made by shtab from the very parser that reads the command line.

Completion hangs on the name of a command, and `python -m slinky_iac` has none of its own: so each script also defines a
shell function `slinky-iac` that calls it with the Python that made the script.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from typing import Final

NAME: Final = "slinky-iac"
"""The shell function that is completed."""
SHELLS: Final = ("bash", "zsh", "fish")
HELP: Final = "print a completion script: source <(… completion bash)"
CODES: Final = "exit codes: 0 printed; 2 wrong arguments"
_CALLS: Final = {
    "bash": '{name}() {{ {python} -m slinky_iac "$@"; }}',
    "zsh": '{name}() {{ {python} -m slinky_iac "$@"; }}',
    "fish": "function {name}; {python} -m slinky_iac $argv; end",
}


def script(parser: argparse.ArgumentParser, shell: str, python: str = sys.executable) -> str:
    """The script for one shell, ending with a line break. ``parser``: the whole one, its ``prog`` being :data:`NAME` where
    the shell has no command of that name yet."""
    import shtab  # noqa: PLC0415 - 20 ms that no other command needs to pay

    for action in _actions(parser):
        if action.metavar in ("FILE", "DIR"):
            action.complete = shtab.FILE if action.metavar == "FILE" else shtab.DIRECTORY  # type: ignore[attr-defined]
    if parser.prog != NAME:  # a command of that name is installed
        return f"{shtab.complete(parser, shell=shell).rstrip()}\n"
    call = _CALLS[shell].format(name=NAME, python=shlex.quote(python))
    return f"{shtab.complete(parser, shell=shell).rstrip()}\n\n{call}\n"


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # argparse has no public way to look at a parser
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)
