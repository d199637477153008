"""Jobs that a stack submits: their rows in slurmctld and in slurmdbd, and the calls that make, mark and release them.

A job is submitted as its own user, so that slurmctld takes that user's groups, associations and limits: a job that
SlurmUser submits for a user runs with SlurmUser's group (26.05.5, run). The mark is ``admin_comment``: slurmctld takes it
from administrators only (job_mgr.c, validate_job_create_req and _update_job), and slurmdbd keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from slinky_iac.decoders import decoder
from slinky_iac.errors import SlurmrestGarbage, SlurmrestRefused
from slinky_iac.kube.wire import SIEVE
from slinky_iac.slurmrest.answers import NO_SUCH_JOB, Envelope, read
from slinky_iac.slurmrest.controller import RowlessJobs
from slinky_iac.slurmrest.daemons import DaemonsSession
from slinky_iac.slurmrest.lists import Hide, Rows
from slinky_iac.slurmrest.objects import UNSET, Number, States, Wire, may_hold_nodes, only_waits
from slinky_iac.slurmrest.session import LONG

OF_OLD = "1"
"""Begin of the time in which slurmdbd looks; without one it is the last midnight."""


class _Signal(Wire, frozen=True):
    id: Number = UNSET
    name: str = ""


class ExitCode(Wire, frozen=True):
    """How a script ended."""

    status: tuple[str, ...] = ()
    return_code: Number = UNSET
    signal: _Signal = _Signal()

    @property
    def code(self) -> int:
        """What a shell would call its exit code: 128 and the signal where one ended it."""
        return 128 + self.signal.id.number if self.signal.id.value else self.return_code.number


class SubmittedJob(Wire, frozen=True, kw_only=True):
    """One job of a stack, from either daemon."""

    job_id: Annotated[int, Meta(gt=0)]
    job_state: States
    user_name: str
    """Empty where slurmrestd can't name the user."""
    admin_comment: str
    comment: str
    hold: bool = False
    state_reason: str = ""
    nodes: str = ""
    partition: str = ""
    exit_code: ExitCode = ExitCode()
    derived_exit_code: ExitCode = ExitCode()
    start_time: Number = UNSET
    end_time: Number = UNSET
    standard_output: str = ""
    stdout_expanded: str = ""
    restart_cnt: int = 0

    @property
    def waits(self) -> bool:
        """It is pending and holds no node."""
        return only_waits(self.job_state)

    @property
    def over(self) -> bool:
        """It has ended, its epilog too."""
        return not may_hold_nodes(self.job_state) and not self.waits

    @property
    def never_started(self) -> bool:
        """No process of it ever ran, and none does now."""
        return self.waits and not self.restart_cnt

    @property
    def ran(self) -> bool:
        """It has, or once had, a node."""
        return not self.waits if not self.over else bool(self.nodes) and self.nodes != "None assigned"

    @property
    def begun(self) -> bool:
        """A process of it ran at some time, as far as can be seen."""
        return self.ran or (self.waits and not self.never_started)

    def or_marked(self, mark: str) -> SubmittedJob:
        """The job with the mark that slurmdbd has of it: slurmctld changes no job that is over."""
        return self if self.admin_comment or not mark else replace(self, admin_comment=mark)

    @property
    def state(self) -> str:
        """Its states for a message, the base state first as far as Slurm sorts them so."""
        return "+".join(sorted(self.job_state))


class _Comments(Wire, frozen=True):
    administrator: str = ""
    job: str = ""


class _State(Wire, frozen=True):
    current: States
    reason: str = ""


class _Time(Wire, frozen=True):
    start: int = 0
    end: int = 0
    submission: int = 0


class _Row(Wire, frozen=True, kw_only=True):
    job_id: Annotated[int, Meta(gt=0)]
    user: str | None
    """None where slurmdbd has no association of the user, and slurmrestd's host doesn't know the number."""
    comment: _Comments
    state: _State
    time: _Time
    nodes: str = ""
    partition: str = ""
    exit_code: ExitCode = ExitCode()
    derived_exit_code: ExitCode = ExitCode()
    stdout: str = ""
    stdout_expanded: str = ""

    def job(self) -> SubmittedJob:
        return SubmittedJob(
            job_id=self.job_id,
            job_state=self.state.current,
            user_name=self.user or "",
            admin_comment=self.comment.administrator,
            comment=self.comment.job,
            state_reason=self.state.reason,
            nodes="" if self.nodes == "None assigned" else self.nodes,
            partition=self.partition,
            exit_code=self.exit_code,
            derived_exit_code=self.derived_exit_code,
            start_time=_moment(self.time.start),
            end_time=_moment(self.time.end),
            standard_output=self.stdout,
            stdout_expanded=self.stdout_expanded,
        )


class _Rows(Envelope, frozen=True, kw_only=True):
    jobs: tuple[_Row, ...]


