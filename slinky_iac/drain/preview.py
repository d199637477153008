"""What a preview adds to the gates' inputs: a plan, made from one look, with absolute times so that it doesn't flicker.

A preview may be run where Kubernetes or slurmrestd is unreachable (a laptop without VPN, a cluster under repair). Then the
plan says that it is unknown, and the update, which needs to know, asks again and stops if it still gets no answer.

The engine calls ``update`` only where an input differs from the state. Where there is work to do though the configuration is
the same as before, the input ``due`` says which, and is that difference: replicas that somebody changed, a drain of ours
left on a node that stays, or a look that got no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from slinky_iac import names
from slinky_iac.cluster.partition_closing import closing_steps, losing
from slinky_iac.drain import conf_run, conf_steps, daemons, maintenance, selection_plan
from slinky_iac.drain.closed import Record
from slinky_iac.drain.conf_steps import ConfGoal, ConfLook, ConfSettings
from slinky_iac.drain.conf_text import kept_back, leaving
from slinky_iac.drain.free import named_in_words, names_in_use
from slinky_iac.drain.losses import Change, losers
from slinky_iac.drain.members import told_of_fit, undo_steps
from slinky_iac.drain.observe import PREVIEW_S, conf_look
from slinky_iac.drain.plan import Seen, frozen, plan_scale_in, unknown_plan, waited_for
from slinky_iac.drain.protocol import Observation, Stop
from slinky_iac.drain.rollout import plan_rollout, refusals
from slinky_iac.drain.session import Session, open_session
from slinky_iac.drain.settings import GateSettings, OutsideSettings
from slinky_iac.drain.written_plan import SCHEMA, Plan, Raises
from slinky_iac.errors import SlinkyError
from slinky_iac.kube.objects import NodeSet
from slinky_iac.parts import writers

Opened = Callable[..., AbstractContextManager[Session]]


def nodeset_scale(settings: GateSettings, olds: Mapping[str, Any], opened: Opened = open_session) -> Seen:
    """The plan of a NodeSetScale."""
    first = "replicas" not in olds
    budget_s, tries = _budget(first=first)
    with opened(settings.reach, settings.urn, budget_s=budget_s, tries=tries) as session:
        try:
            seen = session.observe(settings, queue=True)
        except SlinkyError as error:
            if not first:
                return _unanswered(session, settings, olds, str(error))
            why = f"it is unknown whether {settings.resource} exists already, with jobs: {error}"
            session.report(why, severity="warning", keep=True)
            return Seen(unknown_plan(settings.owner.nodeset, settings.target, settings.target, why).written)
        return _first(session, settings, seen) if first else _of_look(session, settings, olds, seen)


def _budget(*, first: bool) -> tuple[float, int]:
    """Seconds for a question, and tries: a first preview may come before there is a Kubernetes to ask."""
    return (5.0, 1) if first else (PREVIEW_S, 4)


def _of_look(session: Session, settings: GateSettings, olds: Mapping[str, Any], seen: Observation) -> Seen:
    """The same from a look; the session is open, since other writers of the number are asked about too."""
    if seen.nodeset is None:
        why = f"there is no NodeSet {settings.resource} in Kubernetes; `pulumi up --refresh` makes it again"
        return Seen(due=why)
    for text in frozen(seen.nodeset):
        session.report(text, severity="warning", keep=True)
    for text in told_of_fit(seen, settings) if seen.pods and settings.selection is not None else ():
        session.report(text, severity="warning", keep=True)
    if selection_plan.changes_mode(settings, olds):
        preview = selection_plan.plan_of_mode(settings, olds, seen, seen.nodeset)
        session.report(preview.due, severity="warning", keep=True)
        return preview
    if settings.selection is not None and settings.selection != daemons.live_selection(seen):
        preview = selection_plan.plan_of_selection(settings, seen, seen.nodeset, settings.selection)
        if seen.cluster is None:
            preview = _unanswered(session, settings, olds, seen.problem, preview.plan)
    elif settings.selection is None and settings.target < seen.nodeset.spec.replicas:
        preview = _planned(settings, seen, seen.nodeset)
    elif seen.cluster is None:
        preview = _unanswered(session, settings, olds, seen.problem)
    else:
        preview = _without_drain(settings, seen, seen.nodeset.spec.replicas)
        _tell_names_in_use(session, settings, seen)
    return _with_rollout(settings, seen, olds, writers.previewed(session, settings, seen, preview))


def _with_rollout(settings: GateSettings, seen: Observation, olds: Mapping[str, Any], preview: Seen) -> Seen:
    """The same, and the pods of an earlier template that the update replaces after it."""
    refused = refusals(settings, seen, olds)
    if refused:
        return Seen(preview.plan, refused)
    fresh = preview.plan if preview.plan is not None and preview.plan.props != olds.get("plan") else Plan()
    going = {node.pod for node in fresh.nodes or ()}
    rolled = plan_rollout(settings, seen, olds, going)
    if rolled is None:
        return preview
    return Seen(fresh.completed(rolled.plan), (*preview.failures, *rolled.failures), preview.due).because(rolled.due)


def _first(session: Session, settings: GateSettings, seen: Observation) -> Seen:
    """The plan of a creation. A NodeSet may be there all the same: of a state that was lost, or made by hand."""
    wanted = settings.selection
    if seen.nodeset is not None and wanted is not None and seen.pods and wanted != daemons.live_selection(seen):
        return selection_plan.plan_of_selection(settings, seen, seen.nodeset, wanted)
    if wanted is not None:
        for text in selection_plan.told_first(session, settings, seen, wanted) if not seen.pods else ():
            session.report(text, severity="warning", keep=True)
        return Seen()
    if seen.nodeset is None or seen.nodeset.spec.replicas <= settings.target:
        _tell_names_in_use(session, settings, seen)
        return Seen()
    return _planned(settings, seen, seen.nodeset)


def _planned(settings: GateSettings, seen: Observation, state: NodeSet) -> Seen:
    plan = plan_scale_in(seen, state, settings.target, settings.policy, settings.owner)
    due = f"{state.name} has {state.spec.replicas} replicas and {settings.target} are asked for"
    # A number over an autoscaler's maximum stays until the autoscaler has lowered it: that alone isn't a difference.
    # Limits that the site has set end a preview. Other blocks may be gone by the time of the update.
    return Seen(plan.written, plan.over, due if settings.by_stack else "")


def _without_drain(settings: GateSettings, seen: Observation, current: int) -> Seen:
    """What an update does that selects no node for removal: raise the number, give back what an earlier run left."""
    plan = Plan()
    due: list[str] = []
    if settings.by_stack and current < settings.replicas:
        plan = Plan(raises=Raises(current=current, target=settings.replicas))
        due.append(f"{settings.resource} has {current} replicas and {settings.replicas} are asked for")
    replaced = seen.outdated if settings.rolls else frozenset()
    records = seen.cluster.nodes.values() if seen.cluster is not None else ()
    ours = {pod.slurm_node for pod in seen.pods if pod.gate} | {n.name for n in records if settings.owner.owns(n.reason)}
    nodes = sorted(ours - {pod.slurm_node for pod in seen.pods if pod.name in replaced})
    settled = len(seen.pods) <= settings.target if settings.selection is None else not daemons.removed(seen)
    if nodes and settled and undo_steps(seen, settings.owner):
        plan = Plan(gives_back=tuple(nodes), why="an earlier run did not end; its drains and marks are removed").completed(
            plan
        )
        due.append(f"drains or marks of an earlier run are on {', '.join(nodes)}")
    back = sorted(pod.slurm_node for pod in seen.pods if pod.name in seen.cordoned)
    if back:
        why = "the autoscaler raised its number again before these nodes were removed"
        if settings.selection is not None:
            why = "their Kubernetes nodes fit again, or still"
        gives_back = tuple(sorted({*(plan.gives_back or ()), *back}))
        plan = Plan(gives_back=gives_back).completed(plan).completed(Plan(why=why))
        said = "slurm-operator keeps {} drained, though no pod is selected for removal now; the update returns {} to service"
        due.append(said.format(", ".join(back), "it" if len(back) == 1 else "them"))
    return Seen(plan, due="; ".join(due)) if due else Seen()


def _tell_names_in_use(session: Session, settings: GateSettings, seen: Observation) -> None:
    ours = settings.selection is None and settings.by_stack
    if used := names_in_use(seen, settings.owner, settings.replicas) if ours else "":
        said = f"{used}. The update waits until the name is free, and ends with an error where it is not"
        session.report(said, severity="warning")


def _unanswered(
    session: Session, settings: GateSettings, olds: Mapping[str, Any], why: str, plan: Plan | None = None
) -> Seen:
    current = int(olds["replicas"]) if settings.by_stack else int(olds.get("maxReplicas") or 0)
    said = f"the plan is not known: {why.rstrip('.')}. The update asks again, and fails if it gets no answer"
    session.report(said, severity="warning")
    if current > settings.target:
        plan = unknown_plan(settings.owner.nodeset, current, settings.target, why).written
    return Seen(plan, due=f"{names.UNASKED}{why}")


def outside_hosts(settings: OutsideSettings, olds: Mapping[str, Any]) -> Seen:
    """The plan of the gate of the bare-metal hosts: what is drained and returned, and whose jobs are waited for."""
    if not settings.held and not olds:
        return Seen()
    with open_session(settings.reach, settings.urn, budget_s=PREVIEW_S) as session:
        try:
            return Seen(maintenance.plan(session, settings))
        except SlinkyError as error:
            session.report(f"the plan for bare-metal hosts is not known: {error}", severity="warning")
            return Seen()


def slurm_conf(settings: ConfSettings, olds: Mapping[str, Any]) -> Seen:
    """The plan of the Controller's gate. ``olds`` are the state's inputs."""
    budget_s, tries = _budget(first=not olds.get("schema"))
    with open_session(settings.reach, settings.urn, budget_s=budget_s, tries=tries) as session:
        return conf_planned(session, settings, olds)


def conf_planned(session: Session, settings: ConfSettings, olds: Mapping[str, Any]) -> Seen:
    """The same, with a session. The live Controller tells what leaves, for a state is a memory: an update may have
    ended half way, and somebody may have written the Controller since.

    While nothing leaves, there is no plan, unless an earlier run left something closed, which the next update gives back.
    """
    first = not olds.get("schema")
    if settings.outside:
        return Seen(None if first else _outside_planned(session, settings, olds))
    try:
        live = conf_run.live_look(session, settings)
    except SlinkyError as error:
        session.report(f"no answer, so what slurm.conf loses is not known: {error}", severity="warning")
        return Seen(due="" if first else f"not known: {error}")
    if live.controller is None:
        return Seen()
    if why := conf_steps.strange(live, settings.text):
        return Seen(failures=(why,))
    going = leaving(live.lines, settings.lines)
    goal = conf_run.goal_of(settings, going, live.now)
    try:
        seen = conf_run.slurms_look(session, settings, live, goal)
    except SlinkyError as error:
        seen = replace(live, asked=True, problem=str(error))
    due = "" if first or seen.fitting(settings.text) == live.text else "the Controller's extraConf is not as asked for"
    if not seen.asked:
        return Seen(_given_back(session, settings), due=due)
    if seen.problem:
        more = "The update will ask again and stop if it gets no answer"
        session.report(f"the plan is not known: {seen.problem} {more}", severity="warning")
    return Seen(conf_plan(seen, goal), conf_steps.limits_exceeded(seen, goal), due)


def _outside_planned(session: Session, settings: ConfSettings, olds: Mapping[str, Any]) -> Plan | None:
    """The plan where an admin writes slurm.conf: nothing is closed and nothing waits, so the plan has the steps."""
    going = leaving(conf_steps.lines_of(olds), settings.lines)
    if not going:
        return None
    try:
        seen = conf_look(session, settings)
    except SlinkyError as error:
        session.report(f"the plan is not known: {error}", severity="warning")
        seen = ConfLook(session.now(), problem=str(error))
    plan = conf_plan(seen, conf_run.goal_of(settings, going, seen.now))
    if seen.problem:
        return plan
    said = losing(sorted(going.partitions), going.hosts, plan.jobs_total or 0)
    warnings = (f"{said}: its admin closes and empties it before its line goes", *(plan.warnings or ()))
    steps = tuple(closing_steps(sorted(going.partitions), going.hosts))
    return Plan(outside=True, blocks=(), warnings=warnings, steps=steps).completed(plan)


def _given_back(session: Session, settings: ConfSettings) -> Plan | None:
    try:
        held = Record(session, settings).held()
    except SlinkyError as error:
        left = "an earlier run may have left partitions closed or hosts drained for a change of slurm.conf"
        session.report(f"{left}; whether it did is unknown: {error}", severity="warning")
        return None
    partitions = settings.lines.partitions.keys() & held.partitions.keys()
    hosts = settings.lines.hosts.keys() & {host for host, stack in held.hosts.items() if stack}
    given_back = (*(f"partition {name}" for name in sorted(partitions)), *sorted(hosts))
    why = "an earlier run closed or drained these before a change of slurm.conf that was withdrawn"
    return Plan(schema=SCHEMA, gives_back=given_back, why=why) if given_back else None


def conf_plan(look: ConfLook, goal: ConfGoal) -> Plan:
    """What slurm.conf loses, and whose jobs that waits for."""
    going, holding = goal.leaving, [loss.job for loss in conf_steps.losses(look, goal)]
    step = conf_steps.next_step(look, goal)
    warnings = [*_warnings(look, going), *named_in_words(going.records, look.cluster, queue=True)]
    if goal.text is not None and not look.problem:
        warnings += kept_back(goal.text, look.fitting(goal.text))
    plan = Plan(
        schema=SCHEMA,
        partitions=tuple(sorted(going.partitions)),
        hosts=tuple(sorted(going.records)),
        changed=tuple(sorted(going.nodes)),
        known=not look.problem,
        blocks=(step.why,) if isinstance(step, Stop) and step.cause == "blocked" else (),
        warnings=(f"unknown, because there was no answer: {look.problem}",) if look.problem else tuple(warnings),
    )
    return waited_for(plan, holding)


def _warnings(look: ConfLook, going: Change) -> Iterable[str]:
    for name in sorted(going.partitions):
        states = look.partitions.get(name, frozenset())
        waiting = [job for job in losers(Change(partitions=frozenset([name])), look.cluster) if job.waits]
        if waiting and states & {"DOWN", conf_steps.CLOSED["DOWN"]}:
            yield (
                f"partition {name} is {'+'.join(sorted(states))} and starts no job: the {len(waiting)} that wait there"
                " will not leave it. Cancel them, move them (scontrol update jobid=… partition=…), or set it up"
            )
