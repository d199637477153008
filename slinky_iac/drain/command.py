"""The ``drain`` command's arguments and words; what it asks is :mod:`slinky_iac.drain.cli`'s."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping

from slinky_iac.drain import cli
from slinky_iac.drain.describe import lines, plan_props

HELP = "what scale-ins have drained, what a removal would wait for, and giving nodes back"
CODES = "exit codes: 0 done; 1 the stack's state, Kubernetes or Slurm could not be asked; 2 wrong arguments"
ACTS = (
    ("status", "show drained nodes, whose drain it is, and the jobs on them"),
    ("plan", "show which nodes and whose jobs a removal or a destroy would wait for"),
    ("cancel", "undo this stack's drains and pod annotations, and nothing else"),
)
WHOSE = {"ours": "this stack", "operator": "slurm-operator"}
"""Owners of a drain as people call them; others are called what they are."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.epilog = CODES
    acts = parser.add_subparsers(dest="act", required=True)
    for name, text in ACTS:
        act = acts.add_parser(name, help=text)
        act.add_argument("--stack", help="stack; by default the selected one")
        act.add_argument("--nodeset", help="one NodeSet; by default all")
        act.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Carry out one act. Raises what reading the state and asking the clusters raise; returns the exit code."""
    if arguments.act == "status":
        return _status(arguments)
    if arguments.act == "plan":
        _plan(arguments)
    else:
        taken = cli.cancel(arguments.stack, arguments.nodeset)
        if arguments.json:
            _told({"steps": taken})
        else:
            print(_given_back(taken))
    return 0


def _plan(arguments: argparse.Namespace) -> None:
    plans = cli.plans(arguments.stack, arguments.nodeset)
    if arguments.json:
        _told({"plans": [plan_props(plan) for plan in plans]})
        return
    if not plans:
        print("no NodeSet of this stack is up, so a removal waits for nobody")
    for plan in plans:
        print(f"{plan.nodeset}: {_counted(plan.give_up, 'node')}")
        for line in (*lines(plan), *(finding.text for finding in (*plan.blocks, *plan.warnings))):
            print(f"    {line}")


def _status(arguments: argparse.Namespace) -> int:
    rows, unknown = cli.status(arguments.stack, arguments.nodeset)
    for trouble in unknown:
        print(f"not known: {trouble}", file=sys.stderr)
    code = 1 if unknown else 0
    if arguments.json:
        _told({"drains": rows, "unknown": unknown})
        return code
    if not rows and not unknown:
        print("nothing is drained or marked")
    for row in rows:
        jobs = row["jobs"] or ()
        until = f", returned by slurmctld at {row['returns']}" if row["returns"] else ""
        whose = f"drained by {WHOSE.get(str(row['owner']), row['owner'])}" if row["owner"] else "marked, not drained"
        print(f"{row['nodeset']}: {row['node']} {row['states']}, {whose}{until}: {row['reason']!r}")
        for job in jobs if isinstance(jobs, list | tuple) else ():
            print(f"    job {job}")
    return code


def _told(data: Mapping[str, object]) -> None:
    print(json.dumps({"schema": 1, **data}, indent=2))


def _given_back(taken: int) -> str:
    return f"given back, in {_counted(taken, 'step')}" if taken else "nothing of this stack's was left to give back"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
