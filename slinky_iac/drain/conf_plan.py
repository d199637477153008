"""What a preview says of a change of slurm.conf: what leaves, whose jobs hold it up and until when, and what forbids it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from slinky_iac.closing import closing_steps, losing
from slinky_iac.drain import conf_held, conf_run
from slinky_iac.drain.conf_steps import (
    CLOSED,
    ConfGoal,
    ConfLook,
    ConfSettings,
    Leaving,
    held_by,
    leaving,
    limits_exceeded,
    lines_of,
    next_step,
)
from slinky_iac.drain.describe import MAX_JOBS, SCHEMA, job_props, when
from slinky_iac.drain.free import tied_in_words, tied_to
from slinky_iac.drain.preview import BUDGET_S, FIRST_S
from slinky_iac.drain.protocol import Stop
from slinky_iac.drain.session import Session, open_session
from slinky_iac.errors import SlinkyError

Props = dict[str, Any]


def slurm_conf(settings: ConfSettings, olds: Mapping[str, Any]) -> tuple[Props, tuple[str, ...]]:
    """The plan, and what must stop the preview. ``olds`` are the state's inputs; without any, the Controller is asked."""
    budget_s, tries = (BUDGET_S, 4) if olds.get("schema") else (FIRST_S, 1)
    with open_session(settings.reach, settings.urn, budget_s=budget_s, tries=tries) as session:
        return planned(session, settings, olds)


def planned(session: Session, settings: ConfSettings, olds: Mapping[str, Any]) -> tuple[Props, tuple[str, ...]]:
    """The same, with a session.

    While nothing leaves, the plan stays what the state has, so that a second preview is empty; unless an earlier run left
    something closed, which the next update gives back.
    """
    kept: Props = dict(olds.get("plan") or {})
    if settings.outside and not olds.get("schema"):
        return {}, ()
    first = not olds.get("schema")
    try:
        before = conf_run.live_lines(session, settings) if first else lines_of(olds)
    except SlinkyError as error:
        session.report(f"no answer, so what slurm.conf loses is not known: {error}", severity="warning")
        return {}, ()
    going = leaving(before, settings.lines)
    if not going:
        return kept if settings.outside else _given_back(session, settings, kept), ()
    seen = conf_run.look_or_problem(session, settings)
    if seen.problem:
        more = "The update will ask again and stop if it gets no answer"
        session.report(f"the plan is not known: {seen.problem} {more}", severity="warning")
    goal = conf_run.goal_of(settings, going, seen.now)
    if settings.outside and not seen.problem:
        return outside_props(seen, goal), ()
    return plan_props(seen, goal), limits_exceeded(held_by(seen, goal), settings.policy.limits, seen.now)


def _given_back(session: Session, settings: ConfSettings, kept: Props) -> Props:
    try:
        held = conf_held.read(session, settings.controller)
    except SlinkyError as error:
        session.report(f"it is unknown whether something is still closed for slurm.conf: {error}", severity="warning")
        return kept
    partitions, hosts = settings.lines.partitions.keys() & held.partitions.keys(), set(settings.lines.hosts) & {*held.hosts}
    return back_props(partitions, hosts) if partitions or hosts else kept


def plan_props(look: ConfLook, goal: ConfGoal) -> Props:
    """The plan as flat JSON with absolute times, so that it doesn't change while nothing does."""
    going, holding = goal.leaving, held_by(look, goal)
    step = next_step(look, goal)
    ends = [None if each.waits else each.expected_end for each in holding]
    known = [end for end in ends if end is not None]
    unknown = bool(look.problem) or len(known) < len(ends)
    warnings = [*_warnings(look, going), *tied_in_words(tied_to(look.jobs, going.hosts))]
    return {
        "schema": SCHEMA,
        "partitions": list(going.partitions),
        "hosts": list(going.hosts),
        "changed": list(going.changed),
        "known": not look.problem,
        "jobs": [{**job_props(each), "waits": each.waits} for each in holding[:MAX_JOBS]],
        "jobs_total": len(holding),
        "free_at": when(None if unknown else max(known, default=0)),
        "blocks": [step.why] if isinstance(step, Stop) and step.cause == "blocked" else [],
        "warnings": [f"unknown, because there was no answer: {look.problem}"] if look.problem else warnings,
    }


def outside_props(look: ConfLook, goal: ConfGoal) -> dict[str, Any]:
    """The plan where an admin writes slurm.conf: nothing is closed and nothing waits, so the steps stand in it."""
    plan, going = plan_props(look, goal), goal.leaving
    said = losing(going.partitions, going.nodes, plan["jobs_total"])
    steps = closing_steps(going.partitions, going.nodes)
    warnings = [f"{said}: its admin closes and empties it before its line goes", *plan["warnings"]]
    return {**plan, "outside": True, "blocks": [], "warnings": warnings, "steps": list(steps)}


def back_props(partitions: Iterable[str], hosts: Iterable[str]) -> dict[str, Any]:
    """The plan of an update that only gives back what an earlier one closed."""
    return {
        "schema": SCHEMA,
        "gives_back": [*(f"partition {name}" for name in sorted(partitions)), *sorted(hosts)],
        "why": "an earlier run closed or drained these before a change of slurm.conf that was withdrawn",
    }


def _warnings(look: ConfLook, going: Leaving) -> Iterable[str]:
    for name in going.partitions:
        states = look.partitions.get(name, frozenset())
        waiting = [each for each in look.jobs if each.waits and each.lost_with([name])]
        if waiting and states & {"DOWN", CLOSED["DOWN"]}:
            yield (
                f"partition {name} is {'+'.join(sorted(states))} and starts no job: the {len(waiting)} that wait there"
                " will not leave it. Cancel them, move them (scontrol update jobid=… partition=…), or set it up"
            )
