"""What slurmctld says beside its nodes and jobs, read straight from slurmrestd's JSON: reservations, partitions, itself."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from slinky_iac.kube.wire import quote
from slinky_iac.slurmrest.answers import Envelope
from slinky_iac.slurmrest.objects import Name, Number, Wire, by_comma, expanded, plain

_log = logging.getLogger(__name__)


class Reservation(Wire, frozen=True, kw_only=True):
    """A Slurm reservation."""

    name: Name
    node_list: str
    start_time: Number
    end_time: Number
    """Unset: it lasts for ever."""

    @property
    def node_names(self) -> tuple[str, ...]:
        """Its nodes. A list that can't be read costs a warning: reservations only weigh in the choice."""
        node_names, why = expanded(self.node_list)
        if why:
            _log.warning("reservation %s: its nodes can't be read: %s", quote(self.name), why)
        return node_names


class _PartitionState(Wire, frozen=True):
    state: frozenset[str] = frozenset()


class Partition(Wire, frozen=True):
    """A partition."""

    name: Name
    partition: _PartitionState = _PartitionState()
    """``UP``, ``DOWN``, ``DRAIN`` or ``INACTIVE`` in its ``state``; empty where Slurm doesn't say."""
    node_sets: str = ""
    """Names of NodeSet= lines in its Nodes=, by comma."""

    @property
    def nodesets(self) -> tuple[str, ...]:
        """The same, one by one."""
        return by_comma(self.node_sets)


class Ping(Wire, frozen=True, kw_only=True):
    """slurmrestd's look at one slurmctld. ``responding`` is False also where only the *token* is refused."""

    hostname: str = ""
    responding: bool
    primary: bool
    mode: str | None = ""


class RowlessNodes(Envelope, frozen=True, kw_only=True):
    """GET nodes/, its rows taken out."""

    nodes: Annotated[list[object], Meta(max_length=0)]
    last_update: Number


class RowlessJobs(Envelope, frozen=True, kw_only=True):
    """GET jobs/, its rows taken out."""

    jobs: Annotated[list[object], Meta(max_length=0)]
    last_update: Number


class Reservations(Envelope, frozen=True, kw_only=True):
    """GET reservations/."""

    reservations: tuple[Reservation, ...]


class Partitions(Envelope, frozen=True, kw_only=True):
    """GET partitions/."""

    partitions: tuple[Partition, ...]


class SomePartitions(Envelope, frozen=True, kw_only=True):
    """GET partitions/ while slurmdbd is down. slurmctld's own answer has a time, and at least one partition."""

    partitions: Annotated[tuple[Partition, ...], Meta(min_length=1)]
    last_update: Number

    def __post_init__(self) -> None:
        if self.last_update.value is None:
            raise ValueError("last_update is not set")


class Pings(Envelope, frozen=True, kw_only=True):
    """GET ping/; ``meta.slurm.release`` is slurmrestd's own, not slurmctld's."""

    pings: Annotated[tuple[Ping, ...], Meta(min_length=1)]


class Statistics(Wire, frozen=True):
    """Some numbers that slurmctld gives only to a good token."""

    jobs_running: int
    jobs_pending: int = 0


class _JobState(Wire, frozen=True, gc=False):
    job_id: Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,9}([_+]|$)")]
    """A record's own id, and behind it the task, or the offset of a part: slurmrestd writes neither the id of the array nor
    that of the whole job (26.05)."""
    state: Annotated[frozenset[str], Meta(min_length=1)]


class JobStates(Envelope, frozen=True, kw_only=True):
    """GET jobs/state/."""

    jobs: tuple[_JobState, ...]

    def by_job(self) -> dict[int, frozenset[str]]:
        """States by record; where two rows of one differ, all of them."""
        same: dict[frozenset[str], frozenset[str]] = {}
        job_states: dict[int, frozenset[str]] = {}
        for row in self.jobs:
            number = int(re.split("[_+]", row.job_id, maxsplit=1)[0])
            states = row.state | job_states.get(number, frozenset())
            job_states[number] = same.setdefault(states, states)
        return job_states


