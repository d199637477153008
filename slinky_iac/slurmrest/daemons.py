"""What the daemons say: slurmctld's running configuration, release and clock; the users, clusters and jobs that slurmdbd
remembers.

What is missing is unknown, never a default: the wire models have None for it, and the caller says so. Names of slurm.conf's
fields are those of data_parser v0.0.45 (Slurm 26.05.5, run). A refused token looks like a slurmdbd that is down here (error
7000).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated
from urllib.parse import quote

from msgspec import Meta

from slinky_iac.slurmrest.answers import Envelope, read
from slinky_iac.slurmrest.objects import Name, Number, States, Wire, expanded, plain
from slinky_iac.slurmrest.session import LONG, Session
from slinky_iac.slurmrest.versions import CONF_SINCE

NAMED = 200
"""Jobs that slurmdbd is asked for at once: they are in the URL, each as a parameter. A list of two by comma, in either
spelling, is an error of slurmrestd 26.05.5 (run)."""
OPEN = ("RUNNING", "SUSPENDED")
"""States of a run that slurmdbd has not heard the end of."""
FAR = 30 * 24 * 3600
"""Seconds after the begin of a drain, in which it has ended."""


class SlurmConf(Wire, frozen=True):
    """slurm.conf as slurmctld runs with it: the part that a hybrid cluster depends on. None: not in the answer."""

    ClusterName: str | None = None
    AuthType: str | None = None
    AuthInfo: str | None = None
    AuthAltTypes: list[str] | None = None
    AuthAltParameters: str | None = None
    CredType: str | None = None
    SlurmctldParameters: list[str] | None = None
    SlurmctldPort: int | None = None
    MaxNodeCount: int | None = None
    SelectType: str | None = None
    ReturnToService: str | None = None
    GresTypes: list[str] | None = None
    SlurmUser: str | None = None
    SlurmUserId: int | None = None
    AccountingStorageType: str | None = None
    AccountingStorageTRES: list[str] | None = None
    AccountingStorageHost: str | None = None
    AccountingStoragePort: int | None = None
    ProctrackType: str | None = None
    TaskPlugin: list[str] | None = None
    JobAcctGatherType: str | None = None
    SuspendProgram: str | None = None
    ResumeProgram: str | None = None
    SuspendTime: Number | None = None
    SuspendExcStates: list[str] | None = None
    SuspendExcParts: list[str] | None = None
    SuspendExcNodes: list[str] | None = None


class _ConfMeta(Wire, frozen=True):
    SLURM_VERSION: str | None = None


class RunningConf(Envelope, frozen=True, kw_only=True):
    """slurmctld's configuration, and its own release (GET conf)."""

    slurm_conf: SlurmConf
    slurm_conf_meta: _ConfMeta = _ConfMeta()


class _Statistics(Wire, frozen=True):
    req_time: Number | int


class _DiagBody(Envelope, frozen=True, kw_only=True):
    statistics: _Statistics


class _Pinged(Wire, frozen=True):
    responding: bool


class _DbdPingBody(Envelope, frozen=True, kw_only=True):
    pings: list[_Pinged]


class Controller(Wire, frozen=True):
    """Where a cluster's slurmctld registered with slurmdbd; empty and 0 where it didn't."""

    host: str = ""
    port: int = 0


class Cluster(Wire, frozen=True):
    """A cluster that slurmdbd knows."""

    name: Name
    controller: Controller
    rpc_version: int = 0
    """slurmctld's protocol: 24.11 = 10752, 26.05 = 11520; the only way to its release over REST before 26.05."""


class _RunState(Wire, frozen=True):
    current: States


class RunTime(Wire, frozen=True):
    """Moments of a run in slurmdbd, 0 for none."""

    start: int
    end: int


class Accounted(Wire, frozen=True):
    """One run of a job as slurmdbd has it; a job that was requeued has one for each run."""

    job_id: Annotated[int, Meta(gt=0)]
    state: _RunState
    time: RunTime
    """``end`` is 0 or now while it continues, or while slurmdbd hasn't heard of its end."""
    nodes: str = ""

    @property
    def goes_on(self) -> bool:
        """Whether slurmdbd has not heard of its end. The end alone does not say so: slurmdbd shows now (26.05.5, run)."""
        return not self.time.end or not self.state.current.isdisjoint(OPEN)

    @property
    def node_names(self) -> tuple[str, ...]:
        """Its nodes; none where they can't be read, and for a job that never had one, for which slurmdbd has words."""
        return () if self.nodes == "None assigned" else expanded(self.nodes)[0]


class _Clusters(Envelope, frozen=True, kw_only=True):
    clusters: tuple[Cluster, ...]


