"""Slurm's nodes, jobs and reservations as plain frozen values; :mod:`slinky_iac.slurmrest.raw` reads them.

Standard library only, so that the planner can use them for nothing. Times are seconds since 1970; ``None`` stands for
"not set" or "no end".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

BASE_STATES = frozenset({"INVALID", "UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE", "EXTERNAL"})
"""Exactly one of these is in a node's state; the rest are flags (slurm.h, enum node_states)."""
UNREADABLE: Final = "UNREADABLE"
"""No state of Slurm's: stands beside or for the states of a row of which what a drain decides by can't be read."""


@dataclass(frozen=True, slots=True)
class Node:
    """One Slurm node, as the *list* of nodes says: the single GET is stale (trap 3)."""

    name: str
    state: frozenset[str]
    base: str
    """The base state, or ``""`` where ``state`` doesn't hold exactly one: then nothing is known."""
    reason: str
    """Who set it can't be told from ``reason_user`` where it is empty (trap: ``"root"`` or ``""``)."""
    reason_user: str
    reason_changed_at: int | None
    alloc_cpus: int
    features: tuple[str, ...]
    active_features: tuple[str, ...]
    partitions: tuple[str, ...]
    resume_after: int | None
    """When slurmctld will undrain it by itself; None: never."""
    comment: str
    """NOTE: written by slurm-operator (JSON about the pod); never by us."""
    reservation: str
    hostname: str = ""
    address: str = ""
    last_busy: int | None = None
    boot_time: int | None = None
    slurmd_started: int | None = None
    version: str = ""
    unreadable: str = ""
    """Why this row can't be read; then ``state`` is :data:`UNREADABLE` alone, and nothing else is known but the name."""

    @property
    def trouble(self) -> str:
        """What can't be read and why, for a message; empty where all was read."""
        return f"node {self.name} can't be read: {self.unreadable}" if self.unreadable else ""

    @property
    def drained_or_draining(self) -> bool:
        """DRAIN stands and nothing is lifting it: no job is placed here."""
        return "DRAIN" in self.state and not self.state & {"UNDRAIN", "RESUME"}


@dataclass(frozen=True, slots=True)
class Job:
    """One job (or task of an array, or component of a het job)."""

    job_id: int
    array_job_id: int | None
    array_task_id: int | None
    """None for jobs outside arrays and for the part of an array whose tasks haven't been split off yet."""
    het_job_id: int | None
    het_offset: int | None
    name: str
    user: str
    account: str
    partition: str
    states: frozenset[str]
    nodes: tuple[str, ...]
    """Nodes that it holds (or, completing, still holds), expanded; empty while pending."""
    submitted: int | None
    start: int | None
    end: int | None
    """When its time limit ends it; None: no limit, or unknown. A suspended job's end moves on."""
    time_limit_min: int | None
    """Minutes; None: unlimited (or, pending, the partition's default)."""
    exclusive: bool
    requeueable: bool
    restarts: int
    reservation: str
    state_reason: str
    required: tuple[str, ...] | None = ()
    """Nodes that its owner named (``--nodelist``), expanded; None where the text can't be read."""
    features: str = ""
    """``--constraint``, as its owner wrote it."""
    node_count: int | None = None
    """Fewest nodes that it takes; None where Slurm doesn't say."""
    batch: bool = False
    """Its work is a script that slurmd runs; else it ends with the srun, or the shell of the salloc, that asked for it."""
    submitted_from: str = ""
    """Name of the host where it was asked for."""
    unreadable: str = ""
    """Why this row can't be read. What of it could be is here all the same; where its states or its nodes couldn't,
    ``states`` has :data:`UNREADABLE`, and without nodes it may hold any."""

    @property
    def trouble(self) -> str:
        """What can't be read and why, for a message; empty where all was read."""
        which = f"job {self.label}" if self.job_id else "a job without a readable id"
        return f"{which} can't be read: {self.unreadable}" if self.unreadable else ""

    @property
    def label(self) -> str:
        """As squeue writes it: ``17``, ``12_3``, ``20+1``."""
        if self.het_job_id is not None:
            return f"{self.het_job_id}+{self.het_offset or 0}"
        if self.array_job_id is not None:
            return self.task or f"{self.array_job_id}_[…]"
        return str(self.job_id)

    @property
    def task(self) -> str:
        """``12_3`` for a task of an array, ``""`` for any other job."""
        return f"{self.array_job_id}_{self.array_task_id}" if self.array_task_id is not None else ""


