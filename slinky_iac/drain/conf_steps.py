"""By which steps slurm.conf loses what jobs rely on, and slurmctld ends.

A partition is set DRAIN (INACTIVE where it was DOWN): it takes no new job, and those in its queue still run. At last it is
set INACTIVE where a job waits in it and in others: else slurmctld might start that job there meanwhile. A host is drained.
Nothing goes while a job would be lost (:func:`slinky_iac.drain.losses.who_loses`). Then the Controller gets its new text, or
is deleted, if it is still the one of this look. Slurm's partition list must have been asked for before its job list: then a
job that came in before the DRAIN is in the job list. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from slinky_iac import names
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain import waiting
from slinky_iac.drain.conf_text import ConfLines, fitting, in_words, read_lines, unjudged
from slinky_iac.drain.cost import overwrites
from slinky_iac.drain.free import why_not_free
from slinky_iac.drain.losses import Change, Loss, who_loses
from slinky_iac.drain.protocol import (
    WITHOUT_SLURMRESTD,
    ClosePartitions,
    DeleteOwned,
    Done,
    Drain,
    Patience,
    Step,
    Stop,
    Wait,
    WriteConf,
)
from slinky_iac.drain.settings import Owner, Settings
from slinky_iac.drain.words import iso, jobs_in_words
from slinky_iac.kube.resources import Controller
from slinky_iac.slurmrest.objects import Job
from slinky_iac.text import counted


@dataclass(frozen=True, kw_only=True)
class ConfSettings(Settings):
    """Props of the gates around slurmctld's configuration."""

    controller: str
    lines: ConfLines
    text: str = ""
    """``extraConf`` as the Controller is to have it."""
    nodesets: Mapping[str, str] = field(default_factory=dict)
    """Names of the NodeSets' resources by their names in Slurm, where they may have partitions of their own."""
    keeps_queue: bool = False
    """slurmctld's state outlives a destroy: jobs wait in its volume, and those on bare metal continue."""
    volume: bool = False
    """slurmctld's state is in a volume, which outlives the Controller where its namespace stays."""
    forgets: bool = False
    """Each change of the text restarts a slurmctld that keeps no state: it forgets all jobs."""
    outside: bool = False
    """An admin writes slurm.conf, so this program only tells what leaves it."""
    on_each_node: tuple[str, ...] = ()
    """Names of the resources of NodeSets in DaemonSet mode."""

    @property
    def by_hand(self) -> str:
        """How an admin runs scontrol there."""
        return f"kubectl exec -n {self.reach.namespace} {self.controller}-controller-0 -c slurmctld --"

    def of_destroy(self, keep_queue: str) -> ConfSettings:
        """The settings of a destroy with this value of :data:`slinky_iac.names.KEEP_QUEUE`: a gate can't see whether the
        namespace goes too."""
        stays = self.volume and keep_queue == f"{self.reach.namespace}/{self.controller}"
        return replace(self, keeps_queue=self.keeps_queue or stays)

    @classmethod
    def from_props(cls, props: Mapping[str, Any]) -> ConfSettings:
        """Read props, from a program or from a state file. Raises ValueError where another program wrote them."""
        return cls(
            **cls.common(props, names.SLURM_CONF_OWNER),
            controller=str(props["controller"]),
            lines=lines_of(props),
            text=str(props.get("extraConf") or ""),
            nodesets=_texts(props.get("nodesets")),
            keeps_queue=props.get("keepsQueue") is True,
            volume=props.get("volume") is True,
            forgets=props.get("forgets") is True,
            outside=props.get("outside") is True,
            on_each_node=tuple(str(name) for name in props.get("onEachNode") or ()),
        )


def lines_of(props: Mapping[str, Any]) -> ConfLines:
    """The lines in props; none where there are none yet."""
    return ConfLines(_texts(props.get("partitions")), _texts(props.get("hosts")))


def _texts(raw: object) -> dict[str, str]:
    return {str(name): str(line) for name, line in raw.items()} if isinstance(raw, Mapping) else {}


