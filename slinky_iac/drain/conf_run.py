"""The gates around slurm.conf at work: look, carry out one step, look again; and give back what was closed for nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from slinky_iac import closing
from slinky_iac.drain import conf_held
from slinky_iac.drain.conf_held import Held
from slinky_iac.drain.conf_lines import ConfLines, ConfSettings, Leaving, leaving, read_lines
from slinky_iac.drain.conf_plan import limits_exceeded
from slinky_iac.drain.conf_steps import (
    CLOSED,
    REMEMBER_S,
    TAKES_NONE,
    Act,
    Await,
    Clear,
    ConfGoal,
    ConfLook,
    ConfStep,
    DrainHosts,
    GiveUp,
    SetStates,
    held_by,
    lines,
    next_step,
)
from slinky_iac.drain.observe import node_view, queued
from slinky_iac.drain.session import Session
from slinky_iac.drain.text import iso
from slinky_iac.drain.view import ClusterView
from slinky_iac.errors import (
    DrainBlocked,
    DrainDeadline,
    KubeError,
    KubeNotFound,
    SlurmrestAuthError,
    SlurmrestError,
    SlurmrestGarbage,
    SlurmrestRefused,
    SlurmrestUnreachable,
    SlurmrestVersionError,
)
from slinky_iac.names import drain_owner
from slinky_iac.slurmrest.bulk import BulkResult, Outcome
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.controller import JobActionResult
from slinky_iac.slurmrest.versions import PARTITIONS_SINCE

POLL_S: Final = 5
"""Shortest time between two looks: each asks for all jobs."""
IDLE: Final = 4.0
"""So many times the length of a look slurmrestd is left alone after it: 20,000 job records take it half a minute."""


def look(session: Session, settings: ConfSettings) -> ConfLook:
    """One look, with users' names as the settings say."""
    return _look(session, settings.policy.hide_by(settings.owner.stack))


def _look(session: Session, hide: str) -> ConfLook:
    """One look. Partitions are asked for before jobs, so that a job that came in before a partition closed is seen."""
    client = session.slurm
    states = _partition_states(client)
    nodes = client.nodes(allow_none=True)
    if nodes is None:
        raise SlurmrestGarbage("nodes: 304 without having been asked for changes")
    jobs = tuple(queued(job, hide) for job in client.jobs_after(nodes.answered).jobs)
    return ConfLook(
        now=session.now(),
        partitions=states,
        cluster=ClusterView.of((node_view(node) for node in nodes.nodes), (each.job for each in jobs)),
        jobs=jobs,
        can_close=client.version() == PARTITIONS_SINCE,
    )


def live_lines(session: Session, settings: ConfSettings) -> ConfLines:
    """What the Controller that is there was given; no line where there is none."""
    try:
        return read_lines(session.kube.controller(session.reach.namespace, settings.controller).extra_conf)
    except KubeNotFound:
        return ConfLines()


def goal_of(settings: ConfSettings, going: Leaving, now: int) -> ConfGoal:
    """What a run that begins now wants."""
    where = f"kubectl exec -n {settings.reach.namespace} {settings.controller}-controller-0 -c slurmctld --"
    return ConfGoal(settings.owner, going, settings.policy, now + settings.policy.deadline_s, by_hand=where)


def settle(session: Session, settings: ConfSettings, olds: ConfLines) -> None:
    """Empty what the new lines leave out, so that slurmctld may lose it; give back what was closed and stays after all.

    Raises DrainBlocked or DrainDeadline where it can't go yet, and what the clients raise.
    """
    going = leaving(olds, settings.lines)
    if settings.outside:
        _tell_admin(session, settings, going)
        return
    give_back(session, settings, going)
    if going:
        _empty(session, settings, goal_of(settings, going, session.now()))
    if going.changed:
        held = conf_held.read(session, settings.controller)
        conf_held.write(session, settings.controller, replace(held, began=session.slurm.slurmctld_began()))


