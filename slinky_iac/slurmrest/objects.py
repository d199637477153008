"""Slurm's nodes, jobs and the rest as slurmrestd writes them, read straight from its JSON, frozen, by Slurm's own names.

Field names are the same in REST v0.0.44 and v0.0.45 (data_parser's parsers.c). A field without a default is one that a
drain decides by: a row without it isn't read. All else may be missing; no key of Slurm's ends with ``(ours)``. Moments are
seconds since 1970. No bytes whatever make the reading raise anything but :data:`slinky_iac.slurmrest.answers.UNREADABLE`.
States: slurm.h, enum node_states, and slurm_protocol_defs.c (node_state_string, job flags).
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import lru_cache
from typing import Annotated, Any, Final, TypeVar

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr, replace

from slinky_iac.errors import HostlistError
from slinky_iac.hostlist import expand
from slinky_iac.names import OPERATOR_REASON_PREFIX, registered_by, stack_job
from slinky_iac.text import one_line

UNREADABLE: Final = "UNREADABLE"
"""No state of Slurm's: stands beside or for the states of a row of which what a drain decides by can't be read."""
NO_TEXT: Final = "\ufffd"
"""Stands for bytes that aren't text; in a name, a state or a list of nodes it makes the row unreadable."""
FOREIGN_BYTES: Final = "its {} has bytes that aren't text"

BUSY_STATES: Final = frozenset({"ALLOCATED", "MIXED", "COMPLETING"})
"""Node states in which work is on the node; slurm-operator's IsNodeDrained tests exactly these."""
CALM_STATES: Final = frozenset({"IDLE", "DOWN"})
"""Base states that, with DRAIN, can be free."""
LOST_STATES: Final = frozenset({"DOWN", "NOT_RESPONDING"})
"""slurmctld gets no answer from the node's slurmd."""
AWAY_STATES: Final = frozenset({"POWERED_DOWN", "POWERING_DOWN", "FUTURE"})
"""The node has no slurmd, and isn't meant to have one now."""
_SAYS_NOTHING: Final = frozenset({"INVALID", "UNKNOWN", "ERROR", "FUTURE"})
_NODE_BASES: Final = CALM_STATES | {"ALLOCATED", "MIXED"} | _SAYS_NOTHING
"""A node has exactly one of these; all else, EXTERNAL too, is a flag."""
_LIFTS_A_DRAIN: Final = frozenset({"UNDRAIN", "RESUME"})
"""Both are requests: slurmctld clears DRAIN at once and keeps neither in a node's state (node_mgr.c, update_node), but its
data parser has a word for both, so a release that keeps one means that the node goes back to work."""

STANDS_STILL: Final = frozenset({"SUSPENDED", "STOPPED"})
"""A job that holds its nodes and does nothing: suspended, its nodes have no CPU allocated."""
_PENDING: Final = frozenset({"PENDING"})
_ON_NODES: Final = frozenset({"RUNNING", "SUSPENDED"})
_HOLDS_NOTHING: Final = _PENDING | {
    "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY",
}  # fmt: skip
"""Base states in which a job holds no node, unless a flag says more."""

_HOST: Final = re.compile(r"[A-Za-z0-9._-]+")
Shared = TypeVar("Shared", bound=Hashable)


class Wire(Struct, frozen=True):
    """Base of what is read: types are never bent to fit, and unknown fields are ignored."""


class Number(Wire, frozen=True, gc=False):
    """Slurm's number that may be unset or infinite."""

    set: bool = False
    infinite: bool = False
    number: int = 0

    @property
    def value(self) -> int | None:
        """The number where it is one and not 0 (Slurm's "never" for times)."""
        return self.number if self.set and not self.infinite and self.number > 0 else None


UNSET: Final = Number()


def plain(number: Number | int) -> int:
    """A number that some releases of slurmrestd write bare."""
    return number if isinstance(number, int) else number.number


Name = Annotated[str, Meta(min_length=1)]
States = Annotated[frozenset[str], Meta(min_length=1)]


