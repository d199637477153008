"""What a preview adds to the gates' inputs: a plan, made from one look, with absolute times so that it doesn't flicker.

A preview may be asked where nothing answers (a laptop without VPN, a cluster that is being repaired). Then the plan says
that it doesn't know, and the update, which needs to know, will ask again and stop if it still can't.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from slinky_iac.drain import maintenance, scale
from slinky_iac.drain.describe import plan_props, unknown_props
from slinky_iac.drain.observation import Observation
from slinky_iac.drain.plan import ScaleInPlan, plan_scale_in
from slinky_iac.drain.session import Session, open_session
from slinky_iac.drain.settings import GateSettings, OutsideSettings
from slinky_iac.drain.undo import begun, undo_steps
from slinky_iac.errors import SlinkyError

BUDGET_S: Final = 20.0
"""Seconds that one question of a preview may take: a preview is looked at by somebody who waits."""

TAKEN_OVER: Final = (
    "{name} has {live} replicas, by an autoscaler that set them until now, and the engine doesn't know that number: add"
    " --refresh, else nodes are drained and the number is not lowered"
)
Props = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """The plan for the gate's inputs, and what must stop the preview."""

    plan: Props
    failures: tuple[str, ...] = ()


def scale_in(settings: GateSettings, olds: Mapping[str, Any]) -> Seen:
    """The plan of a ScaleInGate.

    An unchanged number keeps the plan that the state has, so that a second preview is empty; unless something of ours is
    left of a run that was cut short, which the next update gives back.
    """
    if "replicas" not in olds:
        return Seen({})
    kept = Seen(dict(olds.get("plan") or {}))
    with open_session(settings.reach, settings.urn, budget_s=BUDGET_S) as session:
        try:
            seen = session.observe(settings)
        except SlinkyError as error:
            return _unanswered(session, settings, olds, kept, str(error))
        lowered = seen.nodeset is not None and settings.ceiling < seen.nodeset.replicas
        if seen.nodeset is not None and seen.cluster is None and not lowered:
            _not_asked(session, seen.problem)
    if seen.nodeset is None or (seen.cluster is None and not lowered):
        return kept
    if lowered:
        return _planned(settings, seen, session, olds)
    leftovers = undo_steps(seen, settings.owner)
    if leftovers and len(seen.pods) <= settings.ceiling:
        nodes = sorted({pod.node for pod in seen.pods if pod.gate} | _our_nodes(settings, seen))
        return Seen({"gives_back": nodes, "why": "an earlier run was cut short; its drains and marks are taken back"})
    return kept


def _planned(settings: GateSettings, seen: Observation, session: Session, olds: Mapping[str, Any]) -> Seen:
    state = seen.nodeset
    if state is None:
        return Seen({})
    # A check is given old inputs, and a refresh changes outputs only: whether the engine knows is not known here.
    if settings.unchanged_since(olds) and not begun(seen, settings.owner):
        session.report(scale.by_hand(settings, state.replicas), severity="warning", keep=True)
    if settings.scaler == "stack" and olds.get("owner") == "autoscaler":
        session.report(TAKEN_OVER.format(name=settings.resource, live=state.replicas), severity="warning", keep=True)
    plan = plan_scale_in(
        seen.pods,
        seen.cluster,
        state,
        settings.ceiling,
        settings.policy,
        now=seen.now,
        version=settings.version,
        owner=settings.owner,
        problem=seen.problem,
    )
    return Seen(plan_props(plan), limits_exceeded(plan))


def limits_exceeded(plan: ScaleInPlan) -> tuple[str, ...]:
    """Blocks that end a preview: limits that the site has set. Other blocks may be gone by the time of the update."""
    return tuple(block.text for block in plan.blocks if block.code.startswith("limit-"))


def _unanswered(session: Session, settings: GateSettings, olds: Mapping[str, Any], kept: Seen, why: str) -> Seen:
    before = int(olds.get("maxReplicas") or 0) if settings.scaler == "autoscaler" else int(olds["replicas"])
    if before <= settings.ceiling:
        _not_asked(session, why)
        return kept
    session.report(
        f"the plan is not known: {why} The update will ask again and stop if it gets no answer", severity="warning"
    )
    return Seen(unknown_props(settings.owner.nodeset, before, settings.ceiling, why))


def _not_asked(session: Session, why: str) -> None:
    end = "No node is given up here; where one is, the update stops"
    session.report(f"got no answer: {why.rstrip('.')}. {end}", severity="warning")


def _our_nodes(settings: GateSettings, seen: Observation) -> set[str]:
    nodes = seen.cluster.nodes.values() if seen.cluster is not None else ()
    return {node.name for node in nodes if settings.owner.owns(node.reason)}


def outside_hosts(settings: OutsideSettings, olds: Mapping[str, Any]) -> Props:
    """The plan of the gate of the bare-metal hosts: what is drained and returned, and whose jobs are waited for."""
    kept: Props = dict(olds.get("plan") or {})
    if not settings.held and not olds:
        return {}
    with open_session(settings.reach, settings.urn, budget_s=BUDGET_S) as session:
        try:
            return maintenance.plan(session, settings) or kept
        except SlinkyError as error:
            session.report(f"the plan for bare-metal hosts is not known: {error}", severity="warning")
            return kept
