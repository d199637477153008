"""One look, one step: how partitions and hosts are emptied of jobs before slurm.conf loses them.

A partition is set DRAIN (INACTIVE where it was DOWN): it takes no new job, and those in its queue still run. A host is
drained. Nothing goes while a job names it. Slurm's partition list must have been asked for before its job list: then a job
that came in before the DRAIN is in the job list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from slinky_iac.drain.conf_lines import Leaving
from slinky_iac.drain.cost import drainable
from slinky_iac.drain.free import Free, verdict
from slinky_iac.drain.owner import Owner
from slinky_iac.drain.policy import DrainPolicy
from slinky_iac.drain.text import iso, jobs_in_words
from slinky_iac.drain.view import ClusterView, JobView, Queued

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
    jobs: tuple[Queued, ...] = ()
    can_close: bool = True
    """Whether slurmrestd can set a partition's state: Slurm 26.05 and newer."""


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
    all_waiting: bool = False
    """slurmctld ends: every job that waits is lost with it, and drained hosts would keep it waiting."""

    @property
    def ends_at(self) -> int:
        """End of the run, past the deadline where the policy acts then."""
        return self.deadline_at + self.policy.overtime_s


@dataclass(frozen=True)
class SetStates:
    """Set partitions' states; ``before`` is what they were."""

    states: Mapping[str, str]
    before: Mapping[str, str]


@dataclass(frozen=True)
class DrainHosts:
    """Drain hosts with our reason, without an end."""

    hosts: tuple[str, ...]


@dataclass(frozen=True)
class Act:
    """What the policy does to jobs at the deadline."""

    what: Literal["requeue", "signal", "cancel"]
    jobs: tuple[int | str, ...]


@dataclass(frozen=True)
class Await:
    """Look again."""

    why: str
    remembering: bool = False
    """What is waited for is that slurmctld forgets."""


@dataclass(frozen=True)
class GiveUp:
    """End without having come to the goal; ``undo``: give back what was closed and drained."""

    why: str
    cause: Literal["blocked", "deadline"]
    undo: bool = False


@dataclass(frozen=True)
class Clear:
    """No job names what leaves. ``remembered``: ended jobs that slurmctld hasn't forgotten in time."""

    remembered: int = 0


ConfStep = SetStates | DrainHosts | Act | Await | GiveUp | Clear


def next_step(look: ConfLook, goal: ConfGoal) -> ConfStep:
    """The next step to the goal: close partitions, drain hosts, wait for jobs, wait until ended ones are forgotten."""
    return _close(look, goal) or _drain(look, goal) or _wait(look, goal) or _forget(look, goal)


def _close(look: ConfLook, goal: ConfGoal) -> ConfStep | None:
    open_ = _open(look, goal.leaving)
    if open_ and look.can_close:
        return SetStates({name: CLOSED[state] for name, state in open_.items()}, open_)
    return GiveUp(_cannot_close(open_, goal), cause="blocked") if open_ and not goal.all_waiting else None


def _drain(look: ConfLook, goal: ConfGoal) -> ConfStep | None:
    drains, refused = _drains(look, goal)
    if refused:
        return GiveUp("; ".join(refused), cause="blocked")
    return DrainHosts(drains) if drains else None


def _forget(look: ConfLook, goal: ConfGoal) -> ConfStep:
    remembered = sum(each.over and not set(each.partitions).isdisjoint(goal.leaving.partitions) for each in look.jobs)
    if not remembered or look.can_close or goal.all_waiting:
        return Clear()
    if goal.forget_at is None or look.now < goal.forget_at:
        why = "slurmctld before 26.05 may crash where one it remembers has lost its partition"
        return Await(f"slurmctld has {remembered} ended job(s) of {_names(goal.leaving)} to forget: {why}", remembering=True)
    return Clear(remembered)


def held_by(look: ConfLook, goal: ConfGoal) -> tuple[Queued, ...]:
    """Jobs that would be lost now, running ones first."""
    found = [each for each in look.jobs if _holds(each, goal)]
    return tuple(sorted(found, key=lambda each: (each.waits, each.job.job_id)))


def _holds(each: Queued, goal: ConfGoal) -> bool:
    going = goal.leaving
    if goal.all_waiting:
        return each.waits or (not each.over and not set(going.nodes).isdisjoint(each.job.nodes))
    if each.lost_with(going.partitions) or each.needs(going.hosts):
        return True
    return not each.over and not set(going.changed).isdisjoint(each.job.nodes)


def _open(look: ConfLook, going: Leaving) -> dict[str, str]:
    """Partitions that take new jobs, with their state."""
    states = {name: look.partitions[name] for name in going.partitions if name in look.partitions}
    return {
        name: next((each for each in CLOSED if each in found), "UP")
        for name, found in states.items()
        if not found & TAKES_NONE
    }


def _drains(look: ConfLook, goal: ConfGoal) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Hosts to drain, and why some can't be."""
    drains, refused = [], []
    for host in () if goal.all_waiting else goal.leaving.nodes:
        record = look.cluster.nodes.get(host)
        if record is None or "DRAIN" in record.states:
            continue
        if drainable(record, goal.owner):
            drains.append(host)
        else:
            refused.append(
                f"{record.reason_user or 'somebody'} marked {host} without draining it ({record.reason!r}), and a drain of"
                " ours would overwrite that: drain it by hand with its reason, or return it to service"
            )
    return tuple(drains), tuple(refused)


