"""The two long lists, nodes and jobs, read row by row while they arrive. A row that can't be read costs that row.

Anybody may name a job as he likes, and slurmrestd passes the bytes on. So a row with something that can't be read stays in
the list as what it is: a node of which nothing is known, or a job that holds its nodes, or any node where it doesn't say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from slinky_iac.decoders import decoder
from slinky_iac.errors import SlurmrestGarbage
from slinky_iac.kube.wire import quote
from slinky_iac.slurmrest.answers import UNREADABLE as UNREADABLE_BYTES
from slinky_iac.slurmrest.answers import legible
from slinky_iac.slurmrest.controller import RowlessJobs, RowlessNodes
from slinky_iac.slurmrest.objects import NO_TEXT, UNREADABLE, Job, Node, Wire
from slinky_iac.slurmrest.rows import RowSieve

Hide = Callable[[bytes], bytes]
Row = TypeVar("Row")


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
class Counted:
    """How many jobs slurmctld has."""

    tasks: int
    """Those that run or wait, each task of an array counted as one (`diag/`)."""
    records: int
    """Records, ended jobs' too; tasks of an array that wait are one."""


@dataclass(frozen=True, slots=True)
class JobsAnswer:
    """All jobs at one moment. ``asked`` and ``answered`` are monotonic seconds of this process."""

    jobs: tuple[Job, ...]
    last_update: int
    asked: float
    answered: float
    clusters: frozenset[str] = frozenset()
    """ClusterName of slurmctld as the rows have it. Empty without a job."""
    left_out: int = 0
    """Jobs that wait and are not among ``jobs``, each task of an array counted as one."""
    counted: Counted | None = None
    """What was known of their number; None where it was not asked for."""

    @property
    def unreadable(self) -> tuple[Job, ...]:
        """Jobs whose row can't be read; they are among ``jobs``, and hold their nodes, or without a list of them any."""
        return tuple(job for job in self.jobs if job.unreadable)


class _AnyNode(Wire, frozen=True):
    """What can be had of a node's row that isn't what Slurm documents."""

    name: Any = None


class _AnyJob(Wire, frozen=True):
    """What can be had of a job's row that isn't what Slurm documents."""

    job_id: Any = None
    job_state: Any = None
    nodes: Any = None
    user_name: Any = ""
    partition: Any = ""


class Rows(Generic[Row]):
    """A sieve that keeps each row as a value, but for those that ``read`` leaves out."""

    def __init__(self, key: str, read: Callable[[bytes], Row | None], hide: Hide) -> None:
        self.found: list[Row] = []
        self._read = read
        self._sieve = RowSieve(key, self._take, hide)

    def feed(self, chunk: bytes) -> None:
        """The next piece of the answer."""
        self._sieve.feed(chunk)

    def rest(self) -> bytes:
        """The answer without its rows."""
        return self._sieve.rest()

    def _take(self, row: bytes, *, certain: bool) -> bool:
        row = legible(row)
        try:
            record = self._read(row)
        except UNREADABLE_BYTES as error:
            if not certain:
                return False
            record = self._salvaged(row, quote(str(error)))
        if record is not None:
            self.found.append(record)
        return True

    def _salvaged(self, row: bytes, why: str) -> Row | None:
        """What a row that can't be read counts as."""
        raise NotImplementedError


class NodeRows(Rows[Node]):
    """The rows of GET nodes/."""

    def __init__(self, hide: Hide = bytes) -> None:
        super().__init__("nodes", decoder(Node).decode, hide)

    def answer(self, body: RowlessNodes, asked: float, answered: float) -> NodesAnswer:
        """Raises :class:`SlurmrestGarbage` where a name occurs twice: then neither row can be trusted."""
        names = [node.name for node in self.found if NO_TEXT not in node.name]
        if len(set(names)) != len(names):
            raise SlurmrestGarbage("nodes: a node is listed twice. Nothing was concluded from the list")
        return NodesAnswer(tuple(self.found), body.last_update.number, asked, answered, body.meta.slurm.cluster)

    def _salvaged(self, row: bytes, why: str) -> Node:
        try:
            name = decoder(_AnyNode).decode(row).name
        except UNREADABLE_BYTES:
            name = None
        if not isinstance(name, str) or not name:
            # Any node could be the one that it is about, and one that isn't listed counts as gone.
            raise SlurmrestGarbage(f"nodes: a row without a readable name ({why}). Nothing was concluded from the list")
        return Node.unknown(name, why)


class JobRows(Rows[Job]):
    """The rows of GET jobs/."""

    def __init__(self, hide: Hide = bytes) -> None:
        super().__init__("jobs", decoder(Job).decode, hide)

    def answer(self, body: RowlessJobs, asked: float, answered: float) -> JobsAnswer:
        """All of them."""
        clusters = frozenset(job.cluster for job in self.found if job.cluster)
        return JobsAnswer(tuple(self.found), body.last_update.number, asked, answered, clusters)

    def _salvaged(self, row: bytes, why: str) -> Job:
        """The row as far as it can be read. Missing states or nodes may be any."""
        try:
            raw = decoder(_AnyJob).decode(row)
        except UNREADABLE_BYTES:
            raw = _AnyJob()
        known = isinstance(raw.job_id, int) and raw.job_id > 0 and not isinstance(raw.job_id, bool)
        states = frozenset(raw.job_state) if _texts(raw.job_state) else frozenset({UNREADABLE})
        return Job.half_read(
            why,
            raw.job_id if known else 0,
            states,
            nodes=raw.nodes if isinstance(raw.nodes, str) else NO_TEXT,
            user=raw.user_name if isinstance(raw.user_name, str) else "",
            partition=raw.partition if isinstance(raw.partition, str) else "",
        )


def _texts(states: object) -> bool:
    """Whether it is a list of states that can be read."""
    return isinstance(states, list) and bool(states) and all(isinstance(s, str) and s and NO_TEXT not in s for s in states)