class _Qos(Wire, frozen=True):
    name: str


class _QosList(Envelope, frozen=True, kw_only=True):
    qos: tuple[_Qos, ...]


class Runs(Envelope, frozen=True, kw_only=True):
    """GET /slurmdb/…/jobs/, without steps."""

    jobs: tuple[Accounted, ...]


class User(Wire, frozen=True):
    """A user that slurmdbd knows."""

    name: str
    administrator_level: tuple[str, ...]


class Users(Envelope, frozen=True, kw_only=True):
    """GET /slurmdb/…/user/NAME."""

    users: tuple[User, ...]


class DaemonsSession(Session):
    """Their calls, which only read; :class:`slinky_iac.slurmrest.client.SlurmrestClient` has all."""

    def running_conf(self) -> RunningConf:
        """slurmctld's running configuration. :raises SlurmrestVersionError: slurmrestd is older than 26.05."""
        self._require(CONF_SINCE, "a running slurm.conf can be read", self._left())
        return self._get("conf", RunningConf, most=LONG)

    def slurmctld_time(self) -> int:
        """slurmctld's clock, in seconds since 1970; proof as well that it takes our tokens. :raises SlurmrestAuthError:"""
        return plain(self._get("diag/", _DiagBody).statistics.req_time)

    def slurmdbd_responds(self) -> bool:
        """Whether slurmdbd answers slurmrestd."""
        return any(ping.responding for ping in self._get("ping/", _DbdPingBody, api="slurmdb").pings)

    def admin_level(self, user: str) -> str:
        """AdminLevel of a user in slurmdbd, as slurmrestd writes it; ``""`` where there is no such user."""
        records = self._get(f"user/{quote(user, safe='')}", Users, api="slurmdb").users
        return next((", ".join(record.administrator_level) for record in records if record.name == user), "")

    def clusters(self, *, budget_s: float | None = None) -> tuple[Cluster, ...]:
        """The clusters that slurmdbd knows. A refused token looks like a slurmdbd that is down here (7000)."""
        return self._get("clusters/", _Clusters, budget_s, api="slurmdb", most=LONG).clusters

    def qos(self) -> frozenset[str]:
        """Names of the QOS that slurmdbd has, in lower case as slurmdbd keeps them."""
        return frozenset(row.name.lower() for row in self._get("qos/", _QosList, api="slurmdb", most=LONG).qos)

    def accounted(self, ids: Iterable[int], *, cluster: str = "", budget_s: float | None = None) -> tuple[Accounted, ...]:
        """All runs of these jobs that slurmdbd remembers. By number, for slurmdbd finds nodes by their place in its list of
        all, which dynamic nodes keep moving (as_mysql_jobacct_process.c, good_nodes_from_inx)."""
        jobs = [str(job_id) for job_id in sorted(set(ids))]
        parts = (jobs[at : at + NAMED] for at in range(0, len(jobs), NAMED))
        return self._accounted([{"step": part} for part in parts], cluster, budget_s)

    def failed_since(self, moment: int, *, cluster: str = "", budget_s: float | None = None) -> tuple[Accounted, ...]:
        """Runs since ``moment`` that ended with a node of theirs, as slurmdbd has them."""
        # Without an end of the time slurmdbd finds no job by its state (run).
        window = {"start_time": str(moment), "end_time": str(moment + FAR)}
        return self._accounted([{"state": "NODE_FAIL", **window}], cluster, budget_s)

    def running(self, since: int, *, cluster: str = "", budget_s: float | None = None) -> tuple[Accounted, ...]:
        """Runs that began after ``since`` and continue, by slurmdbd.

        Asked for by state, slurmdbd shows now as their begin; within a window, it names all jobs of that (26.05.5, run).
        So those are asked for again by number.
        """
        open_runs = self._accounted([{"state": state} for state in OPEN], cluster, budget_s)
        runs = self.accounted((run.job_id for run in open_runs), cluster=cluster, budget_s=budget_s) if open_runs else ()
        return tuple(run for run in runs if run.goes_on and run.time.start >= since)

    def _accounted(
        self, questions: Iterable[dict[str, str | list[str]]], cluster: str, budget_s: float | None
    ) -> tuple[Accounted, ...]:
        left = self._left(budget_s)
        every = {"skip_steps": "true", "show_duplicates": "true", **({"cluster": cluster} if cluster else {})}
        runs: list[Accounted] = []
        for question in questions:
            path = self._path("jobs/", left(), "slurmdb")
            answer = self._send("GET", path, "jobs of slurmdbd", left(), params={**every, **question}, most=LONG)
            runs += read(answer, Runs, "jobs of slurmdbd").jobs
        return tuple(runs)