REMEMBER_S: Final = 600
"""How long to wait until slurmctld forgets ended jobs of a partition (MinJobAge, 300 s by default, and a purge every
minute). Releases before 26.05 may crash where a job that they remember has lost its partition (slurm-operator issue 138);
26.05.5 doesn't (run)."""
CLOSED: Final[Mapping[str, str]] = {"UP": "DRAIN", "DOWN": "INACTIVE"}
"""The state that takes no new job and starts as many of those that wait as the one before did."""
TAKES_NONE: Final = frozenset(CLOSED.values())
SHUT: Final = "INACTIVE"
"""The state in which nothing starts either."""


@dataclass(frozen=True)
class ConfLook:
    """What was seen: the Controller first, then partitions, nodes and jobs."""

    now: int
    controller: Controller | None = None
    """None where there is none (any more)."""
    own: frozenset[str] = frozenset()
    """NodeSets' own partitions, which the operator writes."""
    partitions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """States of all partitions that slurmctld has."""
    cluster: ClusterView = field(default_factory=lambda: ClusterView.of((), ()))
    jobs: tuple[Job, ...] = ()
    can_close: bool = True
    """Whether slurmrestd can set a partition's state: Slurm 26.05 and newer."""
    problem: str = ""
    """Why Slurm gave no answer; then nothing of it was seen."""
    asked: bool = True
    """False: nothing leaves, so Slurm was not asked."""

    @property
    def text(self) -> str:
        """``extraConf`` as the Controller has it."""
        return "" if self.controller is None else self.controller.spec.extra_conf

    @property
    def lines(self) -> ConfLines:
        """What slurmctld has, or will have with its next look at its file."""
        lines = read_lines(self.text)
        return ConfLines({**dict.fromkeys(self.own, ""), **lines.partitions}, lines.hosts)

    def fitting(self, wanted: str) -> str:
        """What the Controller may get now."""
        return fitting(self.text, wanted, self.cluster)


@dataclass(frozen=True)
class ConfGoal(Patience):
    """What one run wants."""

    owner: Owner
    leaving: Change
    by_hand: str = "scontrol"
    """How an admin runs scontrol there."""
    forget_at: int | None = None
    """When this run stops waiting for slurmctld to forget ended jobs; None before it has begun to."""
    limited: bool = False
    """Nothing was begun yet, so limits are judged: jobs that are waited for grow older meanwhile."""
    text: str | None = None
    """What the Controller is to have; None where this run doesn't write it."""
    forgets: bool = False
    """As :attr:`ConfSettings.forgets`."""
    ends: Literal["", "first", "last"] = ""
    """slurmctld ends: what waits is waited for ``first``, while there are nodes; and whatever isn't over at the ``last``."""

    @property
    def change(self) -> Change:
        """What ends, for the rule."""
        return Change(slurmctld=True) if self.ends else self.leaving

    def of(self, look: ConfLook) -> ConfGoal:
        """The same with what leaves by this look."""
        if self.ends:
            return replace(self, leaving=Change(partitions=frozenset(look.partitions)))
        return self


class WaitToForget(Wait):
    """What is waited for is that slurmctld forgets ended jobs."""


def strange(look: ConfLook, wanted: str | None) -> str:
    """Why the live Controller can't be judged; empty where it can, or where its text isn't written."""
    lines = () if wanted is None or look.controller is None else unjudged(look.text, wanted)
    if look.controller is None or not lines:
        return ""
    meta = look.controller.metadata
    return (
        f"Controller {meta.name}: its extraConf was edited, and of {counted(len(lines), 'line')} it is not known what jobs"
        f" rely on (got {lines[0][:80]!r}). Nothing was changed, and what an earlier run closed or drained stays so. Write"
        " them as `PartitionName=NAME …` or `NodeName=NAME …`, or take them out: `kubectl edit"
        f" controllers.{names.GROUP} -n {meta.namespace} {meta.name}`; then run `pulumi up` again"
    )


def next_step(look: ConfLook, goal: ConfGoal) -> Step:
    """The next step: close partitions, drain hosts, wait for jobs, wait until ended ones are forgotten, write."""
    if why := strange(look, goal.text):
        return Stop(why, "blocked")
    if look.problem:
        return _unanswered(look, goal)
    over = limits_exceeded(look, goal) if goal.limited else ()
    if over:
        return Stop(f"{'; '.join(over)}. Nothing was changed", "blocked")
    emptied = None
    if look.asked:
        emptied = _close(look, goal) or _drain(look, goal) or _wait(look, goal)
        emptied = emptied or _shut(look, goal) or _forget(look, goal)
    return emptied or _write(look, goal)