class Node(Wire, frozen=True, kw_only=True, gc=False):
    """One Slurm node, as the *list* of nodes says: the answer to a question about a single node is stale."""

    name: Name
    state: States
    """Base state and flags."""
    reason: str
    alloc_cpus: Annotated[int, Meta(ge=0)]
    resume_after: Number
    """When slurmctld will undrain it."""
    partitions: tuple[str, ...]
    active_features: tuple[str, ...]
    features: tuple[str, ...] = ()
    reason_set_by_user: str = ""
    """May be empty, or ``root`` without any reason."""
    reason_changed_at: Number = UNSET
    slurmd_start_time: Number = UNSET
    version: str = ""
    comment: str = ""
    effective_cpus: int = 0  # CPUs that jobs may have, those of the system left out; 0 where Slurm doesn't say
    real_memory: int = 0  # MiB
    specialized_memory: int = 0
    """MiB of it that jobs may not have (MemSpecLimit)."""
    gres: str = ""
    topology: str | None = None  # None: this slurmrestd doesn't tell (before v0.0.43)
    unreadable: str = field(default="", name="unreadable (ours)")
    """Why this row can't be read (no field of Slurm's); then ``state`` is :data:`UNREADABLE`, the name alone is known."""

    def __post_init__(self) -> None:
        for name in ("state", "partitions", "active_features", "features", "version"):
            force_setattr(self, name, _same(getattr(self, name)))
        if NO_TEXT not in self.name and _legible(self.state):
            return
        for name, value in (("state", frozenset({UNREADABLE})), ("reason", ""), ("alloc_cpus", 0)):
            force_setattr(self, name, value)
        force_setattr(self, "unreadable", FOREIGN_BYTES.format("name" if NO_TEXT in self.name else "state"))

    @classmethod
    def unknown(cls, name: str, why: str) -> Node:
        """A node of which only the name can be read."""
        return cls(
            name=name,
            state=frozenset({UNREADABLE}),
            reason="",
            alloc_cpus=0,
            resume_after=UNSET,
            partitions=(),
            active_features=(),
            unreadable=why,
        )

    @property
    def trouble(self) -> str:
        """What can't be read and why, for a message; empty where all was read."""
        return f"node {self.name} can't be read: {self.unreadable}" if self.unreadable else ""

    @property
    def known(self) -> bool:
        """Exactly one base state, and one that says something: otherwise nothing may be concluded from the record."""
        bases = self.state & _NODE_BASES
        return not self.unreadable and len(bases) == 1 and not bases & _SAYS_NOTHING

    @property
    def drained_or_draining(self) -> bool:
        """DRAIN stands and nothing is lifting it: slurmctld places no job here. Jobs may still run; whether none can is for
        :func:`slinky_iac.drain.free.verdict` to say."""
        return "DRAIN" in self.state and not self.state & _LIFTS_A_DRAIN

    @property
    def busy(self) -> bool:
        """Work is on it, by its own record. A suspended job leaves no trace here."""
        return bool(self.state & BUSY_STATES) or self.alloc_cpus > 0

    @property
    def lost(self) -> bool:
        """slurmctld gets no answer from its slurmd."""
        return bool(self.state & LOST_STATES)

    def registered_by(self, nodeset: str) -> bool:
        """Whether a pod of the NodeSet registered it, as its feature tells; the pod may be gone, or another stack's."""
        return registered_by(self.state, (*self.features, *self.active_features), nodeset)

    @property
    def state_text(self) -> str:
        """All its states for a message, as ``DRAIN+IDLE``."""
        return "+".join(sorted(self.state)) or "(empty)"

    @property
    def held_by_operator(self) -> bool:
        """The reason is slurm-operator's. Releases differ in the blank after the colon, so the prefix has none."""
        return self.reason.startswith(OPERATOR_REASON_PREFIX)


