"""The wire format of REST v0.0.44 and v0.0.45, and its reading into :mod:`slinky_iac.slurmrest.models`.

Field names are the same in both versions (slurmrestd.md, section 1). What a drain relies on is checked strictly and has
no default; all else may be missing. No bytes whatever make the reading raise anything but :data:`answers.UNREADABLE`.
The two long lists, nodes and jobs, are read by :mod:`slinky_iac.slurmrest.lists`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta, field

from slinky_iac.errors import HostlistError
from slinky_iac.hostlist import expand
from slinky_iac.kube.wire import quote
from slinky_iac.slurmrest.answers import Envelope, Strict
from slinky_iac.slurmrest.models import (
    BASE_STATES,
    UNREADABLE,
    Cluster,
    Diag,
    Job,
    JobWord,
    Node,
    Ping,
    Pings,
    Reservation,
)

_log = logging.getLogger(__name__)


class Number(Strict):
    """Slurm's number that may be unset or infinite."""

    set: bool = False
    infinite: bool = False
    number: int = 0

    def value(self) -> int | None:
        """The number where it is one and not 0 (Slurm's "never" for times)."""
        return self.number if self.set and not self.infinite and self.number > 0 else None


def plain(number: Number | int) -> int | None:
    """The number, with or without its wrapping; None where it is unset, infinite or 0."""
    return number.value() if isinstance(number, Number) else (number if number > 0 else None)


Name = Annotated[str, Meta(min_length=1)]
States = Annotated[list[str], Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0)]
Emptied = Annotated[list[object], Meta(max_length=0)]
"""A list whose rows have been read already; that it is there was seen by this."""


class RawNode(Strict):
    """A node on the wire; the fields without a default are those a drain decides by."""

    name: Name
    state: States
    reason: str
    alloc_cpus: Count
    resume_after: Number | int
    partitions: list[str]
    active_features: list[str]
    features: list[str] = []
    reason_set_by_user: str = ""
    reason_changed_at: Number | int = 0
    comment: str = ""
    reservation: str = ""
    hostname: str = ""
    address: str = ""
    last_busy: Number | int = 0
    boot_time: Number | int = 0
    slurmd_start_time: Number | int = 0
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
            reason_changed_at=plain(self.reason_changed_at),
            alloc_cpus=self.alloc_cpus,
            features=tuple(self.features),
            active_features=tuple(self.active_features),
            partitions=tuple(self.partitions),
            resume_after=plain(self.resume_after),
            comment=self.comment,
            reservation=self.reservation,
            hostname=self.hostname,
            address=self.address,
            last_busy=plain(self.last_busy),
            boot_time=plain(self.boot_time),
            slurmd_started=plain(self.slurmd_start_time),
            version=self.version,
        )


class RawJob(Strict):
    """A job on the wire."""

    job_id: Annotated[int, Meta(gt=0)]
    job_state: States
    nodes: str
    user_name: str
    partition: str
    time_limit: Number | int
    start_time: Number | int
    end_time: Number | int
    name: str = ""
    account: str = ""
    array_job_id: Number | int = 0
    array_task_id: Number | int = field(default_factory=Number)
    het_job_id: Number | int = 0
    het_job_offset: Number | int = 0
    submit_time: Number | int = 0
    shared: list[str] = []
    requeue: bool = False
    restart_cnt: int = 0
    cluster: str = ""
    resv_name: str = ""
    state_reason: str = ""
    required_nodes: str = ""
    features: str = ""
    node_count: Number | int = 0
    batch_flag: bool = False
    allocating_node: str = ""

    def value(self, nodes: tuple[str, ...], unreadable: str, same: Callable[[Any], Any]) -> Job:
        """``nodes``: the names in its list of nodes. ``unreadable``: why states or nodes couldn't be read, else empty.
        ``same`` gives one object for all equal ones."""
        limit = plain(self.time_limit)
        task = self.array_task_id
        task_id = task if isinstance(task, int) else (task.number if task.set and not task.infinite else None)
        het = plain(self.het_job_id)
        array = plain(self.array_job_id)
        return Job(
            job_id=self.job_id,
            array_job_id=array,
            array_task_id=task_id if array is not None else None,
            het_job_id=het,
            het_offset=(plain(self.het_job_offset) or 0) if het is not None else None,
            name=self.name,
            user=same(self.user_name),
            account=same(self.account),
            partition=same(self.partition),
            states=same(frozenset([*self.job_state, UNREADABLE] if unreadable else self.job_state)),
            nodes=nodes,
            submitted=plain(self.submit_time),
            start=plain(self.start_time),
            # slurmctld gives jobs without a limit an end one year on (job_mgr.c, INFINITE): that is no end.
            end=plain(self.end_time) if limit is not None else None,
            time_limit_min=limit,
            exclusive=bool({"none", "user", "mcs", "topo"} & set(self.shared)),
            requeueable=self.requeue,
            restarts=self.restart_cnt,
            reservation=same(self.resv_name),
            state_reason=same(self.state_reason),
            unreadable=unreadable,
            required=required(self.required_nodes),
            features=same(self.features),
            node_count=plain(self.node_count),
            batch=self.batch_flag,
            submitted_from=same(self.allocating_node),
        )


class NodesBody(Envelope, kw_only=True):
    """GET nodes/, without its rows."""

    nodes: Emptied
    last_update: Number


class JobsBody(Envelope, kw_only=True):
    """GET jobs/, without its rows."""

    jobs: Emptied
    last_update: Number


class _RawReservation(Strict):
    name: Name
    node_list: str
    start_time: Number | int
    end_time: Number | int
    flags: list[str] = []
    users: str = ""
    accounts: str = ""
    partition: str = ""