@dataclass(frozen=True, slots=True)
class Reservation:
    """A Slurm reservation; ``nodes`` expanded."""

    name: str
    nodes: tuple[str, ...]
    start: int | None
    end: int | None
    flags: frozenset[str]
    users: tuple[str, ...]
    accounts: tuple[str, ...]
    partition: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that slurmdbd knows. ``host`` empty and ``port`` 0: its slurmctld isn't registered."""

    name: str
    host: str
    port: int
    nodes: str
    rpc_version: int
    """slurmctld's protocol: 24.11 = 10752, 26.05 = 11520; the only way to its release over REST before 26.05."""


@dataclass(frozen=True, slots=True)
class Accounted:
    """One run of a job as slurmdbd has it; a job that was requeued has one for each run."""

    job_id: int
    states: frozenset[str]
    nodes: tuple[str, ...]
    """Empty where the list can't be read too."""
    start: int | None
    end: int | None
    """None while it goes on, or while slurmdbd hasn't heard of its end."""


@dataclass(frozen=True, slots=True)
class Ping:
    """slurmrestd's look at one slurmctld. ``responding`` False also where only the *token* is refused (trap 8)."""

    hostname: str
    responding: bool
    primary: bool
    mode: str


@dataclass(frozen=True, slots=True)
class Pings:
    """Answer to ping; ``release`` is slurmrestd's own, not slurmctld's."""

    controllers: tuple[Ping, ...]
    release: str
    cluster: str


@dataclass(frozen=True, slots=True)
class Diag:
    """Some numbers that slurmctld gives only to a good token: the proof that the key is right."""

    release: str
    cluster: str
    jobs_running: int
    jobs_pending: int


@dataclass(frozen=True, slots=True)
class JobWord:
    """What Slurm said about one job that was to be signalled, cancelled or requeued (trap 1: 200 says nothing)."""

    job: str
    error_number: int | None
    """0: done; None: the answer has no word about this job, so nothing is known."""
    text: str

    @property
    def done(self) -> bool:
        return self.error_number == 0

    @property
    def gone(self) -> bool:
        """Nothing was left to do: it had ended, Slurm doesn't know it any more, or it waits in the queue already."""
        return self.error_number in (2017, 2021, 2024)


@dataclass(frozen=True, slots=True)
class NodesAnswer:
    """All nodes at one moment. ``asked`` and ``answered`` are monotonic seconds of this process."""

    nodes: tuple[Node, ...]
    last_update: int
    asked: float
    answered: float
    cluster: str = ""
    """ClusterName in slurmrestd's own slurm.conf; slurmctld's may be another: :meth:`SlurmrestClient.controller_cluster`."""

    @property
    def unreadable(self) -> tuple[Node, ...]:
        """Nodes whose row can't be read; they are among ``nodes``, in a state that no rule takes for a good one."""
        return tuple(node for node in self.nodes if node.unreadable)

    def by_name(self) -> dict[str, Node]:
        """The nodes by name."""
        return {node.name: node for node in self.nodes}

    def still_so(self, asked: float, answered: float) -> NodesAnswer:
        """The same nodes, confirmed again by a 304."""
        return replace(self, asked=asked, answered=answered)


@dataclass(frozen=True, slots=True)
class JobsAnswer:
    """All jobs at one moment. ``asked`` and ``answered`` are monotonic seconds of this process."""

    jobs: tuple[Job, ...]
    last_update: int
    asked: float
    answered: float
    clusters: frozenset[str] = frozenset()
    """ClusterName of slurmctld as the rows have it: it is slurmctld that writes it there. Empty without a job."""

    @property
    def unreadable(self) -> tuple[Job, ...]:
        """Jobs whose row can't be read; they are among ``jobs``, and hold their nodes, or without a list of them any."""
        return tuple(job for job in self.jobs if job.unreadable)
