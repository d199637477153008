"""``slinky drain status|plan|watch|cancel``: what our drains left behind, what a removal would wait for, how
far drains are, and giving it all back, without a `pulumi up`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import asdict
from typing import Final

from slinky_iac.cluster import pulumi_state
from slinky_iac.commands import watching
from slinky_iac.commands.drain_watch import DrainView, screen, view
from slinky_iac.commands.output import add_json, add_stack, as_json, wants_colour
from slinky_iac.drain import scale
from slinky_iac.drain.members import status_of
from slinky_iac.drain.plan import DrainPlan, plan_props, plan_teardown
from slinky_iac.drain.session import open_session
from slinky_iac.drain.settings import GateSettings, gates
from slinky_iac.drain.text import counted, iso, whose
from slinky_iac.engine.plugin_process import console_report
from slinky_iac.errors import DrainBlocked, KubeError, SlinkyError, SlurmrestError, StateError
from slinky_iac.slurmrest.objects import Job

HELP = "show what scale-ins have drained and what a removal would wait for; return nodes"
CODES = "exit codes: 0 done; 1 the stack's state, Kubernetes or Slurm could not be asked; 2 wrong arguments"
ACTS = (
    ("status", "show drained nodes, whose drain it is, and the jobs on them"),
    ("plan", "show which nodes and whose jobs a removal or a destroy would wait for"),
    ("watch", "show the progress of this stack's drains, whose jobs they wait for and until when; ends with Ctrl-C"),
    ("cancel", "undo this stack's drains and pod annotations, and nothing else"),
)
WHOSE = {"ours": "this stack", "operator": "slurm-operator"}
"""Owners of a drain as people call them; others are called what they are."""
WIDTH: Final = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.epilog = CODES
    acts = parser.add_subparsers(dest="act", required=True)
    for name, text in ACTS:
        act = acts.add_parser(name, help=text)
        add_stack(act)
        act.add_argument("--nodeset", help="one NodeSet; by default all")
        if name == "watch":
            act.add_argument("--every", type=int, default=None, metavar="SECONDS", help="pause between two looks")
            act.add_argument("--until-done", action="store_true", help="end when nothing of this stack's is drained")
        else:
            add_json(act)


def run(arguments: argparse.Namespace) -> int:
    """Carry out one act. Raises what reading the state and asking the clusters raise; returns the exit code."""
    if arguments.act == "status":
        return _status(arguments)
    if arguments.act == "watch":
        _watch(arguments)
    elif arguments.act == "plan":
        _plan(arguments)
    else:
        taken = cancel(arguments.stack, arguments.nodeset)
        if arguments.json:
            print(as_json({"steps": taken}))
        else:
            print(_given_back(taken))
    return 0


def _plan(arguments: argparse.Namespace) -> None:
    found = plans(arguments.stack, arguments.nodeset)
    if arguments.json:
        print(as_json({"plans": [plan_props(plan) for plan in found]}))
        return
    if not found:
        print("no NodeSet of this stack is up, so a removal waits for no job")
    for plan in found:
        print(f"{plan.nodeset}: {counted(plan.removes, 'node')}")
        for line in (*plan_lines(plan), *(finding.text for finding in (*plan.blocks, *plan.warnings))):
            print(f"    {line}")


def plan_lines(plan: DrainPlan) -> tuple[str, ...]:
    """One line a node that is selected, for people."""
    shown = []
    for each in plan.selected:
        jobs = ", ".join(_job(job) for job in each.jobs[:4]) or "no job"
        known = f"until {iso(each.end)}" if each.jobs else "free now"
        until = "of no known end" if each.unforeseen else known
        shown.append(f"{each.pod.slurm_node} ({each.kind.name.lower()}): {jobs}, {until}")
    return tuple(shown)


def _job(job: Job) -> str:
    return whose(job) + (f", {job.of_stack}" if job.of_stack else "")


def _watch(arguments: argparse.Namespace) -> None:
    chosen = _chosen(arguments.stack, arguments.nodeset)
    tty = sys.stdout.isatty()

    def frame(width: int) -> tuple[str, bool]:
        views = [_looked_at(settings) for settings in chosen]
        colour = wants_colour(os.environ, tty=tty)
        stack = arguments.stack or (chosen[0].owner.stack if chosen else "")
        text = screen(stack, views, int(time.time()), colour=colour, width=width, leave=tty)
        return text, arguments.until_done and not any(view.nodes or view.problem for view in views)

    watching.watch(frame, otherwise=WIDTH, every=arguments.every)


def _looked_at(settings: GateSettings) -> DrainView:
    """One NodeSet's drains; what can't be asked is shown, and asked again at the next look."""
    try:
        with open_session(settings.reach, settings.urn, report=console_report()) as session:
            return view(settings, session.observe(settings))
    except (KubeError, SlurmrestError) as error:
        return DrainView(settings.owner.nodeset, 0, None, (), None, "", settings.policy.deadline_s, problem=str(error))


def _status(arguments: argparse.Namespace) -> int:
    rows, unknown = status(arguments.stack, arguments.nodeset)
    for trouble in unknown:
        print(f"not known: {trouble}", file=sys.stderr)
    code = 1 if unknown else 0
    if arguments.json:
        print(as_json({"drains": rows, "unknown": unknown}))
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


def _given_back(taken: int) -> str:
    return f"given back, in {counted(taken, 'step')}" if taken else "nothing of this stack's was left to return"


def status(stack: str | None, nodeset: str | None) -> tuple[list[dict[str, object]], list[str]]:
    """Drains and marks of one NodeSet or all of a stack, and what could not be asked about them: without Slurm's answer a
    pod's mark is all that is seen. Raises what reading the state and asking Kubernetes raise."""
    rows: list[dict[str, object]] = []
    unknown: list[str] = []
    for settings in _chosen(stack, nodeset):
        with open_session(settings.reach, settings.urn, report=console_report()) as session:
            seen = session.observe(settings)
            if seen.problem:
                unknown.append(f"{settings.owner.text}: {seen.problem}")
            rows += [asdict(row) for row in status_of(settings, seen)]
    return rows, unknown


def plans(stack: str | None, nodeset: str | None) -> list[DrainPlan]:
    """What removing one NodeSet, or all of a stack, would wait for: a preview shows no deletion's plan, so this does.

    NodeSets that aren't there (any more) have none. Raises what reading the state and asking the clusters raise.
    """
    made: list[DrainPlan] = []
    for settings in _chosen(stack, nodeset):
        with open_session(settings.reach, settings.urn, report=console_report()) as session:
            seen = session.observe(settings, queue=True)
            if seen.nodeset is None:
                continue
            made.append(plan_teardown(seen, seen.nodeset, settings.owner))
    return made


def cancel(stack: str | None, nodeset: str | None) -> int:
    """Give back our drains and marks and nothing else; returns how many steps it took.

    Trouble with one NodeSet keeps none of the others; at the end all of it is raised as one DrainBlocked.
    """
    taken = 0
    left: list[str] = []
    for settings in _chosen(stack, nodeset):
        try:
            with open_session(settings.reach, settings.urn, report=console_report()) as session:
                taken += scale.give_back(session, settings)
        except SlinkyError as error:
            left.append(str(error))
    if left:
        raise DrainBlocked("\n".join(left))
    return taken


def _chosen(stack: str | None, nodeset: str | None) -> list[GateSettings]:
    found = gates(pulumi_state.export(stack))
    if nodeset is None:
        return list(found.values())
    if nodeset not in found:
        known = ", ".join(found) or "none"
        raise StateError(f"the stack has no NodeSet {nodeset!r} (it has: {known})")
    return [found[nodeset]]