class Job(Wire, frozen=True, kw_only=True, gc=False):
    """One job, task of an array or component of a het job."""

    job_id: Annotated[int, Meta(gt=0)]
    job_state: States
    """Base state and flags."""
    nodes: str
    """Nodes that it holds, or still holds while it completes, as a hostlist; see :attr:`node_names`."""
    user_name: str  # ``uid 20001`` where slurmctld's host knows no name of it
    partition: str
    """By comma, in the order of ``--partition``; of a running job the first is the one that it runs in."""
    time_limit: Number
    """Minutes; unset or infinite: unlimited, or while pending the partition's default."""
    start_time: Number
    end_time: Number
    name: str = ""
    array_job_id: Number = UNSET
    array_task_id: Number = UNSET
    """Unset for jobs outside arrays, and for the part of an array whose tasks haven't been split off yet."""
    het_job_id: Number = UNSET
    het_job_offset: Number = UNSET
    requeue: bool = False
    restart_cnt: int = 0
    user_id: Any = None
    cluster: str = ""
    """ClusterName of slurmctld: it is slurmctld that writes it there."""
    required_nodes: str = ""
    """``--nodelist`` as a hostlist; any user may write here what slurmctld reads. See :attr:`required`."""
    features: str = ""
    """``--constraint``, as its owner wrote it."""
    node_count: Number = UNSET
    """Fewest nodes that it takes."""
    batch_flag: bool = False
    """Its work is a script that slurmd runs; otherwise it ends with the srun, or the shell of the salloc, that asked."""
    allocating_node: str = ""
    """Name of the host where it was asked for."""
    admin_comment: str = ""
    """What an administrator wrote of it; no user can."""
    node_names: tuple[str, ...] = field(default=(), name="node_names (ours)")
    """Names of the nodes that it holds, each once, from :attr:`nodes` (no field of Slurm's); none where they can't be
    read."""
    required: tuple[str, ...] | None = field(default=(), name="required (ours)")
    """Nodes that its owner named, from :attr:`required_nodes` (no field of Slurm's); None where that can't be read."""
    expected_end: int | None = field(default=None, name="expected_end (ours)")
    """When it leaves its nodes at the latest (no field of Slurm's). None where nothing says so: without a time limit, when
    slurmctld writes an end one year on (job_mgr.c, INFINITE), and while it is suspended, when its clock stands still."""
    unreadable: str = field(default="", name="unreadable (ours)")
    """Why this row can't be read (no field of Slurm's). What of it could be is here all the same; where its states or its
    nodes couldn't, ``job_state`` has :data:`UNREADABLE`, and without nodes it may hold any."""

    def __post_init__(self) -> None:
        if not self.user_name and type(self.user_id) is int:
            force_setattr(self, "user_name", f"uid {self.user_id}")
        for name in _REPEATED:
            force_setattr(self, name, _same(getattr(self, name)))
        names, why = expanded(self.nodes)
        force_setattr(self, "node_names", names)
        named, unread = expanded(self.required_nodes) if self.required_nodes else ((), "")
        force_setattr(self, "required", None if unread else named)
        why = why if _legible(self.job_state) else FOREIGN_BYTES.format("state")
        if why and not self.unreadable:
            force_setattr(self, "unreadable", why)
            force_setattr(self, "job_state", _same(self.job_state | {UNREADABLE}))
        limited = self.time_limit.value is not None and self.job_state.isdisjoint(STANDS_STILL)
        force_setattr(self, "expected_end", self.end_time.value if limited else None)

    @classmethod
    def half_read(
        cls, why: str, job_id: int, states: frozenset[str], *, nodes: str = NO_TEXT, user: str = "", partition: str = ""
    ) -> Job:
        """A job of which only so much can be read; without nodes it may hold any."""
        job = cls(
            job_id=job_id,
            job_state=states,
            nodes=nodes,
            user_name=user,
            partition=partition,
            time_limit=UNSET,
            start_time=UNSET,
            end_time=UNSET,
            required_nodes=NO_TEXT,
        )
        return replace(job, unreadable=why)

    def of(self, user_name: str) -> Job:
        """The job under another user's name."""
        return replace(self, user_name=user_name)

    @property
    def of_stack(self) -> str:
        """``jobs.bench of stack dev`` for a job that a stack has submitted."""
        return stack_job(self.admin_comment)

    @property
    def trouble(self) -> str:
        """What can't be read and why, for a message; empty where all was read."""
        which = f"job {self.label}" if self.job_id else "a job without a readable id"
        return f"{which} can't be read: {self.unreadable}" if self.unreadable else ""

    @property
    def partitions(self) -> tuple[str, ...]:
        """Names of its partitions."""
        return by_comma(self.partition)

    @property
    def least(self) -> int:
        """Fewest nodes that it takes."""
        return self.node_count.value or 1

    @property
    def label(self) -> str:
        """As squeue writes it: ``17``, ``12_3``, ``20+1``."""
        if (het := self.het_job_id.value) is not None:
            return f"{het}+{self.het_job_offset.value or 0}"
        if (array := self.array_job_id.value) is not None:
            return self.task or f"{array}_[…]"
        return str(self.job_id)

    @property
    def task(self) -> str:
        """``12_3`` for a task of an array, ``""`` for any other job."""
        array, task = self.array_job_id.value, self.array_task_id
        return f"{array}_{task.number}" if array is not None and task.set and not task.infinite else ""

    @property
    def handle(self) -> int | str:
        """What a request names so that Slurm acts on this job and no other.

        The last task that leaves an array keeps the array's id, and slurmctld takes a bare array id for every task of it:
        those that wait and those on other nodes (job_mgr.c: foreach_job_by_id, job_requeue2).
        """
        return self.task or self.job_id

    @property
    def active(self) -> bool:
        """Whether it may hold its nodes."""
        return may_hold_nodes(self.job_state)

    @property
    def unplaced(self) -> bool:
        """It runs, and Slurm doesn't say where, or in bytes that can't be read. (A job that only completes and has no node
        left was lost before.)"""
        if self.node_names:
            return False
        states = self.job_state
        return UNREADABLE in states or (bool(states & _ON_NODES) and "COMPLETING" not in states)

    @property
    def waits(self) -> bool:
        """It is pending and holds no node."""
        return only_waits(self.job_state)

    @property
    def over(self) -> bool:
        """It has ended, and slurmctld still remembers it (MinJobAge)."""
        return not self.active and not self.waits


