"""Which lines of slurm.conf a change takes away from jobs, and by which steps they are emptied before that.

Only what can end a job counts: partitions, and bare-metal hosts with their CPUs, GRES and address. A partition or host that
comes does no harm, and neither do other parameters of a line. Source: ``src/slurmctld/read_config.c``, 25.11 and 26.05
(``_sync_jobs_to_conf``, ``valid_job_resources``, ``gres_job_revalidate``). Watched with 26.05.5: other CPUs end or requeue a
running job, and so does another address once SlurmdTimeout is over; other RealMemory or Weight doesn't.

A partition is set DRAIN (INACTIVE where it was DOWN): it takes no new job, and those in its queue still run. A host is
drained. Nothing goes while a job names it. Slurm's partition list must have been asked for before its job list: then a job
that came in before the DRAIN is in the job list. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac import names
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.cost import overwrites
from slinky_iac.drain.free import Free, verdict
from slinky_iac.drain.plan import job_findings
from slinky_iac.drain.protocol import Cancel, ClosePartitions, Done, Drain, Requeue, Signal, Step, Stop, Wait
from slinky_iac.drain.settings import DrainPolicy, Limits, Owner, Settings
from slinky_iac.drain.words import iso, jobs_in_words, some, whose
from slinky_iac.slurmrest.objects import Job

RESOURCES: Final = frozenset(
    {"cpus", "procs", "boards", "sockets", "socketsperboard", "corespersocket", "threadspercore"}
    | {"corespeccount", "cpuspeclist", "gres"}
    | {"nodeaddr", "nodehostname", "port"}
)
"""Parameters of a NodeName= line, in lower case, whose change ends jobs that run on the host."""
_LINE: Final = re.compile(r"^[ \t]*(PartitionName|NodeName)=(\S+)(.*)$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class ConfLines:
    """PartitionName= lines and NodeName= lines by name, of a configuration or of a running Controller."""

    partitions: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Leaving:
    """What jobs may lose by a change."""

    partitions: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """Bare-metal hosts whose NodeName= line goes."""
    changed: tuple[str, ...] = ()
    """Bare-metal hosts whose line stays, with other resources or another address."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """Hosts that must be free."""
        return (*self.hosts, *self.changed)

    def __bool__(self) -> bool:
        return bool(self.partitions or self.hosts or self.changed)


def read_lines(text: str) -> ConfLines:
    """The lines in a Controller's ``extraConf``."""
    found: dict[str, dict[str, str]] = {"partitionname": {}, "nodename": {}}
    for match in _LINE.finditer(text):
        found[match[1].lower()][match[2]] = match[0].strip()
    return ConfLines(found["partitionname"], found["nodename"])


def leaving(olds: ConfLines, news: ConfLines) -> Leaving:
    """What goes from ``olds`` to ``news``, in order of name."""
    stay = sorted(olds.hosts.keys() & news.hosts.keys())
    return Leaving(
        partitions=tuple(sorted(olds.partitions.keys() - news.partitions.keys())),
        hosts=tuple(sorted(olds.hosts.keys() - news.hosts.keys())),
        changed=tuple(name for name in stay if resources(olds.hosts[name]) != resources(news.hosts[name])),
    )


def resources(line: str) -> dict[str, str]:
    """The parameters of a NodeName= line that jobs rely on; Slurm takes the last of two."""
    pairs = (word.partition("=") for word in line.split())
    return {key.lower(): value for key, _, value in pairs if key.lower() in RESOURCES}


