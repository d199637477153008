"""The gate of the Controller at work: empty what leaves slurm.conf and write it, give back what was closed for
nothing; empty slurmctld and end it."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from slinky_iac.cluster import partition_closing
from slinky_iac.cluster.partition_closing import Held
from slinky_iac.drain import conf_steps, waiting
from slinky_iac.drain.closed import Record, require_record
from slinky_iac.drain.conf_back import give_back, return_hosts
from slinky_iac.drain.conf_steps import ConfGoal, ConfLook, ConfSettings
from slinky_iac.drain.conf_text import ConfLines, kept_back, leaving, narrows, read_lines
from slinky_iac.drain.driver import ALL_JOBS_IDLE, ALL_JOBS_S, Task, drive
from slinky_iac.drain.lease import RENEW_S
from slinky_iac.drain.losses import Change, who_loses
from slinky_iac.drain.observe import LASTING, conf_look, require_restapi
from slinky_iac.drain.proof import Met, prove
from slinky_iac.drain.protocol import (
    ClosePartitions,
    DeleteOwned,
    Done,
    Drain,
    Step,
    Stop,
    WriteConf,
)
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import GateSettings
from slinky_iac.errors import (
    DrainBlocked,
    KubeError,
    KubeNotFound,
    SlurmrestError,
)
from slinky_iac.kube.resources import Controller


def goal_of(settings: ConfSettings, going: Change, now: int) -> ConfGoal:
    """What a run that begins now wants."""
    return ConfGoal(
        settings.owner,
        going,
        policy=settings.policy,
        deadline_at=now + settings.policy.deadline_s,
        by_hand=settings.by_hand,
        text=None if settings.outside else settings.text,
        forgets=settings.forgets,
    )


class ConfTask(Task[ConfLook]):
    """Empty what leaves slurm.conf, then write it; or empty slurmctld, then end it."""

    settings: ConfSettings
    doing = "emptying what leaves slurm.conf"
    beat_s = RENEW_S
    acts_at_deadline = True
    idle = ALL_JOBS_IDLE
    least_poll_s = ALL_JOBS_S

    def __init__(self, session: Session, settings: ConfSettings, goal: ConfGoal) -> None:
        met = Met(settings.owner, anywhere=True, stands="The change is made: the same command again ends well.")
        super().__init__(session, settings, settings.policy.deadline_s, met)
        self.record = Record(session, settings)
        ends = settings.lines.partitions if goal.ends else goal.leaving.partitions
        begun = self.record.held().of(ends, goal.leaving.hosts)  # a run that continues was judged when it began
        self._goal = replace(goal, limited=not begun)
        self._last: ConfLook | None = None
        self._seen: ConfLook | None = None

    @property
    def goal(self) -> ConfGoal:
        """What this run wants."""
        return self.timed(self._goal)

    def look(self) -> ConfLook:
        """Slurm's passing silence is part of what is seen. The live Controller says what leaves."""
        self.beat()
        seen = live_look(self.session, self.settings)
        if self._goal.ends and seen.controller is None:
            return seen
        self._goal = replace(self._goal, leaving=leaving(seen.lines, self.settings.lines))
        seen = slurms_look(self.session, self.settings, seen, self._goal)
        if seen.problem:
            require_restapi(self.session.kube, self.session.reach)
        self._goal, self._seen = self._goal.of(seen), seen
        return seen

    def decide(self, seen: ConfLook) -> Step:
        if seen.controller is None:
            gone = f"there is no Controller {self.settings.controller} any more"
            todo = "Run `pulumi up --refresh`, which makes it again. Nothing was changed"
            return Done() if self._goal.ends else Stop(f"{gone}. {todo}", "blocked")
        return conf_steps.next_step(seen, self.goal)

    def check(self, seen: ConfLook, step: Step) -> Step:
        """Limits are judged by the first look that has an answer."""
        if not seen.problem and seen.asked:
            self._last, self._goal = seen, replace(self._goal, limited=False)
            self.met.wait_for((loss.job for loss in conf_steps.losses(seen, self.goal)), self.session.now())
        return step

    def act(self, step: Step) -> None:
        """What is closed or drained is written down first, so that a run after a crash knows it for ours."""
        session, record = self.session, self.record
        self.beat()
        match step:
            case ClosePartitions(states, before):
                record.closing(states, before)
                for name, state in states.items():
                    session.slurm.set_partition_state(name, state)
                    session.report(f"partition {name} is {state}: it takes no new job, and is emptied", keep=True)
                return
            case Drain(nodes):
                held = record.held()
                record.hold(replace(held, hosts={**held.hosts, **dict.fromkeys(nodes, self.owner.stack)}))
            case WriteConf(text):
                self._write(text)
                return
            case DeleteOwned():
                session.kube.delete("Controller", session.reach.namespace, self._live().metadata)
                return
        super().act(step)

    def beat(self) -> None:
        self.record.keep()

    def _live(self) -> Controller:
        if self._seen is None or self._seen.controller is None:
            raise AssertionError(
                "a fault of this program: the Controller was about to be written without being read first. Nothing was"
                " written. Report it with this traceback"
            )
        return self._seen.controller

    def _write(self, text: str) -> None:
        """The text, conditioned on the look. When slurmctld began before it is noted: hosts that have other resources wait
        for its next beginning. Noted first for a run that ends here, and again since it may have begun meanwhile."""
        session = self.session
        self._note_beginning()
        session.kube.set_extra_conf(session.reach.namespace, self._live(), text)
        self._note_beginning()
        for line in kept_back(self.settings.text, text):
            session.report(line, severity="warning", keep=True)

    def _note_beginning(self) -> None:
        """With all hosts that change: one that others hold goes back to work no sooner than one that this gate holds, and
        is theirs to return. And for what an earlier run took and the new text has again."""
        held, text = self.record.held(), read_lines(self._goal.text or "")
        changed = dict.fromkeys(self._goal.leaving.nodes, "")
        if changed or held.of(text.partitions, text.hosts):
            began = self.session.slurm.slurmctld_began()
            self.record.hold(replace(held, hosts={**changed, **held.hosts}, began=began))

    def did(self, step: Step) -> None:
        """Note until when slurmctld has time to forget ended jobs, too."""
        super().did(step)
        if isinstance(step, conf_steps.WaitToForget) and self._goal.forget_at is None:
            self._goal = replace(self._goal, forget_at=self.session.now() + conf_steps.REMEMBER_S)

    def clock_was_set(self, jump: int) -> None:
        super().clock_was_set(jump)
        self._goal = replace(self._goal, forget_at=self._goal.forget_at and self._goal.forget_at + jump)

    def ended(self, _seen: ConfLook) -> str:
        if self._goal.ends:
            return "no job waits" if self._goal.ends == "first" else "no job was left, and the Controller is gone"
        return "slurm.conf is written"

    def undo(self) -> None:
        """All that this stack closed and drained for slurm.conf."""
        seen = self._last or conf_look(self.session, self.settings)
        self.record.restore(self.record.held(), seen.partitions)
        self.record.hold(Held())

    def stays(self) -> str:
        return "What was closed or drained stays so, slurm.conf is as it was, and `pulumi up` continues"


