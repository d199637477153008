"""What a preview says of a change of slurm.conf: what leaves, whose jobs hold it up and until when, and what forbids it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from slinky_iac.closing import closing_steps, losing
from slinky_iac.drain.conf_lines import Leaving
from slinky_iac.drain.conf_steps import CLOSED, ConfGoal, ConfLook, GiveUp, held_by, next_step
from slinky_iac.drain.describe import job_props
from slinky_iac.drain.policy import Limits
from slinky_iac.drain.queue import tied_in_words, tied_to
from slinky_iac.drain.text import iso, jobs_in_words
from slinky_iac.drain.view import Queued

SCHEMA: Final = 1
MAX_JOBS: Final = 200
"""Jobs listed one by one: a plan stands in every state."""


def plan_props(look: ConfLook, goal: ConfGoal) -> dict[str, Any]:
    """The plan as flat JSON with absolute times, so that it doesn't change while nothing does."""
    going, holding = goal.leaving, held_by(look, goal)
    step = next_step(look, goal)
    ends = [None if each.waits else each.job.expected_end for each in holding]
    known = max((end for end in ends if end is not None), default=0)
    return {
        "schema": SCHEMA,
        **_what(going),
        "known": True,
        "jobs": [{**job_props(each.job), "waits": each.waits} for each in holding[:MAX_JOBS]],
        "jobs_total": len(holding),
        "free_at": "unknown" if None in ends else (iso(known) if ends else "now"),
        "blocks": [step.why] if isinstance(step, GiveUp) and step.cause == "blocked" else [],
        "warnings": [*_warnings(look, going), *tied_in_words(tied_to(look.jobs, going.hosts))],
    }


def outside_props(look: ConfLook, goal: ConfGoal) -> dict[str, Any]:
    """The plan where an admin writes slurm.conf: nothing is closed and nothing waits, so the steps stand in it."""
    plan, going = plan_props(look, goal), goal.leaving
    said = losing(going.partitions, going.nodes, plan["jobs_total"])
    steps = closing_steps(going.partitions, going.nodes)
    warnings = [f"{said}: its admin closes and empties it before its line goes", *plan["warnings"]]
    return {**plan, "outside": True, "blocks": [], "warnings": warnings, "steps": list(steps)}


def unknown_props(going: Leaving, why: str) -> dict[str, Any]:
    """The plan where nothing could be asked."""
    return {
        "schema": SCHEMA,
        **_what(going),
        "known": False,
        "jobs": [],
        "jobs_total": 0,
        "free_at": "unknown",
        "blocks": [],
        "warnings": [f"no answer, so nothing is claimed: {why}"],
    }


def back_props(partitions: Iterable[str], hosts: Iterable[str]) -> dict[str, Any]:
    """The plan of an update that only gives back what an earlier one closed."""
    return {
        "schema": SCHEMA,
        "gives_back": [*(f"partition {name}" for name in sorted(partitions)), *sorted(hosts)],
        "why": "an earlier run closed or drained these before a change of slurm.conf that is wanted no more",
    }


def _what(going: Leaving) -> Mapping[str, list[str]]:
    return {"partitions": list(going.partitions), "hosts": list(going.hosts), "changed": list(going.changed)}


def _warnings(look: ConfLook, going: Leaving) -> Iterable[str]:
    for name in going.partitions:
        states = look.partitions.get(name, frozenset())
        waiting = [each for each in look.jobs if each.waits and each.lost_with([name])]
        if waiting and states & {"DOWN", CLOSED["DOWN"]}:
            yield (
                f"partition {name} is {'+'.join(sorted(states))} and starts no job: the {len(waiting)} that wait there"
                " will not leave it. Cancel them, move them (scontrol update jobid=… partition=…), or set it up"
            )


def limits_exceeded(holding: Sequence[Queued], limits: Limits, now: int) -> tuple[str, ...]:
    """A sentence for each limit that these jobs exceed. Jobs that wait have no age."""
    found = []
    jobs = [each.job for each in holding]
    if limits.max_jobs is not None and len(jobs) > limits.max_jobs:
        found.append(
            f"{jobs_in_words(jobs)}: more than the {limits.max_jobs} that drain.limits allows; wait, or raise maxJobs"
        )
    if limits.max_job_age_s is not None:
        oldest = now - limits.max_job_age_s
        old = [each.job for each in holding if not each.waits and (each.job.start is None or each.job.start < oldest)]
        if old:
            found.append(
                f"{jobs_in_words(old)}: drain.limits allows no job that has run longer than {limits.max_job_age_s} s; wait"
                " for its end, or raise maxJobAge"
            )
    return tuple(found)
