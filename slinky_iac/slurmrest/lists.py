"""The two long lists, nodes and jobs, read row by row while they arrive. A row that can't be read costs that row.

Anybody may name a job as he likes, and slurmrestd passes the bytes on. So a row with something that can't be read stays in
the list as what it is: a node of which nothing is known, or a job that holds its nodes, or any node where it doesn't say.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeVar

import msgspec

from slinky_iac.errors import HostlistError, SlurmrestGarbage
from slinky_iac.hostlist import expand
from slinky_iac.kube.wire import quote
from slinky_iac.slurmrest.answers import UNREADABLE as UNREADABLE_BYTES
from slinky_iac.slurmrest.answers import Strict, legible
from slinky_iac.slurmrest.models import UNREADABLE, Job, JobsAnswer, Node, NodesAnswer
from slinky_iac.slurmrest.raw import JobsBody, NodesBody, RawJob, RawNode
from slinky_iac.slurmrest.rows import RowSieve

NO_TEXT: Final = "\ufffd"
"""Stands for bytes that are no text; in a name, a state or a list of nodes it makes the row unreadable."""
_FOREIGN: Final = "its {} has bytes that are no text"

Hide = Callable[[bytes], bytes]


class _AnyNode(Strict):
    """What can be had of a node's row that isn't what Slurm documents."""

    name: Any = None


class _AnyJob(Strict):
    """What can be had of a job's row that isn't what Slurm documents."""

    job_id: Any = None
    job_state: Any = None
    nodes: Any = None
    user_name: Any = ""
    partition: Any = ""


Row = TypeVar("Row")
Shared = TypeVar("Shared", bound=Hashable)


class _Rows(Generic[Row]):
    """A sieve that keeps each row as a value."""

    def __init__(self, key: str, hide: Hide) -> None:
        self.found: list[Row] = []
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
            self.found.append(self._read(row))
        except UNREADABLE_BYTES as error:
            if not certain:
                return False
            self.found.append(self._salvaged(row, quote(str(error))))
        return True

    def _read(self, row: bytes) -> Row:
        raise NotImplementedError

    def _salvaged(self, row: bytes, why: str) -> Row:
        raise NotImplementedError


class NodeRows(_Rows[Node]):
    """The rows of GET nodes/."""

    def __init__(self, hide: Hide = bytes) -> None:
        super().__init__("nodes", hide)
        self._decoder = msgspec.json.Decoder(RawNode)

    def answer(self, body: NodesBody, asked: float, answered: float) -> NodesAnswer:
        """Raises :class:`SlurmrestGarbage` where a name occurs twice: then neither row can be trusted."""
        names = [node.name for node in self.found if NO_TEXT not in node.name]
        if len(set(names)) != len(names):
            raise SlurmrestGarbage("nodes: a node is listed twice. Nothing was concluded from the list")
        return NodesAnswer(tuple(self.found), body.last_update.number, asked, answered, body.meta.slurm.cluster)

    def _read(self, row: bytes) -> Node:
        node = self._decoder.decode(row).value()
        if NO_TEXT in node.name:
            return _unknown(node.name, _FOREIGN.format("name"))
        if any(NO_TEXT in state for state in node.state):
            return _unknown(node.name, _FOREIGN.format("state"))
        return node

    def _salvaged(self, row: bytes, why: str) -> Node:
        try:
            name = msgspec.json.decode(row, type=_AnyNode).name
        except UNREADABLE_BYTES:
            name = None
        if not isinstance(name, str) or not name:
            # Any node could be the one that it is about, and one that isn't listed counts as gone.
            raise SlurmrestGarbage(f"nodes: a row without a readable name ({why}). Nothing was concluded from the list")
        return _unknown(name, why)


class JobRows(_Rows[Job]):
    """The rows of GET jobs/."""

    def __init__(self, hide: Hide = bytes) -> None:
        super().__init__("jobs", hide)
        self._decoder = msgspec.json.Decoder(RawJob)
        self._nodes: dict[str, tuple[str, ...]] = {"": ()}
        self._same: dict[object, Any] = {}
        self._clusters: set[str] = set()

    def answer(self, body: JobsBody, asked: float, answered: float) -> JobsAnswer:
        """All of them."""
        return JobsAnswer(tuple(self.found), body.last_update.number, asked, answered, frozenset(self._clusters))

    def _read(self, row: bytes) -> Job:
        raw = self._decoder.decode(row)
        nodes, why = self._expanded(raw.nodes)
        if raw.cluster:
            self._clusters.add(raw.cluster)
        if any(NO_TEXT in state for state in raw.job_state):
            why = _FOREIGN.format("state")
        return raw.value(nodes, why, self._shared)

    def _salvaged(self, row: bytes, why: str) -> Job:
        """The row as far as it can be read. Missing states or nodes may be any."""
        try:
            raw = msgspec.json.decode(row, type=_AnyJob)
        except UNREADABLE_BYTES:
            raw = _AnyJob()
        known = isinstance(raw.job_id, int) and raw.job_id > 0 and not isinstance(raw.job_id, bool)
        states = raw.job_state if _texts(raw.job_state) else [UNREADABLE]
        nodes: tuple[str, ...] = ()
        foul = UNREADABLE
        if isinstance(raw.nodes, str):
            nodes, foul = self._expanded(raw.nodes)
        return Job(
            job_id=raw.job_id if known else 0,
            array_job_id=None,
            array_task_id=None,
            het_job_id=None,
            het_offset=None,
            name="",
            user=raw.user_name if isinstance(raw.user_name, str) else "",
            account="",
            partition=raw.partition if isinstance(raw.partition, str) else "",
            states=frozenset([*states, *([UNREADABLE] if foul else [])]),
            nodes=nodes,
            submitted=None,
            start=None,
            end=None,
            time_limit_min=None,
            exclusive=False,
            requeueable=False,
            restarts=0,
            reservation="",
            state_reason="",
            unreadable=why,
            required=None,
        )

    def _expanded(self, text: str) -> tuple[tuple[str, ...], str]:
        """The nodes of a list, and why it can't be read; thousands of jobs share a few lists."""
        found = self._nodes.get(text)
        if found is not None:
            return found, ""
        if NO_TEXT in text:
            return (), _FOREIGN.format("node list")
        try:
            self._nodes[text] = found = expand(text)
        except HostlistError as error:
            return (), quote(str(error))
        return found, ""

    def _shared(self, value: Shared) -> Shared:
        """One object for all equal ones: a user has thousands of jobs."""
        found: Shared = self._same.setdefault(value, value)
        return found


def _texts(states: object) -> bool:
    """Whether it is a list of states that can be read."""
    return isinstance(states, list) and bool(states) and all(isinstance(s, str) and s and NO_TEXT not in s for s in states)


def _unknown(name: str, why: str) -> Node:
    return Node(
        name=name,
        state=frozenset({UNREADABLE}),
        base="",
        reason="",
        reason_user="",
        reason_changed_at=None,
        alloc_cpus=0,
        features=(),
        active_features=(),
        partitions=(),
        resume_after=None,
        comment="",
        reservation="",
        unreadable=why,
    )