def _write(look: ConfLook, goal: ConfGoal) -> Step:
    """The Controller's new text, or its deletion."""
    if goal.ends == "last" and look.controller is not None:
        return DeleteOwned(f"Controller {look.controller.metadata.name}")
    if goal.text is None or look.controller is None or (text := look.fitting(goal.text)) == look.text:
        return Done()
    if goal.forgets and (lost := who_loses(Change(slurmctld=True), look.cluster)):
        jobs = jobs_in_words([loss.job for loss in lost])
        return Stop(
            "slurmctld's pod restarts with this change, and controller.persistence is off: it would forget"
            f" {jobs}. Nothing was changed. Wait until they have ended, or cancel them",
            "blocked",
        )
    return WriteConf(text)


def _unanswered(look: ConfLook, goal: ConfGoal) -> Step:
    if look.now < goal.deadline_at:
        return Wait(f"no answer, so nothing may be concluded: {look.problem}")
    over = f"the deadline ({iso(goal.deadline_at)}) is over without an answer: {look.problem}"
    if not goal.ends or look.controller is None:
        return Stop(f"{over} slurm.conf is as it was", "deadline")
    meta = look.controller.metadata
    before = f". With NodeSets, these go first: {WITHOUT_SLURMRESTD}" if goal.ends == "first" else ""
    return Stop(
        f"{over} slurmctld may have jobs, so the Controller stays. Repair what doesn't answer, then run the same command"
        " again. If slurmctld never ran, or is gone for good, no job is left to lose, and without its Controller the same"
        f" command continues: `kubectl delete controllers.{names.GROUP} -n {meta.namespace} {meta.name}`{before}",
        "deadline",
    )


def _close(look: ConfLook, goal: ConfGoal) -> Step | None:
    open_ = opened(look, goal.leaving)
    return _set(look, goal, {name: CLOSED[state] for name, state in open_.items()}, open_)


def _shut(look: ConfLook, goal: ConfGoal) -> Step | None:
    """Partitions in which jobs wait that wait in others too: slurmctld may start one until it has read the new text."""
    waits = {name for job in look.cluster.unfinished if job.waits and not goal.ends for name in job.partitions}
    drained = {name: look.partitions[name] for name in goal.leaving.partitions if name in waits and name in look.partitions}
    before = {name: "DRAIN" for name, states in drained.items() if SHUT not in states}
    return _set(look, goal, dict.fromkeys(before, SHUT), before)


def _set(look: ConfLook, goal: ConfGoal, states: Mapping[str, str], before: Mapping[str, str]) -> Step | None:
    """Partitions set to these states; the end where slurmrestd can't, unless slurmctld ends and its jobs are waited for."""
    if states and look.can_close:
        return ClosePartitions(states, before)
    return Stop(_cannot_close(states, goal), "blocked") if states and not goal.ends else None


def _drain(look: ConfLook, goal: ConfGoal) -> Step | None:
    """Hosts drained; the end where a person's words are on one."""
    records = {host: look.cluster.nodes.get(host) for host in goal.leaving.hosts}
    undrained = {host: record for host, record in records.items() if record is not None and "DRAIN" not in record.state}
    refused = [why for host, record in undrained.items() if (why := overwrites(host, record, goal.owner))]
    if refused:
        return Stop("; ".join(refused), "blocked")
    return Drain(tuple(undrained), goal.owner.reason("slurm.conf changes"), None) if undrained else None


def remembered(look: ConfLook, goal: ConfGoal) -> int:
    """Ended jobs of what leaves that slurmctld must forget first: none where it is 26.05 or newer, or ends itself."""
    if look.can_close or goal.ends:
        return 0
    return sum(job.over and not goal.leaving.partitions.isdisjoint(job.partitions) for job in look.jobs)


def _forget(look: ConfLook, goal: ConfGoal) -> Step | None:
    ended = remembered(look, goal)
    if not ended or (goal.forget_at is not None and look.now >= goal.forget_at):
        return None
    why = "slurmctld before 26.05 may crash where one it remembers has lost its partition"
    return WaitToForget(f"slurmctld has {ended} ended job(s) of {in_words(goal.leaving)} to forget: {why}")