class _One(Envelope, frozen=True, kw_only=True):
    jobs: tuple[SubmittedJob, ...]


class _Answer(Envelope, frozen=True, kw_only=True):
    job_id: Annotated[int, Meta(gt=0)]


class _Maximums(Wire, frozen=True):
    time: Number = UNSET


class PartitionLimits(Wire, frozen=True):
    """A partition and the longest time limit in it, in minutes."""

    name: str
    maximums: _Maximums = _Maximums()

    @property
    def most_minutes(self) -> int | None:
        """None where it has none."""
        return self.maximums.time.value


class _Limits(Envelope, frozen=True, kw_only=True):
    partitions: tuple[PartitionLimits, ...]


class _Texts(Wire, frozen=True):
    admin_comment: Any = ""
    comment: Any = ""


class _Tagged(Rows[SubmittedJob]):
    """Rows of GET jobs/ whose tag begins as ours do; no other is kept."""

    def __init__(self, prefix: str, hide: Hide = bytes) -> None:
        self._prefix = prefix.encode()
        self._texts, self._job = decoder(_Texts), decoder(SubmittedJob)
        super().__init__("jobs", self._own, hide)

    def _own(self, row: bytes) -> SubmittedJob | None:
        texts = self._texts.decode(row)
        both = (texts.admin_comment, texts.comment)
        own = any(isinstance(comment, str) and comment.encode().startswith(self._prefix) for comment in both)
        return self._job.decode(row) if own else None

    def _salvaged(self, row: bytes, why: str) -> None:
        if self._prefix in row:
            raise SlurmrestGarbage(
                f"jobs: a row that may be of a job of this stack can't be read ({why}). Nothing was concluded from the list"
            ) from None


class SubmittingSession(DaemonsSession):
    """The calls about jobs of a stack; :class:`slinky_iac.slurmrest.client.SlurmrestClient` has all."""

    def submit_job(self, script: str, job: Mapping[str, Any]) -> int:
        """Submit a batch job as this client's user; its id. After any error but a refusal it may be there all the same."""
        return self.submit("submit a job", {"script": script, "job": dict(job)})

    def submit(self, what: str, body: Mapping[str, Any]) -> int:
        """Send a submission as it is; the job's id."""
        return self._write("POST", "job/submit", _Answer, what, body).job_id

    def mark_job(self, job_id: int, text: str) -> None:
        """Write ``admin_comment``, which slurmctld takes from administrators only."""
        self._write("POST", f"job/{job_id:d}", Envelope, f"mark job {job_id}", {"admin_comment": text})

    def release_job(self, job_id: int) -> None:
        """Let a held job start."""
        self._write("POST", f"job/{job_id:d}", Envelope, f"release job {job_id}", {"hold": False})

    def tagged_jobs(self, prefix: str) -> tuple[SubmittedJob, ...]:
        """Jobs that slurmctld remembers and whose ``admin_comment`` or ``comment`` begins with ``prefix``."""
        response, _ = self._listed("jobs/", "jobs", partial(_Tagged, prefix), self._lists())
        read(response, RowlessJobs, "jobs")
        rows: _Tagged = response.extensions[SIEVE]
        return tuple(rows.found)

    def submitted_job(self, job_id: int) -> SubmittedJob | None:
        """One job as slurmctld has it; None where it doesn't know it (any more)."""
        left = self._left()
        response = self._send("GET", self._path(f"job/{job_id:d}", left()), "job", left(), most=LONG)
        try:
            jobs = read(response, _One, f"job {job_id}").jobs
        except SlurmrestRefused as refused:
            if refused.error_number != NO_SUCH_JOB:
                raise
            return None
        return next((job for job in jobs if job.job_id == job_id), None)

    def accounted_jobs(self, name: str) -> tuple[SubmittedJob, ...]:
        """Jobs of that name that slurmdbd remembers, the last run of each. Not by user as well: slurmrestd looks a user's
        name up on its own host, and its pod knows none (error 2166, run)."""
        left = self._left()
        path = self._path("jobs/", left(), "slurmdb")
        asked: dict[str, str | list[str]] = {
            "skip_steps": "true", "show_duplicates": "true", "job_name": name, "start_time": OF_OLD
        }  # fmt: skip
        rows = read(self._send("GET", path, "jobs of slurmdbd", left(), params=asked, most=LONG), _Rows, "jobs of slurmdbd")
        last: dict[int, _Row] = {}
        for row in sorted(rows.jobs, key=lambda record: (record.time.submission, record.time.start)):
            last[row.job_id] = row
        return tuple(row.job() for row in last.values())

    def partition_limits(self) -> dict[str, PartitionLimits]:
        """All partitions with the longest time limit of each."""
        partitions = self._get("partitions/", _Limits, most=LONG).partitions
        return {partition.name: partition for partition in partitions}


def _moment(seconds: int) -> Number:
    return Number(set=True, number=seconds)