@dataclass(frozen=True, kw_only=True)
class ConfSettings(Settings):
    """Props of the gates around slurmctld's configuration."""

    controller: str
    lines: ConfLines
    keeps_queue: bool = False
    """slurmctld's state outlives a destroy: jobs wait in its volume, and those on bare metal continue."""
    outside: bool = False
    """An admin writes slurm.conf, so this program only tells what leaves it."""

    @classmethod
    def from_props(cls, props: Mapping[str, Any]) -> ConfSettings:
        """Read props, from a program or from a state file. Raises ValueError where another program wrote them."""
        return cls(
            **cls.common(props, names.SLURM_CONF_OWNER),
            controller=str(props["controller"]),
            lines=lines_of(props),
            keeps_queue=props.get("keepsQueue") is True,
            outside=props.get("outside") is True,
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


@dataclass(frozen=True)
class ConfLook:
    """What was seen: partitions first, then nodes, then jobs."""

    now: int
    partitions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """States of all partitions that slurmctld has."""
    cluster: ClusterView = field(default_factory=lambda: ClusterView.of((), ()))
    jobs: tuple[Job, ...] = ()
    can_close: bool = True
    """Whether slurmrestd can set a partition's state: Slurm 26.05 and newer."""
    problem: str = ""
    """Why Slurm gave no answer; then nothing else was seen."""


@dataclass(frozen=True)
class ConfGoal:
    """What one run wants."""

    owner: Owner
    leaving: Leaving
    policy: DrainPolicy
    deadline_at: int
    by_hand: str = "scontrol"
    """How an admin runs scontrol there."""
    signalled_at: int | None = None
    """When this run signalled jobs."""
    forget_at: int | None = None
    """When this run stops waiting for slurmctld to forget ended jobs; None before it has begun to."""
    limited: bool = False
    """Nothing was begun yet, so limits are judged: jobs that are waited for grow older meanwhile."""
    all_waiting: bool = False
    """slurmctld ends: every job that waits is lost with it, and drained hosts would keep it waiting."""

    @property
    def ends_at(self) -> int:
        """End of the run, past the deadline where the policy acts then."""
        return self.deadline_at + self.policy.overtime_s


class WaitToForget(Wait):
    """What is waited for is that slurmctld forgets ended jobs."""


def next_step(look: ConfLook, goal: ConfGoal) -> Step:
    """The next step to the goal: close partitions, drain hosts, wait for jobs, wait until ended ones are forgotten."""
    if look.problem:
        return _unanswered(look, goal)
    over = limits_exceeded(held_by(look, goal), goal.policy.limits, look.now) if goal.limited else ()
    if over:
        return Stop(f"{'; '.join(over)}. Nothing was changed", "blocked")
    return _close(look, goal) or _drain(look, goal) or _wait(look, goal) or _forget(look, goal)


def limits_exceeded(holding: Iterable[Job], limits: Limits, now: int) -> tuple[str, ...]:
    """A sentence for each limit that these jobs exceed. Jobs that wait have no age."""
    jobs = tuple(holding)
    return tuple(each.text for each in job_findings(jobs, [each for each in jobs if not each.waits], limits, now))


def _unanswered(look: ConfLook, goal: ConfGoal) -> Step:
    if look.now < goal.deadline_at:
        return Wait(f"no answer, so nothing may be concluded: {look.problem}")
    over = f"the deadline ({iso(goal.deadline_at)}) is over without an answer"
    return Stop(f"{over}: {look.problem} slurm.conf is as it was", "deadline")


def _close(look: ConfLook, goal: ConfGoal) -> Step | None:
    open_ = _open(look, goal.leaving)
    if open_ and look.can_close:
        return ClosePartitions({name: CLOSED[state] for name, state in open_.items()}, open_)
    return Stop(_cannot_close(open_, goal), "blocked") if open_ and not goal.all_waiting else None


def _drain(look: ConfLook, goal: ConfGoal) -> Step | None:
    """Hosts drained; the end where a person's words are on one."""
    records = {} if goal.all_waiting else {host: look.cluster.nodes.get(host) for host in goal.leaving.nodes}
    undrained = {host: record for host, record in records.items() if record is not None and "DRAIN" not in record.state}
    refused = [why for host, record in undrained.items() if (why := overwrites(host, record, goal.owner))]
    if refused:
        return Stop("; ".join(refused), "blocked")
    return Drain(tuple(undrained), goal.owner.reason("slurm.conf changes"), None) if undrained else None


def remembered(look: ConfLook, goal: ConfGoal) -> int:
    """Ended jobs of what leaves that slurmctld must forget first: none where it is 26.05 or newer, or ends itself."""
    if look.can_close or goal.all_waiting:
        return 0
    return sum(each.over and not set(each.partitions).isdisjoint(goal.leaving.partitions) for each in look.jobs)


def _forget(look: ConfLook, goal: ConfGoal) -> Step:
    ended = remembered(look, goal)
    if not ended or (goal.forget_at is not None and look.now >= goal.forget_at):
        return Done()
    why = "slurmctld before 26.05 may crash where one it remembers has lost its partition"
    return WaitToForget(f"slurmctld has {ended} ended job(s) of {leaving_in_words(goal.leaving)} to forget: {why}")


def held_by(look: ConfLook, goal: ConfGoal) -> tuple[Job, ...]:
    """Jobs that would be lost now, running ones first."""
    found = [each for each in look.jobs if _holds(each, goal)]
    return tuple(sorted(found, key=lambda each: (each.waits, each.job_id)))


def _holds(each: Job, goal: ConfGoal) -> bool:
    going = goal.leaving
    if goal.all_waiting:
        return each.waits or (not each.over and not set(going.nodes).isdisjoint(each.node_names))
    if each.lost_with(going.partitions) or each.needs(going.hosts):
        return True
    return not each.over and not set(going.changed).isdisjoint(each.node_names)


def _open(look: ConfLook, going: Leaving) -> dict[str, str]:
    """Partitions that take new jobs, with their state."""
    states = {name: look.partitions[name] for name in going.partitions if name in look.partitions}
    return {
        name: next((each for each in CLOSED if each in found), "UP")
        for name, found in states.items()
        if not found & TAKES_NONE
    }


def _unfree(look: ConfLook, goal: ConfGoal) -> tuple[str, ...]:
    """A line for each host that isn't free although no job of the list is on it."""
    lines = []
    for host in () if goal.all_waiting else goal.leaving.nodes:
        judged = verdict(host, look.cluster, look.now)
        if not isinstance(judged, Free) and not look.cluster.jobs(host):
            lines.append(f"{host}: {judged.why}")
    return tuple(lines)


def _wait(look: ConfLook, goal: ConfGoal) -> Step | None:
    holding, unfree = held_by(look, goal), _unfree(look, goal)
    if not holding and not unfree:
        return None
    why = "; ".join([*lines(holding, goal.leaving), *unfree])
    if look.now < goal.deadline_at:
        return Wait(f"waiting for {why}; then slurm.conf loses {leaving_in_words(goal.leaving)}")
    act = {"requeue": _requeue, "cancel": _cancel}.get(goal.policy.on_deadline)
    if act is not None and look.now < goal.ends_at and (step := act(look, goal, holding)) is not None:
        return step
    undo = goal.policy.on_deadline == "undo"
    what = (
        "partitions and hosts are given back"
        if undo
        else "partitions stay closed and hosts drained; `pulumi up` continues, and gives them back where the file has"
        " them again"
    )
    said = "Jobs were touched only as the policy says" if goal.policy.overtime_s else "No job was touched"
    return Stop(
        f"the deadline ({iso(goal.deadline_at)}) is over, and slurm.conf can't lose {leaving_in_words(goal.leaving)} yet:"
        f" {why}. {said}, slurm.conf is as it was, and {what}",
        cause="deadline",
        undo=undo,
    )


def _requeue(_look: ConfLook, goal: ConfGoal, holding: tuple[Job, ...]) -> Step | None:
    """A requeued job waits in the same partition, with the same --nodelist: only what is on a host can be helped so."""
    able = [
        each
        for each in holding
        if not each.waits and each.requeue and not each.lost_with(goal.leaving.partitions) and not goal.all_waiting
        if each.required is not None and set(each.required).isdisjoint(goal.leaving.hosts)
    ]
    fresh = [each for each in able if "COMPLETING" not in each.job_state]
    if fresh:
        return Requeue(_handles(fresh))
    return Wait("requeued jobs are leaving their hosts") if able else None


def _cancel(look: ConfLook, goal: ConfGoal, holding: tuple[Job, ...]) -> Step:
    running = [each for each in holding if not each.waits]
    if goal.signalled_at is None and running:
        return Signal(_handles(running), goal.policy.signal, ())
    if goal.signalled_at is not None and look.now < goal.signalled_at + goal.policy.grace_s:
        return Wait(f"jobs were sent {goal.policy.signal}, and are cancelled {goal.policy.grace_s} s later")
    fresh = [each for each in holding if "COMPLETING" not in each.job_state]
    return Cancel(_handles(fresh)) if fresh else Wait("cancelled jobs are ending")


def _handles(jobs: Iterable[Job]) -> tuple[int | str, ...]:
    return tuple(dict.fromkeys(each.handle for each in jobs))


def lines(holding: Iterable[Job], going: Leaving) -> tuple[str, ...]:
    """A sentence for each thing that leaves and the jobs that need it; running and waiting apart."""
    by: dict[str, tuple[list[Job], list[Job]]] = {}
    for each in holding:
        by.setdefault(_because(each, going), ([], []))[each.waits].append(each)
    return tuple(f"{what}: {_in_words(*groups)}" for what, groups in sorted(by.items()))


def _because(each: Job, going: Leaving) -> str:
    if each.lost_with(going.partitions):
        return f"partition {each.partitions[0]}" if each.partitions else "a job whose partition can't be read"
    on = sorted(set(going.nodes).intersection(each.node_names))
    if on:
        return f"host {on[0]}"
    named = sorted(set(going.hosts).intersection(each.required or ()))
    return f"host {named[0]}, by --nodelist" if named else "the queue"


def _in_words(running: list[Job], waiting: list[Job]) -> str:
    queue = some(map(whose, waiting), 4)
    parts = [jobs_in_words(running)] if running else []
    return "; ".join([*parts, *([f"{len(waiting)} waiting in the queue ({queue})"] if waiting else [])])


def _cannot_close(open_: Mapping[str, str], goal: ConfGoal) -> str:
    commands = "; ".join(
        f"{goal.by_hand} scontrol update partitionname={name} state={CLOSED[state].lower()}" for name, state in open_.items()
    )
    return (
        f"slurmrestd is older than 26.05 and can't close a partition, so a job might come into {', '.join(open_)} while"
        f" slurm.conf loses it. Nothing was changed. Close it, then run `pulumi up` again: {commands}"
    )


def leaving_in_words(going: Leaving) -> str:
    """``partition gpu, host metal-1``."""
    parts = [*(f"partition {name}" for name in going.partitions), *(f"host {name}" for name in going.nodes)]
    return ", ".join(parts)
