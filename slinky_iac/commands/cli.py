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
from collections.abc import Callable, Sequence
from typing import Final, NoReturn, Protocol

from slinky_iac import __version__
from slinky_iac.commands import (
    client,
    command_page,
    drain,
    monitoring,
    new,
    policies,
    shell_completion,
    token,
    verify_state,
)
from slinky_iac.commands.check import cli as check
from slinky_iac.commands.diagram import cli as diagram
from slinky_iac.commands.drift import cli as drift
from slinky_iac.commands.handoff import cli as handoff
from slinky_iac.commands.init import cli as init
from slinky_iac.commands.keys import cli as keys
from slinky_iac.commands.output import INTERRUPTED, UNREAD
from slinky_iac.commands.plan import cli as plan
from slinky_iac.commands.preflight import cli as preflight
from slinky_iac.commands.rights import cli as rights
from slinky_iac.commands.status import cli as status
from slinky_iac.config.reference import findings_page, reference
from slinky_iac.config.stack import json_schema
from slinky_iac.errors import SlinkyError
from slinky_iac.text import printable

MODULE: Final = "python -m slinky_iac"
"""How the command line is called in a checkout, where nothing is installed."""
WRONG_ARGUMENTS: Final = 2
PAGES: Final[dict[str, Callable[[], str]]] = {
    "configuration": reference,
    "findings": findings_page,
    "cli": lambda: command_page.page(parser()),
}
"""Pages of docs/ that are made from the code."""


class Command(Protocol):
    """A module that carries out one command."""

    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        """Add the command's own arguments."""

    def run(self, arguments: argparse.Namespace, /) -> int:
        """Carry it out; returns the exit code."""


COMMANDS: Final[dict[str, Command]] = {
    "new": new,
    "init": init,
    "check": check,
    "preflight": preflight,
    "plan": plan,
    "verify-state": verify_state,
    "drift": drift,
    "drain": drain,
    "keys": keys,
    "token": token,
    "handoff": handoff,
    "client": client,
    "status": status,
    "monitoring": monitoring,
    "rights": rights,
    "policies": policies,
    "diagram": diagram,
}


class _Parser(argparse.ArgumentParser):
    """Names the command that a wrong one resembles."""

    def error(self, message: str) -> NoReturn:
        """A line instead of all commands twice."""
        wrong = re.search(r"argument COMMAND: invalid choice: '([^']*)'", message)
        if wrong is not None:
            near = difflib.get_close_matches(wrong[1], [*COMMANDS, "schema", "reference", "completion"], n=1)
            meant = f"did you mean {near[0]}? " if near else ""
            self.exit(2, f"{self.prog}: there is no command {printable(wrong[1])}; {meant}`{self.prog} --help` lists all\n")
        super().error(message)


def parser(prog: str = MODULE) -> argparse.ArgumentParser:
    """All commands and their arguments."""
    top = _Parser(prog=prog, description="Check, inspect and hand off a hybrid Slurm cluster. Use pulumi to change it.")
    top.add_argument("--version", action="version", version=f"slinky-iac {__version__}")
    commands = top.add_subparsers(
        dest="command", required=True, title="commands", metavar="COMMAND", parser_class=argparse.ArgumentParser
    )
    for name, command in COMMANDS.items():
        command.add_arguments(commands.add_parser(name, help=command.HELP))
    printed = "exit codes: 0 printed; 2 wrong arguments"
    commands.add_parser("schema", help="print the JSON schema of Pulumi.<stack>.yaml for editors", epilog=printed)
    pages = commands.add_parser("reference", help="print a page of docs/ that is made from the code", epilog=printed)
    pages.add_argument("page", nargs="?", choices=tuple(PAGES), default="configuration")
    shells = commands.add_parser("completion", help=shell_completion.HELP, epilog=shell_completion.CODES)
    shells.add_argument("shell", choices=shell_completion.SHELLS)
    _describe(top)
    return top


def _describe(parser: argparse.ArgumentParser) -> None:
    """Let every command's own `--help` begin with what it is for, which argparse shows only one level above."""
    for text, below in command_page.commands(parser).values():
        below.description = text.replace("%%", "%")
        _describe(below)


def console() -> NoReturn:
    """The command `slinky`, as the wheel installs it."""
    sys.exit(main(sys.argv[1:], "slinky"))


def main(argv: Sequence[str], prog: str = MODULE) -> int:
    """Carry out one command; returns the exit code."""
    top = parser(prog)
    if not argv:
        top.print_help(sys.stderr)
        return WRONG_ARGUMENTS
    arguments = top.parse_args(argv)
    code = 0
    try:
        if arguments.command == "schema":
            print(json.dumps(json_schema(), indent=2))
        elif arguments.command == "reference":
            print(PAGES[arguments.page](), end="")
        elif arguments.command == "completion":
            name = shell_completion.NAME if prog == MODULE else prog
            print(shell_completion.script(parser(name), arguments.shell), end="")
        else:
            code = COMMANDS[arguments.command].run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has seen enough, as `| head` does. What is left in the buffer would be a traceback at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except (SlinkyError, ValueError) as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted. A command that changes something continues where it was: run it again", file=sys.stderr)
        return INTERRUPTED
    return code