def losses(look: ConfLook, goal: ConfGoal) -> tuple[Loss, ...]:
    """Jobs that would be lost now, running ones first."""
    lost_jobs = who_loses(goal.change, look.cluster)
    return tuple(loss for loss in lost_jobs if loss.job.waits) if goal.ends == "first" else lost_jobs


def limits_exceeded(look: ConfLook, goal: ConfGoal) -> tuple[str, ...]:
    """A sentence for each limit that these jobs exceed."""
    return waiting.over_limits(goal.policy.limits, look.now, (loss.job for loss in losses(look, goal)))


def opened(look: ConfLook, going: Change) -> dict[str, str]:
    """Partitions that take new jobs, with their state."""
    states = {name: look.partitions[name] for name in sorted(going.partitions) if name in look.partitions}
    return {
        name: next((state for state in CLOSED if state in flags), "UP")
        for name, flags in states.items()
        if not flags & TAKES_NONE
    }


def _unfree(look: ConfLook, goal: ConfGoal) -> tuple[str, ...]:
    """A line for each host that isn't free although no job of the list is on it."""
    idle = (host for host in goal.leaving.hosts if not look.cluster.jobs(host))
    return tuple(why for host in idle if (why := why_not_free(host, look.cluster, look.now)))


def _unread(look: ConfLook, goal: ConfGoal) -> tuple[str, ...]:
    """A line for what goes and slurmctld has not read yet: it could neither be closed nor drained, and takes jobs once it
    has read it. None where slurm.conf is not this run's to write."""
    if goal.text is None or look.controller is None:
        return ()
    missing = [f"partition {name}" for name in sorted(goal.leaving.partitions - look.partitions.keys())]
    missing += [f"host {name}" for name in goal.leaving.hosts if name not in look.cluster.nodes]
    return (f"slurmctld to read slurm.conf as it is: it has no {', '.join(missing)} yet",) if missing else ()


def _wait(look: ConfLook, goal: ConfGoal) -> Step | None:
    return waiting.until_none(
        losses(look, goal),
        look.now,
        goal,
        goal.change,
        then="the Controller goes" if goal.ends else f"slurm.conf loses {in_words(goal.leaving)}",
        late=_late(look, goal),
        more=(*_unfree(look, goal), *_unread(look, goal)),
    )


def _late(look: ConfLook, goal: ConfGoal) -> tuple[str, str]:
    if goal.ends:
        return (
            "slurmctld can't end yet, since these would be lost with it",
            "and the Controller stays. Let the jobs end, or cancel them (scancel), then run the same command again; `pulumi"
            " up` makes again the nodes that waiting jobs need",
        )
    undo = goal.policy.on_deadline == "undo"
    more = "`pulumi up` continues, and gives them back where the file has them again"
    held = "partitions and hosts are given back" if undo else f"partitions stay closed and hosts drained; {more}"
    by_hand = _never_read(look.controller, goal) if look.controller is not None and _unread(look, goal) else ""
    return f"slurm.conf can't lose {in_words(goal.leaving)} yet", f"slurm.conf is as it was, and {held}{by_hand}"


def _never_read(controller: Controller, goal: ConfGoal) -> str:
    """What a person does where slurmctld refuses a line: it runs on with what it has read before, so no wait ends."""
    meta = controller.metadata
    return (
        f". `{goal.by_hand} scontrol reconfigure` makes slurmctld read slurm.conf, or says which line it refuses. No job can"
        f" be in what it refuses: `kubectl edit controllers.{names.GROUP} -n {meta.namespace} {meta.name}`, and in one edit"
        f" take that line out of extraConf and set the annotation {names.ANNOTATION_PERMIT}:"
        f" {names.permit_to_configure(meta.generation)}; then run `pulumi up` again"
    )


def _cannot_close(wanted: Mapping[str, str], goal: ConfGoal) -> str:
    commands = "; ".join(
        f"{goal.by_hand} scontrol update partitionname={name} state={state.lower()}" for name, state in wanted.items()
    )
    return (
        f"slurmrestd is older than 26.05 and can't close a partition, so a job might come into {', '.join(wanted)} while"
        f" slurm.conf loses it. Nothing was changed. Close it, then run `pulumi up` again: {commands}"
    )