class ReservationsBody(Envelope, kw_only=True):
    """GET reservations/."""

    reservations: list[_RawReservation]

    def values(self) -> tuple[Reservation, ...]:
        return tuple(
            Reservation(
                name=raw.name,
                nodes=_reserved(raw),
                start=plain(raw.start_time),
                end=plain(raw.end_time),
                flags=frozenset(raw.flags),
                users=tuple(u for u in raw.users.split(",") if u),
                accounts=tuple(a for a in raw.accounts.split(",") if a),
                partition=raw.partition,
            )
            for raw in self.reservations
        )


class _RawPartitionState(Strict):
    state: list[str] = []


class _RawPartition(Strict):
    name: Name
    partition: _RawPartitionState = field(default_factory=_RawPartitionState)
    node_sets: str = ""


class PartitionsBody(Envelope, kw_only=True):
    """GET partitions/."""

    partitions: list[_RawPartition]

    def values(self) -> tuple[str, ...]:
        return tuple(raw.name for raw in self.partitions)

    def nodesets(self) -> dict[str, tuple[str, ...]]:
        return {raw.name: tuple(name for name in raw.node_sets.split(",") if name) for raw in self.partitions}

    def states(self) -> dict[str, frozenset[str]]:
        return {raw.name: frozenset(raw.partition.state) for raw in self.partitions}


class _RawConfMeta(Strict):
    BOOT_TIME: Number | int


class ConfMetaBody(Envelope, kw_only=True):
    """GET conf: what slurmctld says of itself."""

    slurm_conf_meta: _RawConfMeta

    def began(self) -> int | None:
        return plain(self.slurm_conf_meta.BOOT_TIME)


class _RawPing(Strict, kw_only=True):
    hostname: str = ""
    responding: bool
    primary: bool
    mode: str | None = ""


class PingsBody(Envelope, kw_only=True):
    """GET ping/."""

    pings: Annotated[list[_RawPing], Meta(min_length=1)]

    def value(self) -> Pings:
        controllers = tuple(Ping(p.hostname, p.responding, p.primary, p.mode or "") for p in self.pings)
        return Pings(controllers, self.meta.slurm.release, self.meta.slurm.cluster)


class _RawStatistics(Strict):
    jobs_running: int
    jobs_pending: int = 0


class DiagBody(Envelope, kw_only=True):
    """GET diag/."""

    statistics: _RawStatistics

    def value(self) -> Diag:
        slurm, numbers = self.meta.slurm, self.statistics
        return Diag(slurm.release, slurm.cluster, numbers.jobs_running, numbers.jobs_pending)


class ConfName(Strict):
    """What of slurm.conf says whose cluster it is."""

    ClusterName: str = ""
    SlurmUser: str | None = None


class ConfNameBody(Envelope, kw_only=True):
    """GET conf/ (26.05), of which slurmctld's own ClusterName and SlurmUser."""

    slurm_conf: ConfName


class _RawController(Strict):
    host: str = ""
    port: int = 0


class _RawCluster(Strict):
    name: Name
    controller: _RawController
    nodes: str = ""
    rpc_version: int = 0


class ClustersBody(Envelope, kw_only=True):
    """GET /slurmdb/…/clusters/."""

    clusters: list[_RawCluster]

    def values(self) -> tuple[Cluster, ...]:
        return tuple(Cluster(c.name, c.controller.host, c.controller.port, c.nodes, c.rpc_version) for c in self.clusters)


class _RawUser(Strict):
    name: str
    administrator_level: list[str]


class UsersBody(Envelope, kw_only=True):
    """GET /slurmdb/…/user/NAME."""

    users: list[_RawUser]

    def level(self, name: str) -> str:
        """AdminLevel of a user; ``""`` where it isn't there."""
        return next((", ".join(user.administrator_level) for user in self.users if user.name == name), "")


class _RawJobError(Strict):
    code: int
    string: str = ""
    message: str | None = ""


class _RawJobWord(Strict, kw_only=True):
    job_id: Number | int | str
    step_id: str = ""
    error: _RawJobError


class JobWordsBody(Envelope, kw_only=True):
    """Answer to DELETE jobs/ with VERBOSE: a line for each job, for each task of an array and part of a het job."""

    status: list[_RawJobWord]

    def values(self, asked: tuple[str, ...]) -> tuple[JobWord, ...]:
        """One word for each job asked about, in that order: the worst said about it or a part of it."""
        heard: dict[str, tuple[int, str]] = {}
        for word in self.status:
            number = word.job_id.value() if isinstance(word.job_id, Number) else word.job_id
            whole = re.split(r"[_+.]", word.step_id, maxsplit=1)[0]
            for name in {str(number), word.step_id, whole}:
                if name not in heard or heard[name][0] == 0:
                    heard[name] = (word.error.code, word.error.message or word.error.string)
        silence = "slurmctld said nothing about this job"
        return tuple(JobWord(job, *heard[job]) if job in heard else JobWord(job, None, silence) for job in asked)


def _reserved(raw: _RawReservation) -> tuple[str, ...]:
    """A reservation's nodes. One whose list can't be read costs a warning: reservations only weigh in the choice."""
    try:
        return expand(raw.node_list)
    except HostlistError as error:
        _log.warning("reservation %s: its nodes can't be read: %s", quote(raw.name), error)
        return ()


def required(text: str) -> tuple[str, ...] | None:
    """Names of a hostlist, None where they can't be read. Any user may write anything here that slurmctld reads: what can't
    be read here costs its own row only."""
    try:
        return expand(text) if text else ()
    except HostlistError:
        return None