def live_look(session: Session, settings: ConfSettings) -> ConfLook:
    """The Controller as it is, and which NodeSets of this stack have own partitions. Raises what Kubernetes does."""
    namespace = session.reach.namespace
    try:
        controller = session.kube.controller(namespace, settings.controller)
    except KubeNotFound:
        return ConfLook(session.now(), asked=False)
    return ConfLook(session.now(), controller, own_partitions(session, settings), asked=False)


def own_partitions(session: Session, settings: ConfSettings) -> frozenset[str]:
    """Names of the stack's NodeSets, those that the program has dropped included, that have a partition now."""
    if not settings.nodesets:
        return frozenset()
    enabled = {nodeset.name for nodeset in session.kube.nodesets(session.reach.namespace) if nodeset.spec.partition.enabled}
    return frozenset(name for name, resource in settings.nodesets.items() if resource in enabled)


def slurms_look(session: Session, settings: ConfSettings, live: ConfLook, goal: ConfGoal) -> ConfLook:
    """The same with what Slurm says, where that matters. Raises what no later look would mend."""
    writes = goal.text is not None and live.text != goal.text
    if not (goal.leaving or goal.ends or (writes and (goal.forgets or narrows(live.text, goal.text or "")))):
        return live
    try:
        seen = conf_look(session, settings)
    except LASTING:
        raise
    except SlurmrestError as error:
        return replace(live, now=session.now(), asked=True, problem=str(error))
    return replace(seen, controller=live.controller, own=live.own)


def settle(session: Session, settings: ConfSettings, olds: ConfLines) -> None:
    """Bring the Controller to its text: empty what leaves first, and give back what was closed and stays after all. The live
    Controller tells what leaves; where an admin writes slurm.conf, ``olds`` do.

    Raises DrainBlocked or DrainDeadline where it can't go yet, and what the clients raise.
    """
    if settings.outside:
        _tell_admin(session, settings, leaving(olds, settings.lines))
        return
    record = Record(session, settings)
    require_record(record, settings)
    with record.leased():
        live = live_look(session, settings)
        if why := conf_steps.strange(live, settings.text):
            raise DrainBlocked(f"{settings.owner.text}: {why}")
        going = leaving(live.lines, settings.lines)
        give_back(record, settings, live.lines, going)
        task = ConfTask(session, settings, goal_of(settings, going, session.now()))
        last = drive(task)
        if ended := conf_steps.remembered(last, task.goal):
            session.report(
                f"slurmctld still remembers {ended} ended job(s) of what leaves slurm.conf: it may crash, and come up again,"
                " until it has forgotten them (MinJobAge)",
                severity="warning",
                keep=True,
            )
        prove(session, settings, task.met)
        return_hosts(record, settings)


