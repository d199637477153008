"""The command line beside `pulumi`: what a person or a CI job asks for outside an update.

Exit codes: 0 done, 1 a fault that the message explains, 2 the command line itself is wrong, 130 interrupted; a command that
has more says so in its help.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import sys
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from typing import Final, NoReturn, Protocol, cast

from slinky_iac import __version__
from slinky_iac.commands import command_page
from slinky_iac.commands.output import INTERRUPTED, UNREAD
from slinky_iac.errors import SlinkyError
from slinky_iac.text import printable

MODULE: Final = "python -m slinky_iac"
"""How the command line is called in a checkout, where nothing is installed."""
WRONG_ARGUMENTS: Final = 2
OWN: Final = ("schema", "reference", "completion")
"""Commands that this module carries out itself."""
PAGES: Final = ("configuration", "findings", "cli")
"""Pages of docs/ that are made from the code."""


class Command(Protocol):
    """A module that carries out one command."""

    HELP: str
    CODES: str
    """``exit codes: 0 …; 2 …``, behind its help."""

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        """Add the command's own arguments."""

    def run(self, arguments: argparse.Namespace, /) -> int:
        """Carry it out; returns the exit code."""


COMMANDS: Final[dict[str, str]] = {
    "new": "new",
    "init": "init.cli",
    "check": "check",
    "import-chart": "import_chart",
    "preflight": "preflight.cli",
    "plan": "plan.cli",
    "verify-state": "verify_state",
    "drift": "drift.cli",
    "drain": "drain",
    "keys": "keys.cli",
    "token": "token",
    "handoff": "handoff.cli",
    "client": "client",
    "status": "status.cli",
    "monitoring": "monitoring",
    "rights": "rights.cli",
    "policies": "policies",
    "diagram": "diagram.cli",
}
"""The module of each command, below this folder. It is imported when it is called: all of them take a second."""


def command(name: str) -> Command:
    """The command of that name."""
    return cast("Command", import_module(f"slinky_iac.commands.{COMMANDS[name]}"))


class _Parser(argparse.ArgumentParser):
    """Names the command that a wrong one resembles."""

    def error(self, message: str) -> NoReturn:
        """A line instead of all commands twice."""
        wrong = re.search(r"argument COMMAND: invalid choice: '([^']*)'", message)
        if wrong is not None:
            near = difflib.get_close_matches(wrong[1], [*COMMANDS, *OWN], n=1)
            meant = f"did you mean {near[0]}? " if near else ""
            self.exit(2, f"{self.prog}: there is no command {printable(wrong[1])}; {meant}`{self.prog} --help` lists all\n")
        super().error(message)


def parser(prog: str = MODULE, only: Collection[str] = COMMANDS) -> argparse.ArgumentParser:
    """All commands and their arguments, or ``only`` some."""
    top = _Parser(prog=prog, description="Check, inspect and hand off a hybrid Slurm cluster. Use pulumi to change it.")
    top.add_argument("--version", action="version", version=f"slinky-iac {__version__}")
    commands = top.add_subparsers(
        dest="command", required=True, title="commands", metavar="COMMAND", parser_class=argparse.ArgumentParser
    )
    for name in COMMANDS:
        if name in only:
            found = command(name)
            found.add_arguments(commands.add_parser(name, help=found.HELP, epilog=found.CODES))
    printed = "exit codes: 0 printed; 2 wrong arguments"
    commands.add_parser("schema", help="print the JSON schema of Pulumi.<stack>.yaml for editors", epilog=printed)
    pages = commands.add_parser("reference", help="print a page of docs/ that is made from the code", epilog=printed)
    pages.add_argument("page", nargs="?", choices=PAGES, default="configuration")
    shells = commands.add_parser("completion", help=command_page.HELP, epilog=command_page.CODES)
    shells.add_argument("shell", choices=command_page.SHELLS)
    _describe(top)
    return top


def _describe(parser: argparse.ArgumentParser) -> None:
    """Let every command's own `--help` begin with what it is for, which argparse shows only one level above."""
    for text, below in command_page.commands(parser).values():
        below.description = text.replace("%%", "%")
        _describe(below)


def _schema() -> str:
    from slinky_iac.config.stack import json_schema  # noqa: PLC0415 - other commands don't import all settings

    return json.dumps(json_schema(), indent=2)


def _page(name: str) -> str:
    from slinky_iac.config.reference import findings_page, reference  # noqa: PLC0415 - as in _schema

    made: dict[str, Callable[[], str]] = {
        "configuration": reference,
        "findings": findings_page,
        "cli": lambda: command_page.page(parser()),
    }
    return made[name]()


def console() -> NoReturn:
    """The command `slinky`, as the wheel installs it."""
    sys.exit(main(sys.argv[1:], "slinky"))


def main(argv: Sequence[str], prog: str = MODULE) -> int:
    """Carry out one command; returns the exit code."""
    top = parser(prog, argv[:1] if argv and argv[0] in {*COMMANDS, *OWN} else COMMANDS)
    if not argv:
        top.print_help(sys.stderr)
        return WRONG_ARGUMENTS
    arguments = top.parse_args(argv)
    code = 0
    try:
        if arguments.command == "schema":
            print(_schema())
        elif arguments.command == "reference":
            print(_page(arguments.page), end="")
        elif arguments.command == "completion":
            name = command_page.NAME if prog == MODULE else prog
            print(command_page.script(parser(name), arguments.shell), end="")
        else:
            code = command(arguments.command).run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough, as `| head` does. What is left in the buffer would be a traceback at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except (SlinkyError, ValueError) as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted. A command that changes something continues where it was: run it again", file=sys.stderr)
        return INTERRUPTED
    return code
