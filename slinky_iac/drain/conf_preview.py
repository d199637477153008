"""What a preview adds to the inputs of the gate before slurmctld's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slinky_iac.drain import conf_held, conf_run
from slinky_iac.drain.conf_lines import ConfSettings, leaving, lines_of
from slinky_iac.drain.conf_plan import back_props, limits_exceeded, outside_props, plan_props, unknown_props
from slinky_iac.drain.conf_steps import held_by
from slinky_iac.drain.preview import BUDGET_S
from slinky_iac.drain.session import Session, open_session
from slinky_iac.errors import SlinkyError

Props = dict[str, Any]


def slurm_conf(settings: ConfSettings, olds: Mapping[str, Any]) -> tuple[Props, tuple[str, ...]]:
    """The plan, and what must stop the preview. ``olds`` are the state's inputs; without any, the Controller is asked."""
    with open_session(settings.reach, settings.urn, budget_s=BUDGET_S) as session:
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
    try:
        seen = conf_run.look(session, settings)
    except SlinkyError as error:
        more = "The update will ask again and stop if it gets no answer"
        session.report(f"the plan is not known: {error} {more}", severity="warning")
        return unknown_props(going, str(error)), ()
    goal = conf_run.goal_of(settings, going, seen.now)
    if settings.outside:
        return outside_props(seen, goal), ()
    return plan_props(seen, goal), limits_exceeded(held_by(seen, goal), settings.policy.limits, seen.now)


def _given_back(session: Session, settings: ConfSettings, kept: Props) -> Props:
    try:
        held = conf_held.read(session, settings.controller)
    except SlinkyError as error:
        session.report(f"whether something is still closed for slurm.conf is not known: {error}", severity="warning")
        return kept
    partitions, hosts = settings.lines.partitions.keys() & held.partitions.keys(), set(settings.lines.hosts) & {*held.hosts}
    return back_props(partitions, hosts) if partitions or hosts else kept