_REPEATED: Final = (
    "job_state", "nodes", "user_name", "partition", "time_limit", "array_job_id", "array_task_id", "het_job_id",
    "het_job_offset", "cluster", "required_nodes", "features", "node_count", "allocating_node",
)  # fmt: skip
"""Fields of which a hundred thousand jobs share few values."""


def by_comma(text: str) -> tuple[str, ...]:
    """The names in a list."""
    return tuple(name for name in text.split(",") if name)


@lru_cache(maxsize=1 << 16)
def _same(value: Shared) -> Shared:
    """One object for all equal ones: a user has thousands of jobs."""
    return value


def expanded(text: str) -> tuple[tuple[str, ...], str]:
    """The names of a hostlist, each once, and why it can't be read."""
    return (_same((text,)), "") if _HOST.fullmatch(text) else _many(text)


@lru_cache(maxsize=1 << 10)
def _many(text: str) -> tuple[tuple[str, ...], str]:
    if NO_TEXT in text:
        return (), FOREIGN_BYTES.format("node list")
    try:
        return tuple(dict.fromkeys(expand(text))), ""
    except HostlistError as error:
        return (), one_line(str(error))


@lru_cache(maxsize=1 << 10)
def may_hold_nodes(states: frozenset[str]) -> bool:
    """Whether a job in these states may hold nodes: anything but pending alone or finished alone.

    ``COMPLETED`` with ``COMPLETING`` may (its epilog runs), and so may two base states at once, and a state unknown here.
    ``REVOKED`` (the job runs in another cluster of a federation) makes no difference.
    """
    rest = states - {"REVOKED"}
    return len(rest) != 1 or not rest <= _HOLDS_NOTHING


def only_waits(states: frozenset[str]) -> bool:
    """Whether a job in these states is pending and holds no node."""
    return bool(states & _PENDING) and not may_hold_nodes(states)


@lru_cache(maxsize=1 << 10)
def _legible(states: frozenset[str]) -> bool:
    return not any(NO_TEXT in state for state in states)
