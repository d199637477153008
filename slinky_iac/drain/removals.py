"""What leaves the program: NodeSets, login sets, clients' pods. The engine asks no provider about a deletion in a preview;
so one resource lists what stands, and its check sees what is missing from the list.

An update judges the limits again, in its first acts: deletions are its last. What a removal that failed has left is in the
list of what is pending, so the next preview shows it too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

from slinky_iac.drain import daemons, sessions
from slinky_iac.drain.observe import PREVIEW_S
from slinky_iac.drain.plan import DrainPlan, Seen, plan_teardown, unknown_plan, waited_for
from slinky_iac.drain.session import Session, open_session
from slinky_iac.drain.sessions import SessionSettings
from slinky_iac.drain.settings import GateSettings, Limits, Settings
from slinky_iac.drain.waiting import over_limits
from slinky_iac.drain.words import jobs_in_words
from slinky_iac.drain.written_plan import Plan
from slinky_iac.engine.provider import Props
from slinky_iac.errors import DrainBlocked, SlinkyError
from slinky_iac.slurmrest.objects import Job
from slinky_iac.text import counted

STANDS: Final = "stands"
"""Prop: by the name of what stands, how it is reached."""
PENDING: Final = "pending"
"""Prop: the same of what has left the program and not yet the cluster."""
Opened = Callable[..., AbstractContextManager[Session]]
Gone = GateSettings | SessionSettings


@dataclass(frozen=True)
class Removal:
    """One look at what leaves."""

    name: str
    plan: Plan
    text: str
    over: tuple[str, ...] = ()
    """Limits that it exceeds."""


def gone(olds: Mapping[str, Any], news: Mapping[str, Any]) -> dict[str, Props]:
    """What stands by the state and not by the program, and what an earlier removal may have left.

    Of the latter only what is in the cluster's own namespace: in a client's the account may have no rights any more.
    """
    space = news["namespace"]
    earlier = (olds.get(PENDING) or {}).items()
    left = {name: props for name, props in earlier if props.get("podNamespace", space) == space}
    before = {**left, **(olds.get(STANDS) or {})}
    return {name: dict(props) for name, props in sorted(before.items()) if name not in news[STANDS]}


def settings_of(props: Mapping[str, Any], name: str, entry: Mapping[str, Any]) -> Gone:
    """Settings of its gate, as far as a plan needs them. Raises ValueError where another program wrote them."""
    if "podSelector" in entry:
        return SessionSettings.from_props({**props, **entry, "host": name, "urn": ""})
    return GateSettings.from_props({**props, "replicas": 0, "maxReplicas": 0, "owner": "stack", **entry, "nodeset": name})


def plan(
    props: Mapping[str, Any], leaving: Mapping[str, Props], opened: Opened = open_session
) -> tuple[Seen, dict[str, Props]]:
    """The plan of all that leaves, and what of it is still there; said to the person, too."""
    reach = Settings.common(props, "")["reach"]
    with opened(reach, str(props.get("urn", "")), budget_s=PREVIEW_S) as session:
        removals = {name: _looked(session, props, name, entry) for name, entry in leaving.items()}
        there = {name: removal for name, removal in removals.items() if removal is not None}
        for removal in there.values():
            session.report(f"{removal.name} leaves the program: {removal.text}", severity="warning", keep=True)
    over = tuple(f"{removal.name} leaves the program: {text}" for removal in there.values() for text in removal.over)
    found_plan = Plan(removals=tuple(removal.plan for removal in there.values())) if there else None
    return Seen(found_plan, over), {name: entry for name, entry in leaving.items() if name in there}


def judge(session: Session, props: Mapping[str, Any]) -> None:
    """Raise DrainBlocked where a removal exceeds a limit, or where a limit is set and the answer is missing."""
    for name, entry in (props.get(PENDING) or {}).items():
        removal = _looked(session, props, name, entry)
        if removal is None:
            continue
        unknown = not removal.plan.known and settings_of(props, name, entry).policy.limits != Limits()
        if unknown or removal.over:
            why = "; ".join(removal.over) or f"{removal.text}; and drain.limits can't be judged"
            raise DrainBlocked(f"{name} leaves the program, and nothing of it was drained or removed: {why}")


def _looked(session: Session, props: Mapping[str, Any], name: str, entry: Mapping[str, Any]) -> Removal | None:
    """One look at it; None where it is gone from the cluster."""
    settings = settings_of(props, name, entry)
    try:
        return _nodeset(session, settings) if isinstance(settings, GateSettings) else of_sessions(session, settings)
    except SlinkyError as error:
        text = f"whose jobs are waited for is not known: {error}"
        return Removal(name, unknown_plan(name, 0, 0, str(error)).written, text)


def _nodeset(session: Session, settings: GateSettings) -> Removal | None:
    seen, name = session.observe(settings, queue=True), settings.owner.nodeset
    state = seen.nodeset
    if state is None:
        return None
    drain_plan = plan_teardown(seen, state, settings.owner)
    what = f"{counted(len(seen.pods), 'node')} will be drained and removed"
    if not drain_plan.known:
        return Removal(name, drain_plan.written, f"{what}; whose jobs are waited for is not known: {seen.problem}")
    over = over_limits(settings.policy.limits, seen.now, drain_plan.jobs, len(drain_plan.selected), daemons.asked(seen))
    return Removal(name, drain_plan.written, f"{what}; {_waits(drain_plan.jobs)}", over)


def of_sessions(session: Session, settings: SessionSettings) -> Removal | None:
    """One look at pods of srun and salloc; None where they are gone. Raises what the clients raise."""
    seen, name = sessions.look(session, settings), settings.owner.nodeset
    if settings.kind and seen.meta is None:
        return None
    jobs = () if settings.interrupts else tuple(loss.job for loss in seen.lost)
    plain = waited_for(DrainPlan(name, 0, 0, 0).written, jobs)
    over = () if settings.interrupts else over_limits(settings.policy.limits, seen.now, jobs)
    ends = f"this ends {jobs_in_words([loss.job for loss in seen.lost])} (interruptSessions: true)"
    text = ends if settings.interrupts and seen.lost else _waits(jobs)
    return Removal(name, plain, f"{settings.what} will be removed; {text}", over)


def _waits(jobs: Sequence[Job]) -> str:
    return f"{jobs_in_words(jobs)} will be waited for" if jobs else "no job has to be waited for"