def _tell_admin(session: Session, settings: ConfSettings, going: Change) -> None:
    """An outside slurm.conf is its admin's: say what leaves it, with how many jobs, and the steps that lose none."""
    if not going:
        return
    jobs: int | None = None
    try:
        seen = conf_look(session, settings)
        jobs = len(conf_steps.losses(seen, goal_of(settings, going, seen.now)))
    except (SlurmrestError, KubeError) as error:
        session.report(str(error))
    said = partition_closing.losing(sorted(going.partitions), going.hosts, jobs)
    steps = "\n".join(f"  {step}" for step in partition_closing.closing_steps(sorted(going.partitions), going.hosts))
    session.report(f"{said}. Its admin's steps:\n{steps}", severity="warning", keep=True)


def partition_holds(session: Session, settings: GateSettings, *, waiting_only: bool = False) -> str:
    """Why a NodeSet's own partition can't go yet; empty where no job names it. Closes one that is open, and writes that down
    first.

    With slurmctld in Kubernetes the partition goes with its NodeSet, and any restart or reconfiguration since the turn of
    :func:`settle` has opened it again. Slurmrestd before 26.05 can't close it; then its
    jobs alone decide. ``waiting_only``: what runs doesn't count yet. Raises what
    the client raises.
    """
    seen = conf_look(session, settings)
    going, record = Change(partitions=frozenset([settings.owner.nodeset])), Record(session, settings)
    for partition, before in conf_steps.opened(seen, going).items():
        if seen.can_close:
            with record.leased():
                record.remember(partition, before)
                session.slurm.set_partition_state(partition, conf_steps.CLOSED[before])
            return f"partition {partition} was open, and is closed now"
        session.report(f"partition {partition} is open, and slurmrestd before 26.05 can't close it", severity="warning")
    lost = who_loses(going, seen.cluster)
    return "; ".join(waiting.lines(loss for loss in lost if loss.job.waits or not waiting_only))


def finish(session: Session, settings: ConfSettings, ends: Literal["first", "last"]) -> None:
    """Before slurmctld ends for good. ``first``, while there are nodes: no job waits any more, and partitions take no new
    ones. ``last``: no job is left, on whatever node, and the Controller is deleted.

    Where the Controller is gone there is nothing to lose. Raises as :func:`settle` does.
    """
    if live_look(session, settings).controller is None:
        return
    if settings.keeps_queue:
        if ends == "last":
            _tell_kept(session, settings)
        return
    goal = replace(goal_of(settings, Change(), session.now()), text=None, ends=ends)
    with Record(session, settings).leased():
        task = ConfTask(session, settings, goal)
        drive(task)
        prove(session, settings, task.met)


def end(session: Session, settings: ConfSettings) -> None:
    """The end of a slurmctld in Kubernetes, and of the record of what was closed: in a namespace that stays nothing of it is
    left. An outside slurmctld lives on. Raises as :func:`settle` does, and DrainBlocked where a NodeSet in DaemonSet mode is
    there: for want of the Controller slurm-operator takes no Kubernetes node for one that fits, has no Slurm client either,
    and deletes all pods at once (1.1.0 to 1.2.1, ``NodeShouldRunDaemonPod``, ``IsNodeDrained``)."""
    nodesets = [session.nodeset(name) for name in settings.on_each_node]
    there = [nodeset for nodeset in nodesets if nodeset is not None and not nodeset.deleting]
    if there:
        raise DrainBlocked(
            f"Controller {settings.controller} was to be deleted while {', '.join(nodeset.name for nodeset in there)} with"
            " scalingMode DaemonSet is there: slurm-operator would delete all its pods at once, with the jobs on them."
            " Nothing was changed. Run `pulumi up` without `--replace`; or remove the NodeSet from the stack first, which"
            " drains it"
        )
    if not settings.outside:
        finish(session, settings, "last")
        Record(session, settings).remove()


def _tell_kept(session: Session, settings: ConfSettings) -> None:
    """Say what a destroy leaves behind: slurmctld's volume keeps its queue, and slurmd on metal its jobs."""
    try:
        seen = conf_look(session, settings)
    except (SlurmrestError, KubeNotFound) as error:
        session.report(f"the queue is not known: {error}", severity="warning", keep=True)
        return
    if lost := who_loses(Change(slurmctld=True), seen.cluster):
        said = f"slurmctld's volume keeps the queue, and jobs on bare metal run on: {'; '.join(waiting.lines(lost))}"
        lose = "They are lost where the volume or its namespace is deleted too"
        session.report(f"{said}. {lose}", severity="warning", keep=True)
