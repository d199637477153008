"""The gates around slurm.conf at work: empty what leaves it, give back what was closed for nothing, await what it says.
What is closed or drained is written down first (:class:`slinky_iac.closing.Held`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Final

from slinky_iac import closing
from slinky_iac.closing import ENTRY, Held, place
from slinky_iac.drain import conf_steps
from slinky_iac.drain.conf_steps import ConfGoal, ConfLines, ConfLook, ConfSettings, Leaving
from slinky_iac.drain.driver import Task, drive
from slinky_iac.drain.observe import LASTING, Met, conf_look, partition_states, prove
from slinky_iac.drain.protocol import ClosePartitions, Done, Drain, Signal, Step, Stop, Undrain, Wait
from slinky_iac.drain.session import Session, act_on_slurm
from slinky_iac.drain.settings import Owner, Settings
from slinky_iac.errors import (
    KubeError,
    KubeNotFound,
    SlurmrestError,
    SlurmrestGarbage,
    SlurmrestRefused,
    SlurmrestUnreachable,
)

_ONE_AT_A_TIME: Final = Lock()
"""The gates of several NodeSets run in one process, and each writes down its own partition."""


def held_of(session: Session, controller: str) -> Held:
    """What is held; nothing where there is no ConfigMap. Raises what Kubernetes raises."""
    try:
        data = session.kube.config_map_data(session.reach.namespace, place(controller))
    except KubeNotFound:
        return Held()
    return Held.read(data.get(ENTRY, ""))


def hold(session: Session, controller: str, held: Held) -> None:
    """Remember ``held``; the ConfigMap goes where there is nothing to remember."""
    namespace, name = session.reach.namespace, place(controller)
    if held:
        session.kube.set_config_map(namespace, name, {ENTRY: held.text()})
    else:
        with suppress(KubeNotFound):
            session.kube.set_config_map(namespace, name, None)


def remember(session: Session, controller: str, partition: str, before: str | None) -> None:
    """Add one partition with the state that it had, unless it is held already; None forgets it."""
    with _ONE_AT_A_TIME:
        held = held_of(session, controller)
        others = {name: state for name, state in held.partitions.items() if name != partition}
        was = held.partitions.get(partition, before)
        wanted = others if before is None or was is None else {**others, partition: was}
        if wanted != held.partitions:
            hold(session, controller, replace(held, partitions=wanted))


def reopen(session: Session, controller: str, name: str) -> None:
    """Open a NodeSet's own partition where the gate of its predecessor closed it.

    For a NodeSet that is replaced: slurmctld may never have read a file without the partition, and then keeps its state.
    """
    before = held_of(session, controller).partitions.get(name)
    if before is None:
        return
    _open(session, {name: before}, partition_states(session.slurm))
    remember(session, controller, name, None)


def restore(session: Session, owner: Owner, held: Held, states: Mapping[str, frozenset[str]]) -> None:
    """Set partitions to the states that they had, where ours still stand, and undrain hosts that carry our reason."""
    _open(session, held.partitions, states)
    if held.hosts:
        act_on_slurm(session.slurm, Undrain(held.hosts), owner, session.report)


def _open(session: Session, partitions: Mapping[str, str], states: Mapping[str, frozenset[str]]) -> None:
    for name, before in sorted(partitions.items()):
        if conf_steps.CLOSED.get(before, "") in states.get(name, frozenset()):
            session.slurm.set_partition_state(name, before)
            session.report(f"partition {name} is {before} again", keep=True)


POLL_S: Final = 5
"""Shortest time between two looks: each asks for all jobs."""


def live_lines(session: Session, settings: ConfSettings) -> ConfLines:
    """What the Controller that is there was given; no line where there is none."""
    try:
        return conf_steps.read_lines(session.kube.controller(session.reach.namespace, settings.controller).spec.extra_conf)
    except KubeNotFound:
        return ConfLines()


def goal_of(settings: ConfSettings, going: Leaving, now: int) -> ConfGoal:
    """What a run that begins now wants."""
    where = f"kubectl exec -n {settings.reach.namespace} {settings.controller}-controller-0 -c slurmctld --"
    return ConfGoal(settings.owner, going, settings.policy, now + settings.policy.deadline_s, by_hand=where)


class ConfTask(Task[ConfLook]):
    """Empty what leaves slurm.conf."""

    settings: ConfSettings
    doing = "emptying what leaves slurm.conf"
    acts_at_deadline = True
    idle = 4.0  # 20,000 job records take slurmrestd half a minute

    def __init__(self, session: Session, settings: ConfSettings, going: Leaving, *, all_waiting: bool = False) -> None:
        super().__init__(session, settings, settings.policy.deadline_s)
        begun = bool(held_of(session, settings.controller))  # a run that continues was judged when it began
        self._goal = replace(goal_of(settings, going, session.now()), limited=not begun, all_waiting=all_waiting)
        self._last: ConfLook | None = None
        self.met = Met(settings.owner, anywhere=True, stands="slurm.conf is as it was: `pulumi up` continues.")

    @property
    def goal(self) -> ConfGoal:
        """What this run wants, with the deadline as it is now."""
        return replace(self._goal, deadline_at=self.deadline_at)

    @property
    def poll_s(self) -> float:
        return max(self.policy.poll_s, POLL_S)

    def look(self) -> ConfLook:
        """Slurm's passing silence is part of what is seen."""
        try:
            return conf_look(self.session, self.settings)
        except LASTING:
            raise
        except SlurmrestError as error:
            return ConfLook(self.session.now(), problem=str(error))

    def decide(self, seen: ConfLook) -> Step:
        return conf_steps.next_step(seen, self.goal)

    def check(self, seen: ConfLook, step: Step) -> Step:
        """Limits are judged by the first look that has an answer."""
        if not seen.problem:
            self._last, self._goal = seen, replace(self._goal, limited=False)
            self.met.wait_for((each for each in conf_steps.held_by(seen, self.goal)), seen.now)
        return step

    def act(self, step: Step) -> None:
        """What is closed or drained is written down first, so that a run after a crash knows it for ours."""
        session, controller = self.session, self.settings.controller
        match step:
            case ClosePartitions(states, before):
                held = held_of(session, controller)
                hold(session, controller, replace(held, partitions={**before, **held.partitions}))
                for name, state in states.items():
                    session.slurm.set_partition_state(name, state)
                    session.report(f"partition {name} is {state}: it takes no new job, and is emptied", keep=True)
                return
            case Drain(nodes):
                held = held_of(session, controller)
                hold(session, controller, replace(held, hosts=tuple(sorted({*held.hosts, *nodes}))))
        act_on_slurm(session.slurm, step, self.owner, lambda text: session.report(text, severity="warning", keep=True))

    def did(self, step: Step) -> None:
        """Note when jobs were signalled, and until when slurmctld has time to forget ended ones."""
        self.met.did(step)
        if isinstance(step, Signal):
            self._goal = replace(self._goal, signalled_at=self.session.now())
        if isinstance(step, conf_steps.WaitToForget) and self._goal.forget_at is None:
            self._goal = replace(self._goal, forget_at=self.session.now() + conf_steps.REMEMBER_S)

    def clock_was_set(self, jump: int) -> None:
        super().clock_was_set(jump)
        signalled, forget = (at and at + jump for at in (self._goal.signalled_at, self._goal.forget_at))
        self._goal = replace(self._goal, signalled_at=signalled, forget_at=forget)

    def ended(self, _seen: ConfLook) -> str:
        return f"no job needs what leaves slurm.conf: {conf_steps.leaving_in_words(self._goal.leaving)}"

    def undo(self) -> None:
        """All that this stack closed and drained for slurm.conf."""
        session, controller = self.session, self.settings.controller
        seen = self._last or conf_look(session, self.settings)
        restore(session, self.owner, held_of(session, controller), seen.partitions)
        hold(session, controller, Held())

    def stays(self) -> str:
        return "What was closed or drained stays so, slurm.conf is as it was, and `pulumi up` continues"