class Diag(Envelope, frozen=True, kw_only=True):
    """GET diag/: the proof that the key is right."""

    statistics: Statistics


class _RpcKind(Wire, frozen=True):
    count: int
    total_time: int
    """Microseconds (sdiag(1), "Remote Procedure Call statistics by message type")."""


class _RpcStatistics(Wire, frozen=True):
    req_time_start: Number | int = 0
    rpcs_by_message_type: tuple[_RpcKind, ...] = ()


class RpcDiag(Envelope, frozen=True, kw_only=True):
    """GET diag/: how many remote procedure calls slurmctld has answered since its start, and the time that they took."""

    statistics: _RpcStatistics

    @property
    def since(self) -> int:
        """When this slurmctld began to count, in seconds since 1970. A reconfiguration starts a new process (23.11)."""
        return plain(self.statistics.req_time_start)

    @property
    def calls(self) -> int:
        """Of all clients."""
        return sum(rpc.count for rpc in self.statistics.rpcs_by_message_type)

    @property
    def seconds(self) -> float:
        """In all; calls that run side by side each count whole."""
        return sum(rpc.total_time for rpc in self.statistics.rpcs_by_message_type) / 1e6


class Host(Wire, frozen=True):
    """What slurmctld has of a node's line, as it has read it; 0 or empty where it doesn't say."""

    name: Name
    cpus: int = 0
    boards: int = 0
    sockets: int = 0
    cores: int = 0
    """Of a socket."""
    threads: int = 0
    """Of a core."""
    gres: str = ""
    address: str = ""
    hostname: str = ""
    port: int = 0


class Hosts(Envelope, frozen=True, kw_only=True):
    """GET nodes/, of which the nodes' lines."""

    nodes: tuple[Host, ...]


class ConfMeta(Wire, frozen=True):
    """What slurmctld says of itself."""

    BOOT_TIME: Number | int


class ConfMetaBody(Envelope, frozen=True, kw_only=True):
    """GET conf/ (26.05), of which when slurmctld began with it."""

    slurm_conf_meta: ConfMeta


class ConfName(Wire, frozen=True):
    """What of slurm.conf says whose cluster it is."""

    ClusterName: str = ""
    SlurmUser: str | None = None


class ConfNameBody(Envelope, frozen=True, kw_only=True):
    """GET conf/ (26.05), of which slurmctld's own ClusterName and SlurmUser."""

    slurm_conf: ConfName


class _JobError(Wire, frozen=True):
    code: int
    string: str = ""
    message: str | None = ""


class _JobStatus(Wire, frozen=True, kw_only=True):
    job_id: Number | int | str
    step_id: str = ""
    error: _JobError


class JobStatuses(Envelope, frozen=True, kw_only=True):
    """Answer to DELETE jobs/ with VERBOSE: a line for each job, for each task of an array and part of a het job."""

    status: tuple[_JobStatus, ...]

    def results(self, asked: tuple[str, ...]) -> tuple[JobActionResult, ...]:
        """One for each job asked about, in that order: the worst said about it or a part of it."""
        heard: dict[str, tuple[int, str]] = {}
        for line in self.status:
            number = line.job_id.value if isinstance(line.job_id, Number) else line.job_id
            whole = re.split(r"[_+.]", line.step_id, maxsplit=1)[0]
            for name in {str(number), line.step_id, whole}:
                if name not in heard or heard[name][0] == 0:
                    heard[name] = (line.error.code, line.error.message or line.error.string)
        silence = "slurmctld said nothing about this job"
        return tuple(
            JobActionResult(job, *heard[job]) if job in heard else JobActionResult(job, None, silence) for job in asked
        )


@dataclass(frozen=True, slots=True)
class JobActionResult:
    """What Slurm said about one job that was to be signalled, cancelled or requeued: HTTP 200 says nothing."""

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
