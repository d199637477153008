"""The command line beside `pulumi`: what a person or a CI job asks for without changing anything.

Exit codes: 0 done, 1 a fault that the message explains, 2 the command line itself is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from slinky_iac.config.stack import json_schema
from slinky_iac.errors import SlinkyError


def parser() -> argparse.ArgumentParser:
    """All commands and their arguments."""
    top = argparse.ArgumentParser(prog="python -m slinky_iac", description="Beside pulumi: look, plan, tell.")
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("schema", help="print the JSON schema of Pulumi.<stack>.yaml for editors")
    return top


def main(argv: Sequence[str]) -> int:
    """Carry out one command; returns the exit code."""
    arguments = parser().parse_args(argv)
    try:
        if arguments.command == "schema":
            print(json.dumps(json_schema(), indent=2))
    except SlinkyError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
