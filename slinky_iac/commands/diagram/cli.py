"""`slinky diagram`: arguments, reading a configuration, writing a picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from slinky_iac.cluster.pulumi_command import Runner, run_pulumi
from slinky_iac.commands import stack_config
from slinky_iac.commands.diagram.build import picture
from slinky_iac.commands.diagram.mermaid import mermaid
from slinky_iac.commands.diagram.svg import svg
from slinky_iac.config.stack import FIRST_SECRETS
from slinky_iac.errors import DiagramError

CODES = (
    "exit codes: 0 drawn; 1 the configuration can't be read or has faults, or the file can't be written; 2 wrong arguments."
    " No cluster is asked"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    stack_config.add_source(parser)
    parser.add_argument("--format", choices=("svg", "mermaid"), default="svg", help="form of the output (default svg)")
    parser.add_argument("--title", default="", help="by default the cluster's name")
    parser.add_argument("--out", metavar="FILE", help="write there instead of to stdout")


def run(arguments: argparse.Namespace, pulumi: Runner = run_pulumi) -> int:
    """Read and draw. Raises ConfigError, DiagramError and StateError; returns the exit code."""
    config = stack_config.given(arguments, pulumi, taken_for_set=FIRST_SECRETS).config
    shown = picture(config, arguments.title)
    text = svg(shown) if arguments.format == "svg" else mermaid(shown)
    if arguments.out and arguments.out != "-":
        try:
            Path(arguments.out).write_text(text, encoding="utf-8")
        except OSError as error:
            raise DiagramError(f"--out {arguments.out}: can't be written ({error.strerror}); nothing was drawn") from None
    else:
        sys.stdout.write(text)
    return 0