def _tell_admin(session: Session, settings: ConfSettings, going: Leaving) -> None:
    """An outside slurm.conf is its admin's: say what leaves it, with how many jobs, and the steps that lose none."""
    if not going:
        return
    jobs: int | None = None
    try:
        seen = look(session, settings)
        jobs = len(held_by(seen, goal_of(settings, going, seen.now)))
    except (SlurmrestError, KubeError) as error:
        session.report(str(error))
    said = closing.losing(going.partitions, going.nodes, jobs)
    session.report(f"{said}. Its admin's steps:\n{indented(going)}", severity="warning", keep=True)


def indented(going: Leaving) -> str:
    """The admin's steps, a line each."""
    return "\n".join(f"  {step}" for step in closing.closing_steps(going.partitions, going.nodes))


def partition_holds(session: Session, controller: str, name: str, hide: str = "", *, waiting_only: bool = False) -> str:
    """Why a partition can't go yet; empty where no job names it. Closes one that is open, and writes that down first.

    For the gate of a NodeSet with slurmctld in Kubernetes: its own partition goes with it, and any restart or
    reconfiguration since the turn of :func:`settle` has opened it again. Slurmrestd before 26.05 can't close it; then its
    jobs alone decide. ``hide``: of :meth:`DrainPolicy.hide_by`. ``waiting_only``: what runs doesn't count yet. Raises what
    the client raises.
    """
    seen = _look(session, hide)
    states = seen.partitions.get(name)
    if states is not None and not states & TAKES_NONE:
        if seen.can_close:
            before = "DOWN" if "DOWN" in states else "UP"
            conf_held.remember(session, controller, name, before)
            session.slurm.set_partition_state(name, CLOSED[before])
            return f"partition {name} was open, and is closed now"
        session.report(f"partition {name} is open, and slurmrestd before 26.05 can't close it", severity="warning")
    going = Leaving((name,))
    holding = [each for each in seen.jobs if each.lost_with([name]) and (each.waits or not waiting_only)]
    return "; ".join(lines(holding, going))


def _partition_states(client: SlurmrestClient) -> dict[str, frozenset[str]]:
    return {each.name: each.partition.state for each in client.partitions()}


def reopen(session: Session, controller: str, name: str) -> None:
    """Open a NodeSet's own partition where the gate of its predecessor closed it.

    For a NodeSet that is replaced: slurmctld may never have read a file without the partition, and then keeps its state.
    """
    before = conf_held.read(session, controller).partitions.get(name)
    if before is None:
        return
    if CLOSED.get(before, "") in _partition_states(session.slurm).get(name, frozenset()):
        session.slurm.set_partition_state(name, before)
        session.report(f"partition {name} is {before} again", keep=True)
    conf_held.remember(session, controller, name, None)


def finish(session: Session, settings: ConfSettings) -> None:
    """Before slurmctld ends for good: no job waits any more, and none runs on bare metal. Partitions take no new ones.

    Where the Controller is gone there is nothing to lose. Raises as :func:`settle` does.
    """
    try:
        session.kube.controller(session.reach.namespace, settings.controller)
    except KubeNotFound:
        return
    if settings.keeps_queue:
        _tell_kept(session, settings)
        return
    partitions, hosts = tuple(sorted(settings.lines.partitions)), tuple(sorted(settings.lines.hosts))
    goal = replace(goal_of(settings, Leaving(partitions, hosts), session.now()), all_waiting=True)
    _empty(session, settings, goal)


def _tell_kept(session: Session, settings: ConfSettings) -> None:
    """Say what a destroy leaves behind: slurmctld's volume keeps its queue, and slurmd on metal its jobs."""
    try:
        seen = look(session, settings)
    except (SlurmrestError, KubeNotFound) as error:
        session.report(f"the queue is not known: {error}", severity="warning", keep=True)
        return
    all_of = Leaving(hosts=tuple(sorted(settings.lines.hosts)))
    goal = replace(goal_of(settings, all_of, seen.now), all_waiting=True)
    if holding := held_by(seen, goal):
        session.report(
            f"slurmctld's volume keeps the queue, and jobs on bare metal run on: {'; '.join(lines(holding, all_of))}. They"
            " are lost where the volume or its namespace is deleted too",
            severity="warning",
            keep=True,
        )


