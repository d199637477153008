"""The command line beside `pulumi`: what a person or a CI job asks for outside an update.

Exit codes: 0 done, 1 a fault that the message explains, 2 the command line itself is wrong, 130 interrupted; a command that
has more says so in its help.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from typing import Any, Final, NoReturn, Protocol, cast

from slinky_iac import __version__
from slinky_iac.commands.listing import COMMANDS, MODULE, examples, no_command, no_package, overview
from slinky_iac.commands.output import INTERRUPTED, UNREAD
from slinky_iac.errors import SlinkyError
from slinky_iac.text import printable

WRONG_ARGUMENTS: Final = 2
PAGES: Final = ("configuration", "findings", "cli", "api", "settings")
"""Pages of docs/ that are made from the code."""


class Carried(Protocol):
    """A module that carries out one command."""

    CODES: str
    """``exit codes: 0 …; 2 …``, behind its help."""

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        """Add the command's own arguments."""

    def run(self, arguments: argparse.Namespace, /) -> int:
        """Carry it out; returns the exit code."""


class _Once(argparse._StoreAction):
    """An option that takes one value: of two, argparse would drop the first without a word."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        given: frozenset[str] = getattr(namespace, _GIVEN, frozenset())
        if option_string is not None and self.dest in given:
            parser.error(f"{option_string} is there twice, and takes one value: leave one out")
        setattr(namespace, _GIVEN, given | {self.dest})
        super().__call__(parser, namespace, values, option_string)


_GIVEN: Final = "_given"
"""Where a namespace notes what was given already."""


class _Help(argparse.HelpFormatter):
    """Help whose lines to copy, four blanks in, stay whole."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        return "\n".join(line if line.startswith("    ") else fill(line, width, indent) for line in text.split("\n"))


class _Parser(argparse.ArgumentParser):
    """A parser, and those of its commands, that refuse a repeated option."""

    def __init__(self, *arguments: Any, **more: Any) -> None:  # noqa: ANN401 - argparse's own
        super().__init__(*arguments, **{"formatter_class": _Help, **more})
        for name in (None, "store"):
            self.register("action", name, _Once)

    def error(self, message: str) -> NoReturn:
        """Of a command that lacks its second word, say which there are."""
        acts = next((action for action in self._actions if isinstance(action, argparse._SubParsersAction)), None)
        if acts is not None and acts.choices and message.endswith(f"required: {acts.metavar}"):
            words = list(acts.choices)
            message = f"say what: {', '.join(words[:-1])} or {words[-1]}, such as `{self.prog} {words[0]}`"
        for action in self._actions:
            named = action.metavar if isinstance(action.metavar, str) else action.dest
            if not action.option_strings and action.choices and acts is None and message.endswith(f"required: {named}"):
                words = [str(word) for word in action.choices]
                message = f"say which: {', '.join(words[:-1])} or {words[-1]}, such as `{self.prog} {words[0]}`"
        super().error(message)


def command(name: str) -> Carried:
    """The command of that name."""
    return cast("Carried", import_module(COMMANDS[name].dotted))


def parser(prog: str = MODULE, only: Collection[str] = COMMANDS) -> argparse.ArgumentParser:
    """All commands and their arguments, or ``only`` some."""
    top = _Parser(prog=prog)
    top.add_argument("--version", action="version", version=f"slinky-iac {__version__}")
    commands = top.add_subparsers(dest="command", required=True, title="commands", metavar="COMMAND", parser_class=_Parser)
    for name, listed_command in COMMANDS.items():
        if name not in only:
            continue
        own = commands.add_parser(name, help=listed_command.text)
        if listed_command.module:
            module = command(name)
            module.add_arguments(own)
            _end(own, name, prog, module.CODES)
            continue
        from slinky_iac.commands import command_page  # noqa: PLC0415 - three commands need it

        _end(own, name, prog, command_page.CODES)
        if name == "reference":
            own.add_argument(
                "page", metavar="PAGE", nargs="?", choices=PAGES, default="configuration", help=", ".join(PAGES)
            )
        if name == "completion":
            own.add_argument("shell", metavar="SHELL", choices=command_page.SHELLS, help=", ".join(command_page.SHELLS))
    _describe(top)
    return top


