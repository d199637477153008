"""`slinky status`: arguments and words."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from slinky_iac import names
from slinky_iac.cluster.connection import connected
from slinky_iac.cluster.pulumi_command import Runner, run_pulumi
from slinky_iac.commands.output import PARTLY_UNKNOWN, add_every, add_json, add_stack, terminal, watch
from slinky_iac.commands.status import ask, prometheus
from slinky_iac.commands.status.render import WIDTH, as_json, screen
from slinky_iac.commands.status.watched import read

CODES = (
    "exit codes: 0 everything could be asked, whatever it said; 1 the stack's state, or the file of --from, can't be read;"
    " 2 wrong arguments; 4 something could not be asked and is shown as unknown"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    whose = parser.add_mutually_exclusive_group()
    add_stack(whose)
    whose.add_argument(
        "--from",
        dest="watched",
        type=Path,
        metavar="FILE",
        help=f"use this file instead of the state: {names.WATCHED_FILE} of the ConfigMap that monitoring.status makes. Needs"
        " no pulumi; the last `up` is unknown then, and so are keys that the account can't read",
    )
    shape = parser.add_mutually_exclusive_group()
    add_json(shape)
    shape.add_argument("--prometheus", action="store_true", help="print metrics for Prometheus")
    shape.add_argument("--watch", action="store_true", help="show the screen again and again, until Ctrl-C")
    add_every(parser, when="with --watch, ")


def run(arguments: argparse.Namespace, pulumi: Runner = run_pulumi, connect: ask.Connect = connected) -> int:
    """Look and tell. Raises StateError where there is no state to begin from; returns the exit code."""
    if arguments.every is not None and not arguments.watch:
        print("slinky status: --every is for --watch: add it, or leave --every out", file=sys.stderr)
        return 2
    look = partial(ask.look, arguments.stack, pulumi, connect)
    if arguments.watched is not None:
        look = partial(ask.look_by, read(arguments.watched), connect)
    colour, width = terminal(WIDTH)
    if arguments.watch:
        watch(lambda width: (screen(look(), colour=colour, width=width), False), WIDTH, arguments.every)
        return 0
    status = look()
    if arguments.prometheus:
        sys.stdout.write(prometheus.text(status))
    elif arguments.json:
        print(as_json(status))
    else:
        sys.stdout.write(screen(status, colour=colour, width=width))
    return PARTLY_UNKNOWN if status.unknown else 0