def give_back(session: Session, settings: ConfSettings, going: Leaving) -> None:
    """Open partitions and return hosts that an earlier run took and that stay now; forget those that are gone."""
    held = conf_held.read(session, settings.controller)
    if not held:
        return
    news = settings.lines
    opens = {name: state for name, state in held.partitions.items() if name in news.partitions.keys() - {*going.partitions}}
    returns = tuple(host for host in held.hosts if host in news.hosts.keys() - {*going.nodes})
    seen = look(session, settings)
    restore(session, settings, Held(opens, returns), seen)
    left = {
        name: state
        for name, state in held.partitions.items()
        if name not in opens and (name in seen.partitions or name in going.partitions)
    }
    hosts = tuple(h for h in held.hosts if h not in returns and (h in seen.cluster.nodes or h in going.nodes))
    conf_held.write(session, settings.controller, Held(left, hosts, held.began))


def restore(session: Session, settings: ConfSettings, held: Held, seen: ConfLook) -> None:
    """Set partitions to the states that they had, where ours still stand, and undrain hosts that carry our reason."""
    for name, before in sorted(held.partitions.items()):
        if CLOSED.get(before, "") in seen.partitions.get(name, frozenset()):
            session.slurm.set_partition_state(name, before)
            session.report(f"partition {name} is {before} again", keep=True)
    if held.hosts:
        owner = drain_owner(settings.owner.stack, settings.owner.nodeset)
        _accepted(session.slurm.undrain(held.hosts, owners=[owner]), "undrain")


def _empty(session: Session, settings: ConfSettings, goal: ConfGoal) -> None:
    judged = bool(conf_held.read(session, settings.controller))  # a run that goes on was judged when it began
    while True:
        asked = session.steady()
        step, seen = _next(session, settings, goal)
        pause = min(IDLE * (session.steady() - asked), max(goal.deadline_at - session.now(), 0))
        if seen is not None and not judged:
            _judge(settings, goal, seen)
            judged = True
        match step:
            case Clear(remembered):
                _tell_remembered(session, remembered)
                return
            case GiveUp(why, cause, undo):
                if undo and seen is not None:
                    give_back_all(session, settings, seen)
                raise (DrainDeadline if cause == "deadline" else DrainBlocked)(f"{settings.owner.text}: {why}")
            case SetStates() | DrainHosts():
                _take_or_wait(session, settings, goal, step)
            case Await() | Act():
                goal = _carry_out(session, settings, goal, step)
                _rest(session, settings, pause)


def _judge(settings: ConfSettings, goal: ConfGoal, seen: ConfLook) -> None:
    if over := limits_exceeded(held_by(seen, goal), settings.policy.limits, seen.now):
        raise DrainBlocked(f"{settings.owner.text}: {'; '.join(over)}. Nothing was changed")


def _carry_out(session: Session, settings: ConfSettings, goal: ConfGoal, step: Await | Act) -> ConfGoal:
    """What a wait says, or what the policy does to jobs; returns the goal with what this run has done so far."""
    match step:
        case Await(why, remembering):
            session.report(why)
            begins = remembering and goal.forget_at is None
            return replace(goal, forget_at=session.now() + REMEMBER_S) if begins else goal
        case Act(what, jobs):
            _act_on_jobs(session, settings, what, jobs)
            return replace(goal, signalled_at=session.now()) if what == "signal" else goal


