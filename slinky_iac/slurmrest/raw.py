"""The wire format of REST v0.0.44 and v0.0.45, and its reading into :mod:`slinky_iac.slurmrest.models`.

Field names are the same in both versions (slurmrestd.md, section 1). What a drain relies on is checked strictly and has
no default; all else may be missing. No bytes whatever make the reading raise anything but pydantic's ValidationError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Annotated, Self, TypeVar

from pydantic import Field

from slinky_iac.errors import HostlistError, SlurmrestGarbage
from slinky_iac.hostlist import expand
from slinky_iac.slurmrest.answers import Envelope, Strict
from slinky_iac.slurmrest.models import (
    BASE_STATES,
    Cluster,
    Diag,
    Job,
    JobsAnswer,
    JobWord,
    Node,
    NodesAnswer,
    Ping,
    Pings,
    Reservation,
)
from slinky_iac.slurmrest.rows import split_rows


class _Number(Strict):
    """Slurm's number that may be unset or infinite."""

    set: bool = False
    infinite: bool = False
    number: int = 0

    def value(self) -> int | None:
        """The number where it is one and not 0 (Slurm's "never" for times)."""
        return self.number if self.set and not self.infinite and self.number > 0 else None


def _plain(number: _Number | int) -> int | None:
    return number.value() if isinstance(number, _Number) else (number if number > 0 else None)


Body = TypeVar("Body", bound=Envelope)
Row = TypeVar("Row", bound=Strict)
Name = Annotated[str, Field(min_length=1)]
States = Annotated[list[str], Field(min_length=1)]
Count = Annotated[int, Field(ge=0)]


class RawNode(Strict):
    """A node on the wire; the fields without a default are those a drain decides by."""

    name: Name
    state: States
    reason: str
    alloc_cpus: Count
    resume_after: _Number | int
    partitions: list[str]
    active_features: list[str]
    features: list[str] = []
    reason_set_by_user: str = ""
    reason_changed_at: _Number | int = 0
    comment: str = ""
    reservation: str = ""
    hostname: str = ""
    address: str = ""
    last_busy: _Number | int = 0
    boot_time: _Number | int = 0
    slurmd_start_time: _Number | int = 0
    version: str = ""

    def value(self) -> Node:
        state = frozenset(self.state)
        bases = state & BASE_STATES
        return Node(
            name=self.name,
            state=state,
            base=next(iter(bases)) if len(bases) == 1 else "",
            reason=self.reason,
            reason_user=self.reason_set_by_user,
            reason_changed_at=_plain(self.reason_changed_at),
            alloc_cpus=self.alloc_cpus,
            features=tuple(self.features),
            active_features=tuple(self.active_features),
            partitions=tuple(self.partitions),
            resume_after=_plain(self.resume_after),
            comment=self.comment,
            reservation=self.reservation,
            hostname=self.hostname,
            address=self.address,
            last_busy=_plain(self.last_busy),
            boot_time=_plain(self.boot_time),
            slurmd_started=_plain(self.slurmd_start_time),
            version=self.version,
        )


class RawJob(Strict):
    """A job on the wire."""

    job_id: Annotated[int, Field(gt=0)]
    job_state: States
    nodes: str
    user_name: str
    partition: str
    time_limit: _Number | int
    start_time: _Number | int
    end_time: _Number | int
    name: str = ""
    account: str = ""
    array_job_id: _Number | int = 0
    array_task_id: _Number | int = _Number()
    het_job_id: _Number | int = 0
    het_job_offset: _Number | int = 0
    submit_time: _Number | int = 0
    shared: list[str] = []
    requeue: bool = False
    restart_cnt: int = 0
    resv_name: str = ""
    state_reason: str = ""

    def value(self, nodes: tuple[str, ...]) -> Job:
        limit = _plain(self.time_limit)
        task = self.array_task_id
        task_id = task if isinstance(task, int) else (task.number if task.set and not task.infinite else None)
        het = _plain(self.het_job_id)
        array = _plain(self.array_job_id)
        return Job(
            job_id=self.job_id,
            array_job_id=array,
            array_task_id=task_id if array is not None else None,
            het_job_id=het,
            het_offset=(_plain(self.het_job_offset) or 0) if het is not None else None,
            name=self.name,
            user=self.user_name,
            account=self.account,
            partition=self.partition,
            states=frozenset(self.job_state),
            nodes=nodes,
            submitted=_plain(self.submit_time),
            start=_plain(self.start_time),
            # slurmctld gives jobs without a limit an end one year on (job_mgr.c, INFINITE): that is no end.
            end=_plain(self.end_time) if limit is not None else None,
            time_limit_min=limit,
            exclusive=bool({"none", "user", "mcs", "topo"} & set(self.shared)),
            requeueable=self.requeue,
            restarts=self.restart_cnt,
            reservation=self.resv_name,
            state_reason=self.state_reason,
        )


class NodesBody(Envelope):
    """GET nodes/."""

    nodes: list[RawNode]
    last_update: _Number

    @classmethod
    def parse(cls, content: bytes) -> Self:
        return _by_rows(cls, content, "nodes", RawNode, lambda body: body.nodes)


class JobsBody(Envelope):
    """GET jobs/."""

    jobs: list[RawJob]
    last_update: _Number

    @classmethod
    def parse(cls, content: bytes) -> Self:
        return _by_rows(cls, content, "jobs", RawJob, lambda body: body.jobs)


