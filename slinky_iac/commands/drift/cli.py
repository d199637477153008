"""`slinky drift`: what differs, as lines or JSON, and an exit code for a nightly job."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from slinky_iac.commands import output
from slinky_iac.commands.drift.ask import check
from slinky_iac.commands.drift.compare import Finding
from slinky_iac.commands.waiting_line import waiting_line
from slinky_iac.text import plain

HELP = "compare the running Slurm with the stack: nodes, records, drains, partitions, name, version, fence; repairs nothing"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.epilog = "exit codes: 0 no drift; 1 something could not be asked; 2 wrong arguments; 5 drift"
    output.add_stack(parser)
    output.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Look and tell. Raises what asking raises; returns the exit code."""
    with waiting_line(sys.stderr, "drift: reading the stack's state, querying Kubernetes and Slurm"):
        found = check(arguments.stack)
    print(shown(found, as_json=arguments.json))
    return output.DRIFTED if found else 0


def shown(found: tuple[Finding, ...], *, as_json: bool) -> str:
    """The findings as text. Reasons are anybody's words, so they are made harmless for a terminal."""
    if as_json:
        return output.as_json({"drift": [asdict(each) for each in found]})
    if not found:
        return "no drift: Slurm is as the stack says"
    return "\n".join(f"{each.kind}  {plain(each.subject)}\n    {plain(each.text, 1000)}" for each in found)