def _next(session: Session, settings: ConfSettings, goal: ConfGoal) -> tuple[ConfStep, ConfLook | None]:
    """The next step; while slurmrestd is silent, to wait until the deadline."""
    try:
        seen = look(session, settings)
        return next_step(seen, goal), seen
    except (SlurmrestAuthError, SlurmrestVersionError):
        raise
    except SlurmrestError as error:
        if session.now() < goal.deadline_at:
            return Await(f"no answer, so nothing may be concluded: {error}"), None
        why = f"the deadline ({iso(goal.deadline_at)}) is over without an answer: {error} slurm.conf is as it was"
        return GiveUp(why, cause="deadline"), None


def give_back_all(session: Session, settings: ConfSettings, seen: ConfLook) -> None:
    """Undo: all that this stack closed and drained for slurm.conf."""
    restore(session, settings, conf_held.read(session, settings.controller), seen)
    conf_held.write(session, settings.controller, Held())


def _take_or_wait(session: Session, settings: ConfSettings, goal: ConfGoal, step: SetStates | DrainHosts) -> None:
    """Take it; where slurmrestd doesn't answer, it may be done or not, and the next look tells."""
    try:
        _take(session, settings, step)
    except SlurmrestUnreachable as error:
        if session.now() >= goal.deadline_at:
            raise
        session.report(str(error))
        _rest(session, settings)


def _take(session: Session, settings: ConfSettings, step: SetStates | DrainHosts) -> None:
    """Close partitions or drain hosts: written down first, so that a run after a crash knows them for ours."""
    held = conf_held.read(session, settings.controller)
    match step:
        case SetStates(states, before):
            conf_held.write(session, settings.controller, replace(held, partitions={**before, **held.partitions}))
            for name, state in states.items():
                session.slurm.set_partition_state(name, state)
                session.report(f"partition {name} is {state}: it takes no new job, and is emptied", keep=True)
        case DrainHosts(hosts):
            taken = tuple(sorted({*held.hosts, *hosts}))
            conf_held.write(session, settings.controller, replace(held, hosts=taken))
            _accepted(session.slurm.drain(hosts, settings.owner.reason("slurm.conf changes")), "drain")


def _act_on_jobs(session: Session, settings: ConfSettings, what: str, jobs: tuple[int | str, ...]) -> None:
    words: Iterable[JobActionResult]
    if what == "requeue":
        words = session.slurm.requeue_jobs(jobs)
    elif what == "signal":
        words = session.slurm.cancel_jobs(jobs, settings.policy.signal)
    else:
        words = session.slurm.cancel_jobs(jobs)
    for word in words:
        if not word.done and not word.gone:
            said = word.text or "Slurm says no more"
            session.report(f"job {word.job}: {what} was refused: {said}", severity="warning", keep=True)


def _rest(session: Session, settings: ConfSettings, least: float = 0.0) -> None:
    """Wait for the next look, ``least`` seconds or more. Raises DrainBlocked where there must be none: Ctrl-C, or an engine
    that is gone."""
    stays = "What was closed or drained stays so, slurm.conf is as it was, and `pulumi up` goes on"
    if session.pause(max(settings.policy.poll_s, POLL_S, least)):
        raise DrainBlocked(f"{settings.owner.text}: interrupted. {stays}")
    if not session.engine_lives():
        raise DrainBlocked(f"{settings.owner.text}: the engine that began this is gone. {stays}")


def _tell_remembered(session: Session, remembered: int) -> None:
    if remembered:
        session.report(
            f"slurmctld still remembers {remembered} ended job(s) of what leaves slurm.conf: it may crash, and come up"
            " again, until it has forgotten them (MinJobAge)",
            severity="warning",
            keep=True,
        )


def _accepted(result: BulkResult, what: str) -> None:
    refused = [each for each in result.results if each.outcome is Outcome.REFUSED]
    if refused:
        numbers = [error.error_number for error in result.errors if isinstance(error, SlurmrestRefused)]
        raise SlurmrestRefused(
            f"Slurm refuses to {what} {', '.join(each.name for each in refused[:8])}: {refused[0].why}",
            error_number=numbers[0] if numbers else 0,
        )