def _unfree(look: ConfLook, goal: ConfGoal) -> tuple[str, ...]:
    """A line for each host that isn't free although no job of the list is on it."""
    lines = []
    for host in () if goal.all_waiting else goal.leaving.nodes:
        judged = verdict(host, look.cluster, look.now)
        if not isinstance(judged, Free) and not look.cluster.jobs(host):
            lines.append(f"{host}: {judged.why}")
    return tuple(lines)


def _wait(look: ConfLook, goal: ConfGoal) -> ConfStep | None:
    holding, unfree = held_by(look, goal), _unfree(look, goal)
    if not holding and not unfree:
        return None
    why = "; ".join([*lines(holding, goal.leaving), *unfree])
    if look.now < goal.deadline_at:
        return Await(f"waiting for {why}")
    if look.now < goal.ends_at:
        step = _last_resort(look, goal, holding)
        if step is not None:
            return step
    undo = goal.policy.on_deadline == "undo"
    what = (
        "partitions and hosts are given back"
        if undo
        else "partitions stay closed and hosts drained; `pulumi up` again goes on, and gives them back where the file has"
        " them again"
    )
    said = "Jobs were touched only as the policy says" if goal.policy.overtime_s else "No job was touched"
    return GiveUp(
        f"the deadline ({iso(goal.deadline_at)}) is over, and slurm.conf can't lose {_names(goal.leaving)} yet: {why}."
        f" {said}, slurm.conf is as it was, and {what}",
        cause="deadline",
        undo=undo,
    )


def _last_resort(look: ConfLook, goal: ConfGoal, holding: tuple[Queued, ...]) -> ConfStep | None:
    """What the policy does; None where it does nothing, or nothing that helps."""
    if goal.policy.on_deadline == "requeue":
        return _requeue(goal, holding)
    if goal.policy.on_deadline == "cancel":
        return _cancel(look, goal, holding)
    return None


def _requeue(goal: ConfGoal, holding: tuple[Queued, ...]) -> ConfStep | None:
    """A requeued job waits in the same partition, with the same --nodelist: only what is on a host can be helped so."""
    able = [
        each
        for each in holding
        if not each.waits and each.job.requeueable and not each.lost_with(goal.leaving.partitions) and not goal.all_waiting
        if each.required is not None and set(each.required).isdisjoint(goal.leaving.hosts)
    ]
    fresh = [each for each in able if "COMPLETING" not in each.job.states]
    if fresh:
        return Act("requeue", _handles(fresh))
    return Await("requeued jobs are leaving their hosts") if able else None


def _cancel(look: ConfLook, goal: ConfGoal, holding: tuple[Queued, ...]) -> ConfStep:
    running = [each for each in holding if not each.waits]
    if goal.signalled_at is None and running:
        return Act("signal", _handles(running))
    if goal.signalled_at is not None and look.now < goal.signalled_at + goal.policy.grace_s:
        return Await(f"jobs were sent {goal.policy.signal}, and are cancelled {goal.policy.grace_s} s later")
    fresh = [each for each in holding if "COMPLETING" not in each.job.states]
    return Act("cancel", _handles(fresh)) if fresh else Await("cancelled jobs are ending")


def _handles(jobs: Iterable[Queued]) -> tuple[int | str, ...]:
    return tuple(dict.fromkeys(each.job.handle for each in jobs))


def lines(holding: Iterable[Queued], going: Leaving) -> tuple[str, ...]:
    """A sentence for each thing that leaves and the jobs that need it; running and waiting apart."""
    by: dict[str, tuple[list[JobView], list[JobView]]] = {}
    for each in holding:
        by.setdefault(_because(each, going), ([], []))[each.waits].append(each.job)
    return tuple(f"{what}: {_in_words(*groups)}" for what, groups in sorted(by.items()))


def _because(each: Queued, going: Leaving) -> str:
    if each.lost_with(going.partitions):
        return f"partition {each.partitions[0]}" if each.partitions else "a job whose partition can't be read"
    on = sorted(set(going.nodes).intersection(each.job.nodes))
    if on:
        return f"host {on[0]}"
    named = sorted(set(going.hosts).intersection(each.required or ()))
    return f"host {named[0]}, by --nodelist" if named else "the queue"


def _in_words(running: list[JobView], waiting: list[JobView]) -> str:
    queue = ", ".join(f"{job.shown} of {job.user or 'unknown'}" for job in waiting[:4])
    more = f" and {len(waiting) - 4} more" if len(waiting) > 4 else ""
    parts = [jobs_in_words(running)] if running else []
    return "; ".join([*parts, *([f"{len(waiting)} waiting in the queue ({queue}{more})"] if waiting else [])])


def _cannot_close(open_: Mapping[str, str], goal: ConfGoal) -> str:
    commands = "; ".join(
        f"{goal.by_hand} scontrol update partitionname={name} state={CLOSED[state].lower()}" for name, state in open_.items()
    )
    return (
        f"slurmrestd is older than 26.05 and can't close a partition, so a job might come into {', '.join(open_)} while"
        f" slurm.conf loses it. Nothing was changed. Close it, then run `pulumi up` again: {commands}"
    )


def _names(going: Leaving) -> str:
    parts = [*(f"partition {name}" for name in going.partitions), *(f"host {name}" for name in going.nodes)]
    return ", ".join(parts)