class ReadTask(Task[tuple[int | None, str]]):
    """Wait until slurmctld has begun with its new configuration: the moment of its beginning, or why that isn't known."""

    doing = "waiting for slurmctld to read its configuration"

    def __init__(self, session: Session, settings: ConfSettings, before: int | None, hosts: tuple[str, ...]) -> None:
        super().__init__(session, settings)
        self.before = before
        self.hosts = hosts

    def look(self) -> tuple[int | None, str]:
        """Ask slurmctld; a slurmctld that is starting doesn't answer."""
        try:
            return self.session.slurm.slurmctld_began(), ""
        except (SlurmrestUnreachable, SlurmrestGarbage, SlurmrestRefused) as error:
            return self.before, f": {error}"

    def decide(self, seen: tuple[int | None, str]) -> Step:
        began, why = seen
        if began is None:
            return Stop(
                f"slurmctld before 26.05 doesn't tell when it read its configuration. {self.stays()} once `scontrol show"
                f" node {self.hosts[0]}` shows the new line",
                "blocked",
            )
        if began != self.before:
            return Done()
        if self.session.now() >= self.deadline_at:
            limit = self.policy.register_deadline_s
            return Stop(
                f"slurmctld has not read its new configuration in {limit} s{why}. {self.stays()}, after a look at"
                " slurmctld's pod",
                "deadline",
            )
        shown = ", ".join(self.hosts)
        return Wait(f"waiting for slurmctld to read its new configuration, then {shown} go(es) back to work")

    def ended(self, _seen: tuple[int | None, str]) -> str:
        return "slurmctld has read its new configuration"

    def stays(self) -> str:
        return f"{', '.join(self.hosts)} stay(s) drained, and `pulumi up` returns them: run it again"