def _end(own: argparse.ArgumentParser, name: str, prog: str, codes: str) -> None:
    """End each help with lines to copy and the exit codes: an act's own, or else its command's."""
    from slinky_iac.commands import command_page  # noqa: PLC0415 - `--help` and `--version` do without it

    own.epilog = f"{examples(name, prog)}{codes}"
    for act, (_, below) in command_page.commands(own).items():
        below.epilog = f"{examples(name, prog, act)}{below.epilog or codes}"


def _describe(parser: argparse.ArgumentParser) -> None:
    """Let every command's own `--help` begin with what it is for, which argparse shows only one level above."""
    from slinky_iac.commands import command_page  # noqa: PLC0415 - `--help` and `--version` do without it

    for text, below in command_page.commands(parser).values():
        below.description = text.replace("%%", "%")
        _describe(below)


def _schema() -> str:
    from slinky_iac.config.stack import json_schema  # noqa: PLC0415 - other commands don't import all settings

    return json.dumps(json_schema(), indent=2)


def _page(name: str) -> str:
    from slinky_iac.commands import api_page, command_page  # noqa: PLC0415 - as in _schema
    from slinky_iac.config.reference import findings_page, reference  # noqa: PLC0415 - as in _schema
    from slinky_iac.config.settings_stub import stub  # noqa: PLC0415 - as in _schema

    made: dict[str, Callable[[], str]] = {
        "configuration": reference,
        "findings": findings_page,
        "cli": lambda: command_page.page(parser()),
        "api": api_page.page,
        "settings": stub,
    }
    return made[name]()


def console() -> NoReturn:
    """The command `slinky`, as the wheel installs it."""
    sys.exit(main(sys.argv[1:], "slinky"))


def _listed(first: str, prog: str) -> int | None:
    """Answer what the list of commands alone can; the exit code, or None for a command."""
    if first == "":
        sys.stderr.write(overview(prog))
        return WRONG_ARGUMENTS
    if first in ("-h", "--help"):
        sys.stdout.write(overview(prog))
        return 0
    if first == "--version":
        print(f"slinky-iac {__version__}")
        return 0
    if first not in COMMANDS and not first.startswith("-"):
        sys.stderr.write(no_command(prog, first))
        return WRONG_ARGUMENTS
    return None


def _lacking(missing: ModuleNotFoundError, prog: str) -> int:
    """Say which package this Python lacks; one of this program's own is a fault, and raised again."""
    package = (missing.name or "").partition(".")[0]
    if package in ("", "slinky_iac"):
        raise missing
    sys.stderr.write(no_package(prog, package))
    return 1


def main(argv: Sequence[str], prog: str = MODULE) -> int:
    """Carry out one command; returns the exit code."""
    if (known := _listed(argv[0] if argv else "", prog)) is not None:
        return known
    try:
        return _carried_out(argv, prog)
    except ModuleNotFoundError as missing:
        return _lacking(missing, prog)


def _carried_out(argv: Sequence[str], prog: str) -> int:
    whole = parser(prog, argv[:1])
    arguments, strange = whole.parse_known_args(argv)
    if strange:
        told = f"{prog} {arguments.command}: unknown argument {printable(strange[0])}"
        whole.exit(WRONG_ARGUMENTS, f"{told}; `{prog} {arguments.command} --help` lists all\n")
    arguments.prog = prog
    code = 0
    try:
        if arguments.command == "schema":
            print(_schema())
        elif arguments.command == "reference":
            print(_page(arguments.page), end="")
        elif arguments.command == "completion":
            from slinky_iac.commands import command_page  # noqa: PLC0415 - as in _schema

            name = command_page.NAME if prog.endswith(" -m slinky_iac") else prog
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
