"""When a node is free: the one rule by which pods and hosts are given up. Pure.

Source: slurmrestd.md, section 4, tested on Slurm 24.11 and 26.05. It is stricter than slurm-operator's own
(``IsNodeDrained``), which takes the node of a suspended job for drained and kills the job.

What it can't see: slurmctld saves a drain only some seconds after it accepted it (3 s seen on 26.05.5); killed before,
it comes back without it. So whoever acts on ``Free`` looks once more as late as possible.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from slinky_iac.slurmrest.models import BASE_STATES, Job, JobsAnswer, Node, NodesAnswer

HOLD_S = 120
"""A drain that slurmctld lifts by itself within this many seconds doesn't count as held: what follows takes time."""

KNOWN_FLAGS = frozenset(
    {
        *("RESERVED", "UNDRAIN", "CLOUD", "RESUME", "DRAIN", "COMPLETING", "NOT_RESPONDING", "POWERED_DOWN", "FAIL"),
        *("POWERING_UP", "MAINTENANCE", "REBOOT_REQUESTED", "REBOOT_CANCELED", "POWERING_DOWN", "DYNAMIC_FUTURE"),
        *("REBOOT_ISSUED", "PLANNED", "INVALID_REG", "POWER_DOWN", "POWER_UP", "POWER_DRAIN", "DYNAMIC_NORM"),
        *("POWER_DOWN_ASAP", "POWER_DOWN_FORCE"),
        "BLOCKED",
    }
)
"""Every flag in the schemas of v0.0.44 and v0.0.45. One we don't know could mean anything, jobs too."""

REBOOTS = frozenset({"REBOOT_REQUESTED", "REBOOT_ISSUED"})


@dataclass(frozen=True, slots=True)
class Free:
    """Drained, and no job holds it. ``lost``: it doesn't answer, so processes may live on a host cut off."""

    lost: bool = False


@dataclass(frozen=True, slots=True)
class Busy:
    """Jobs hold it. Empty ``jobs``: Slurm counts the node as used and names no job (a job between two states)."""

    jobs: tuple[Job, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing may be concluded; ask again. Never free."""

    why: str


@dataclass(frozen=True, slots=True)
class NotDrained:
    """No drain holds it: a job may start at any moment, whatever runs now (``jobs``)."""

    why: str
    jobs: tuple[Job, ...] = ()


@dataclass(frozen=True, slots=True)
class Absent:
    """Slurm doesn't know the node: deleted, or never registered."""


Verdict = Free | Busy | Unknown | NotDrained | Absent


def free(
    names: Iterable[str], nodes: NodesAnswer, jobs: JobsAnswer, *, now: int, hold_s: int = HOLD_S
) -> dict[str, Verdict]:
    """A verdict for each of ``names``.

    ``jobs`` must have been asked for after ``nodes`` was answered: a job that starts between a look at jobs and a later
    look at nodes would be in neither. ``now``: wall seconds, for drains that end by themselves.
    """
    if jobs.asked < nodes.answered:
        late = Unknown("the jobs were asked for before the nodes had answered; ask for the nodes, then for the jobs")
        return dict.fromkeys(names, late)
    holders, homeless = _holders(jobs.jobs)
    known = nodes.by_name()
    return {name: _verdict(known.get(name), name, holders, homeless, now + hold_s) for name in names}


def _verdict(
    node: Node | None, name: str, holders: Mapping[str, tuple[Job, ...]], homeless: tuple[Job, ...], held_until: int
) -> Verdict:
    jobs = holders.get(name, ())
    if node is None:
        return Busy(jobs, "Slurm has no record of the node, and jobs that hold it") if jobs else Absent()
    unclear = _unclear(node, homeless)
    if unclear is not None:
        return Unknown(unclear)
    loose = _loose(node, held_until)
    if loose is not None:
        return NotDrained(loose, jobs)
    if jobs:
        return Busy(jobs, f"{len(jobs)} job(s)")
    if node.base not in ("IDLE", "DOWN") or "COMPLETING" in node.state or node.alloc_cpus:
        return Busy((), f"{_shown(node)}, {node.alloc_cpus} CPUs allocated, but no job listed: one is ending")
    return Free(lost="NOT_RESPONDING" in node.state)


def _loose(node: Node, held_until: int) -> str | None:
    if not node.drained_or_draining:
        return _shown(node)
    if node.resume_after is not None and node.resume_after < held_until:
        return f"slurmctld lifts the drain by itself at {node.resume_after} (resume_after)"
    if node.state & REBOOTS:
        return f"{_shown(node)}: a reboot may end the drain (scontrol reboot nextstate=RESUME)"
    return None


def _unclear(node: Node, homeless: tuple[Job, ...]) -> str | None:
    strange = node.state - KNOWN_FLAGS - BASE_STATES
    if strange:
        return f"state {', '.join(sorted(strange))} is not known to this program"
    if node.base not in ("IDLE", "DOWN", "ALLOCATED", "MIXED"):
        return f"{_shown(node)} says nothing about jobs; ask again later"
    if homeless:
        return f"job {homeless[0].label} is {'+'.join(sorted(homeless[0].states))} but Slurm doesn't say on which nodes"
    return None


def _holders(jobs: Iterable[Job]) -> tuple[dict[str, tuple[Job, ...]], tuple[Job, ...]]:
    """Jobs by the node they hold, and jobs that must hold some node but name none."""
    by_node: defaultdict[str, list[Job]] = defaultdict(list)
    homeless: list[Job] = []
    for job in jobs:
        if not job.holds_nodes:
            continue
        for name in dict.fromkeys(job.nodes):
            by_node[name].append(job)
        # A job that only completes with no node left (its node was deleted under it) holds none any more.
        if not job.nodes and job.states & {"RUNNING", "SUSPENDED"} and "COMPLETING" not in job.states:
            homeless.append(job)
    return {name: tuple(found) for name, found in by_node.items()}, tuple(homeless)


def _shown(node: Node) -> str:
    return "+".join([node.base or "no base state", *sorted(node.state - {node.base})])