def _empty(task: ConfTask) -> None:
    ended = conf_steps.remembered(drive(task), task.goal)
    if ended:
        task.session.report(
            f"slurmctld still remembers {ended} ended job(s) of what leaves slurm.conf: it may crash, and come up again,"
            " until it has forgotten them (MinJobAge)",
            severity="warning",
            keep=True,
        )
    prove(task.session, task.settings, task.met)


def settle(session: Session, settings: ConfSettings, olds: ConfLines) -> None:
    """Empty what the new lines leave out, so that slurmctld may lose it; give back what was closed and stays after all.

    Raises DrainBlocked or DrainDeadline where it can't go yet, and what the clients raise.
    """
    going = conf_steps.leaving(olds, settings.lines)
    if settings.outside:
        _tell_admin(session, settings, going)
        return
    give_back(session, settings, going)
    if going:
        _empty(ConfTask(session, settings, going))
    if going.changed:
        held = held_of(session, settings.controller)
        hold(session, settings.controller, replace(held, began=session.slurm.slurmctld_began()))


def _tell_admin(session: Session, settings: ConfSettings, going: Leaving) -> None:
    """An outside slurm.conf is its admin's: say what leaves it, with how many jobs, and the steps that lose none."""
    if not going:
        return
    jobs: int | None = None
    try:
        seen = conf_look(session, settings)
        jobs = len(conf_steps.held_by(seen, goal_of(settings, going, seen.now)))
    except (SlurmrestError, KubeError) as error:
        session.report(str(error))
    said = closing.losing(going.partitions, going.nodes, jobs)
    steps = "\n".join(f"  {step}" for step in closing.closing_steps(going.partitions, going.nodes))
    session.report(f"{said}. Its admin's steps:\n{steps}", severity="warning", keep=True)