class _RawReservation(Strict):
    name: Name
    node_list: str
    start_time: _Number | int
    end_time: _Number | int
    flags: list[str] = []
    users: str = ""
    accounts: str = ""
    partition: str = ""


class ReservationsBody(Envelope):
    """GET reservations/."""

    reservations: list[_RawReservation]

    def values(self) -> tuple[Reservation, ...]:
        return tuple(
            Reservation(
                name=raw.name,
                nodes=expanded([raw.node_list])[raw.node_list],
                start=_plain(raw.start_time),
                end=_plain(raw.end_time),
                flags=frozenset(raw.flags),
                users=tuple(u for u in raw.users.split(",") if u),
                accounts=tuple(a for a in raw.accounts.split(",") if a),
                partition=raw.partition,
            )
            for raw in self.reservations
        )


class _RawPartition(Strict):
    name: Name


class PartitionsBody(Envelope):
    """GET partitions/."""

    partitions: list[_RawPartition]

    def values(self) -> tuple[str, ...]:
        return tuple(raw.name for raw in self.partitions)


class _RawPing(Strict):
    hostname: str = ""
    responding: bool
    primary: bool
    mode: str | None = ""


class PingsBody(Envelope):
    """GET ping/."""

    pings: Annotated[list[_RawPing], Field(min_length=1)]

    def value(self) -> Pings:
        controllers = tuple(Ping(p.hostname, p.responding, p.primary, p.mode or "") for p in self.pings)
        return Pings(controllers, self.meta.slurm.release, self.meta.slurm.cluster)


class _RawStatistics(Strict):
    jobs_running: int
    jobs_pending: int = 0


class DiagBody(Envelope):
    """GET diag/."""

    statistics: _RawStatistics

    def value(self) -> Diag:
        slurm, numbers = self.meta.slurm, self.statistics
        return Diag(slurm.release, slurm.cluster, numbers.jobs_running, numbers.jobs_pending)


class _RawController(Strict):
    host: str = ""
    port: int = 0


class _RawCluster(Strict):
    name: Name
    controller: _RawController
    nodes: str = ""
    rpc_version: int = 0


class ClustersBody(Envelope):
    """GET /slurmdb/…/clusters/."""

    clusters: list[_RawCluster]

    def values(self) -> tuple[Cluster, ...]:
        return tuple(Cluster(c.name, c.controller.host, c.controller.port, c.nodes, c.rpc_version) for c in self.clusters)


class _RawJobError(Strict):
    code: int
    string: str = ""
    message: str | None = ""


class _RawJobWord(Strict):
    job_id: _Number | int | str
    step_id: str = ""
    error: _RawJobError


class JobWordsBody(Envelope):
    """Answer to DELETE jobs/ with VERBOSE: a line for each job, for each task of an array and part of a het job."""

    status: list[_RawJobWord]

    def values(self, asked: tuple[str, ...]) -> tuple[JobWord, ...]:
        """One word for each job asked about, in that order: the worst said about it or a part of it."""
        heard: dict[str, tuple[int, str]] = {}
        for word in self.status:
            number = word.job_id.value() if isinstance(word.job_id, _Number) else word.job_id
            whole = re.split(r"[_+.]", word.step_id, maxsplit=1)[0]
            for name in {str(number), word.step_id, whole}:
                if name not in heard or heard[name][0] == 0:
                    heard[name] = (word.error.code, word.error.message or word.error.string)
        silence = "slurmctld said nothing about this job"
        return tuple(JobWord(job, *heard[job]) if job in heard else JobWord(job, None, silence) for job in asked)


def _by_rows(whole: type[Body], content: bytes, key: str, row: type[Row], of: Callable[[Body], list[Row]]) -> Body:
    """``content`` as ``whole``, its list ``key`` read row by row."""
    rows: list[Row] = []
    rest = split_rows(content, key, lambda found: rows.append(row.model_validate(found)))
    if rest is None:
        return whole.model_validate_json(content)
    body = whole.model_validate_json(rest)
    of(body).extend(rows)
    return body


def nodes_of(body: NodesBody, asked: float, answered: float) -> NodesAnswer:
    """Raises :class:`SlurmrestGarbage` where a name occurs twice: then neither row can be trusted."""
    nodes = tuple(raw.value() for raw in body.nodes)
    if len({node.name for node in nodes}) != len(nodes):
        raise SlurmrestGarbage("nodes: a node is listed twice. Nothing was concluded from the list")
    return NodesAnswer(nodes, body.last_update.number, asked, answered)


def jobs_of(body: JobsBody, asked: float, answered: float) -> JobsAnswer:
    """Raises :class:`SlurmrestGarbage` where a job's node list can't be read."""
    names = expanded(raw.nodes for raw in body.jobs)
    jobs = tuple(raw.value(names[raw.nodes]) for raw in body.jobs)
    return JobsAnswer(jobs, body.last_update.number, asked, answered)


def expanded(expressions: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Each distinct hostlist expression with its names: thousands of jobs share a few."""
    try:
        return {text: _names(text) for text in set(expressions)}
    except HostlistError as error:
        raise SlurmrestGarbage(f"a node list in slurmrestd's answer can't be read: {error}") from None


def _names(text: str) -> tuple[str, ...]:
    # Slurm writes "(null)" or "None assigned" nowhere over REST, but an empty text for "no nodes".
    return expand(text) if text else ()
