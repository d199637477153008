"""The command line beside `pulumi`: what a person or a CI job asks for outside an update.

Exit codes: 0 done, 1 a fault that the message explains, 2 the command line itself is wrong; `plan` and `drift` have more.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from slinky_iac.change_order import cli as change_order
from slinky_iac.config.reference import reference
from slinky_iac.config.stack import json_schema
from slinky_iac.drain import cli as drain
from slinky_iac.drain.describe import lines, plan_props
from slinky_iac.errors import SlinkyError
from slinky_iac.slurm_drift import cli as slurm_drift


def parser() -> argparse.ArgumentParser:
    """All commands and their arguments."""
    top = argparse.ArgumentParser(prog="python -m slinky_iac", description="Beside pulumi: look, tell, undo.")
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("schema", help="print the JSON schema of Pulumi.<stack>.yaml for editors")
    commands.add_parser("reference", help="print docs/configuration.md: every setting with its meaning")
    change_order.add_arguments(commands.add_parser("plan", help=change_order.HELP))
    slurm_drift.add_arguments(commands.add_parser("drift", help=slurm_drift.HELP))
    drains = commands.add_parser("drain", help="what scale-ins have drained, and giving it back")
    acts = drains.add_subparsers(dest="act", required=True)
    for name, text in (
        ("status", "show drained nodes, whose drain it is, and the jobs on them"),
        ("plan", "show which nodes and whose jobs a removal or a destroy would wait for"),
        ("cancel", "undo this stack's drains and pod annotations, and nothing else"),
    ):
        act = acts.add_parser(name, help=text)
        act.add_argument("--stack", help="stack; by default the selected one")
        act.add_argument("--nodeset", help="one NodeSet; by default all")
        act.add_argument("--json", action="store_true", help="print JSON")
    return top


def main(argv: Sequence[str]) -> int:
    """Carry out one command; returns the exit code."""
    arguments = parser().parse_args(argv)
    try:
        if arguments.command == "schema":
            print(json.dumps(json_schema(), indent=2))
        elif arguments.command == "reference":
            print(reference(), end="")
        elif arguments.command == "plan":
            return change_order.run(arguments)
        elif arguments.command == "drift":
            return slurm_drift.run(arguments)
        elif arguments.act == "status":
            _status(arguments)
        elif arguments.act == "plan":
            _plan(arguments)
        else:
            taken = drain.cancel(arguments.stack, arguments.nodeset)
            print(json.dumps({"steps": taken}) if arguments.json else f"given back in {taken} step(s)")
    except (SlinkyError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _plan(arguments: argparse.Namespace) -> None:
    plans = drain.plans(arguments.stack, arguments.nodeset)
    if arguments.json:
        print(json.dumps([plan_props(plan) for plan in plans], indent=2))
        return
    for plan in plans:
        print(f"{plan.nodeset}: {plan.give_up} node(s)")
        for line in (*lines(plan), *(finding.text for finding in (*plan.blocks, *plan.warnings))):
            print(f"    {line}")


def _status(arguments: argparse.Namespace) -> None:
    rows = drain.status(arguments.stack, arguments.nodeset)
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    if not rows:
        print("nothing is drained or marked")
    for row in rows:
        jobs = row["jobs"] or ()
        until = f", returned by slurmctld at {row['returns']}" if row["returns"] else ""
        whose = row["owner"] or "nobody"
        print(f"{row['nodeset']}: {row['node']} {row['states']}, drained by {whose}{until}: {row['reason']!r}")
        for job in jobs if isinstance(jobs, list | tuple) else ():
            print(f"    job {job}")