def partition_holds(session: Session, settings: Settings, controller: str, name: str, *, waiting_only: bool = False) -> str:
    """Why a partition can't go yet; empty where no job names it. Closes one that is open, and writes that down first.

    For the gate of a NodeSet with slurmctld in Kubernetes: its own partition goes with it, and any restart or
    reconfiguration since the turn of :func:`settle` has opened it again. Slurmrestd before 26.05 can't close it; then its
    jobs alone decide. ``waiting_only``: what runs doesn't count yet. Raises what
    the client raises.
    """
    seen = conf_look(session, settings)
    states = seen.partitions.get(name)
    if states is not None and not states & conf_steps.TAKES_NONE:
        if seen.can_close:
            before = "DOWN" if "DOWN" in states else "UP"
            remember(session, controller, name, before)
            session.slurm.set_partition_state(name, conf_steps.CLOSED[before])
            return f"partition {name} was open, and is closed now"
        session.report(f"partition {name} is open, and slurmrestd before 26.05 can't close it", severity="warning")
    going = Leaving((name,))
    holding = [each for each in seen.jobs if each.lost_with([name]) and (each.waits or not waiting_only)]
    return "; ".join(conf_steps.lines(holding, going))


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
    _empty(ConfTask(session, settings, Leaving(partitions, hosts), all_waiting=True))


def _tell_kept(session: Session, settings: ConfSettings) -> None:
    """Say what a destroy leaves behind: slurmctld's volume keeps its queue, and slurmd on metal its jobs."""
    try:
        seen = conf_look(session, settings)
    except (SlurmrestError, KubeNotFound) as error:
        session.report(f"the queue is not known: {error}", severity="warning", keep=True)
        return
    all_of = Leaving(hosts=tuple(sorted(settings.lines.hosts)))
    goal = replace(goal_of(settings, all_of, seen.now), all_waiting=True)
    if holding := conf_steps.held_by(seen, goal):
        jobs = "; ".join(conf_steps.lines(holding, all_of))
        said = f"slurmctld's volume keeps the queue, and jobs on bare metal run on: {jobs}"
        lost = "They are lost where the volume or its namespace is deleted too"
        session.report(f"{said}. {lost}", severity="warning", keep=True)


def give_back(session: Session, settings: ConfSettings, going: Leaving) -> None:
    """Open partitions and return hosts that an earlier run took and that stay now; forget those that are gone."""
    held = held_of(session, settings.controller)
    if not held:
        return
    news = settings.lines
    opens = {name: state for name, state in held.partitions.items() if name in news.partitions.keys() - {*going.partitions}}
    returns = tuple(host for host in held.hosts if host in news.hosts.keys() - {*going.nodes})
    seen = conf_look(session, settings)
    restore(session, settings.owner, Held(opens, returns), seen.partitions)
    left = {
        name: state
        for name, state in held.partitions.items()
        if name not in opens and (name in seen.partitions or name in going.partitions)
    }
    hosts = tuple(h for h in held.hosts if h not in returns and (h in seen.cluster.nodes or h in going.nodes))
    hold(session, settings.controller, Held(left, hosts, held.began))


def return_hosts(session: Session, settings: ConfSettings) -> None:
    """Return hosts that stay, once slurmctld has begun with the new lines; forget what has left slurm.conf.

    Raises DrainDeadline where slurmctld doesn't begin with them in the time that a node has to register, and DrainBlocked
    where it doesn't say: the hosts stay drained, and the next update returns them.
    """
    held = held_of(session, settings.controller)
    hosts = tuple(host for host in held.hosts if host in settings.lines.hosts)
    if hosts:
        drive(ReadTask(session, settings, held.began, hosts))
        restore(session, settings.owner, Held(hosts=hosts), {})
    partitions = {name: state for name, state in held.partitions.items() if name in settings.lines.partitions}
    if held:
        hold(session, settings.controller, Held(partitions))


def forget(session: Session, settings: ConfSettings) -> None:
    """slurmctld is gone, and with it what was closed and drained: leave nothing of that in a namespace that stays."""
    if not settings.outside and held_of(session, settings.controller):
        hold(session, settings.controller, Held())
