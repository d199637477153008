"""Carries a run of a job out: looks at both daemons, takes one step, looks again, until it has come to its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from slinky_iac.drain.driver import Task, drive
from slinky_iac.drain.protocol import Step, Wait
from slinky_iac.drain.session import Session, open_session
from slinky_iac.drain.settings import DrainPolicy, Owner, Settings
from slinky_iac.drain.words import iso
from slinky_iac.engine.plugin_process import prepare
from slinky_iac.errors import SlinkyError, SlurmrestAuthError, SlurmrestRefused
from slinky_iac.parts.jobs.preview import of_slurm_user
from slinky_iac.parts.jobs.props import JobSettings
from slinky_iac.parts.jobs.steps import (
    CancelJobs,
    JobsSeen,
    Mark,
    Release,
    RunGoal,
    Submit,
    chosen,
    decide,
    in_words,
    merged,
    run_number,
)
from slinky_iac.slurmrest.submitted import SubmittedJob
from slinky_iac.text import plain

FINISHED: Final = 2084
"""ESLURM_JOB_FINISHED: the job ended between the look and the call."""
NOT_PENDING: Final = 2073
"""ESLURM_JOB_NOT_PENDING: somebody else released it between the look and the call, and it runs."""
GOOD: Final = "COMPLETED"
LONGEST_PATH: Final = 4096
ENDED_S: Final = 120
"""How long a removal looks for what an update that was killed may have left, where the state's last run has ended."""


class JobError(SlinkyError):
    """A job of the stack failed, or could not be submitted or followed. The message says what became of it."""


class RunTask(Task[JobsSeen]):
    """One run, or the end of all of them."""

    def __init__(self, session: Session, settings: JobSettings, *, starts: bool) -> None:
        owner = Owner(settings.stack, f"jobs.{settings.job}")
        ended = not starts and settings.last_state != "open"
        super().__init__(
            session,
            Settings(owner=owner, policy=DrainPolicy(), reach=settings.reach, urn=settings.urn),
            min(settings.timeout_s, ENDED_S) if ended else settings.timeout_s,
        )
        self.doing = "a run of the job" if starts else "the end of the job"
        self.job = settings
        self.tag = ""
        """Of the run that is to start, from the first look on."""
        self.run = settings.next_run
        self._starts = starts
        self._answered: frozenset[int] = frozenset()
        self._released: frozenset[int] = frozenset()
        self._waits_for: int | None = None

    @property
    def goal(self) -> RunGoal:
        """What is to be brought about, by what this call has been answered so far."""
        return RunGoal(
            user=self.job.user,
            prefix=self.job.prefix,
            tag=self.tag,
            await_end=self.job.await_end,
            wait_for_others=self.job.wait_on_destroy,
            deadline_at=self.deadline_at,
            await_row=self.job.await_row,
            answered=self._answered,
            released=self._released,
        )

    def look(self) -> JobsSeen:
        """slurmctld first: what it forgets meanwhile, slurmdbd has known since it began."""
        settings, slurm = self.job, self.session.slurm
        live = slurm.tagged_jobs(settings.prefix)
        known = slurm.accounted_jobs(settings.job) if settings.accounting else ()
        own = (job for job in known if (job.admin_comment or job.comment).startswith(settings.prefix))
        seen = merged(live, own, self.session.now())
        if self._starts and not self.tag:
            first, every = not settings.run, settings.every_update
            self.run = run_number(seen, settings.prefix, settings.digest, self.run, first=first, every_update=every)
            self.tag = settings.tag(self.run)
        return seen

    def glance(self) -> tuple[JobsSeen, bool]:
        """The record of the job that is waited for."""
        job = None if self._waits_for is None else self.session.slurm.submitted_job(self._waits_for)
        if job is None:
            return self.look(), True
        return JobsSeen((job,), self.session.now()), False

    def decide(self, seen: JobsSeen) -> Step:
        """The next step."""
        step = decide(seen, self.goal)
        run = chosen(seen, self.goal)
        self._waits_for = run.job_id if isinstance(step, Wait) and run is not None and not run.over else None
        return step

    def act(self, step: Step) -> None:
        """Carry out one step."""
        slurm = self.session.slurm
        match step:
            case Submit():
                self._answered |= {self._submit()}
            case Mark(job):
                with _may_be_further():
                    slurm.mark_job(job, self.tag)
            case Release(job):
                with _may_be_further():
                    slurm.release_job(job)
                self._released |= {job}
            case CancelJobs(jobs):
                for word in slurm.cancel_jobs(jobs):
                    if not word.done and not word.gone:
                        text = f"job {word.job} was not cancelled: {word.text or 'Slurm says no more'}"
                        self.session.report(text, severity="warning", keep=True)
            case _:
                super().act(step)

    def _submit(self) -> int:
        settings = self.job
        if fault := of_slurm_user(settings, self.session.slurm.slurm_user()):
            raise JobError(f"{self.owner.text}: {fault}")
        body = {**settings.body, "hold": True, "comment": self.tag}
        with self.session.slurm_as(settings.user) as slurm:
            try:
                return slurm.submit_job(settings.script, body)
            except SlurmrestAuthError as error:
                raise JobError(_unknown_user(settings, error)) from None
            except SlurmrestRefused as error:
                if error.error_number == NOBODY:
                    raise JobError(_unknown_user(settings, error)) from None
                raise JobError(f"{self.owner.text}: {error}. No job was made") from None

    def stays(self) -> str:
        """What a run that ends unfinished leaves."""
        return "The job was left as it is; a submission without a mark stays held. `pulumi up` continues from there."


NOBODY: Final = 6010
"""ESLURM_AUTH_NOBODY: slurmctld's host knows no user of the token's name."""


def _unknown_user(settings: JobSettings, error: Exception) -> str:
    return (
        f"{settings.stack}/jobs.{settings.job}: slurmctld refuses jobs of user {settings.user}: {error}. No job was made."
        " The host or pod of slurmctld must know the user: check with `id` there. A slurmctld in Kubernetes knows the"
        " users of its image and those of the setting identity (`slinky docs identity`)"
    )


@contextmanager
def _may_be_further() -> Iterator[None]:
    try:
        yield
    except SlurmrestRefused as error:
        if error.error_number not in (FINISHED, NOT_PENDING):
            raise


def perform(settings: JobSettings) -> tuple[int, SubmittedJob]:
    """Bring the run that is due to its end, or to its begin where that is all that is waited for: its number and its job.
    Raises what the loop raises."""
    prepare()
    with open_session(settings.reach, settings.urn) as session:
        task = RunTask(session, settings, starts=True)
        job = chosen(drive(task), task.goal)
        if job is None:
            raise AssertionError("a run is done by a look that shows it")
        session.report(in_words(job))
        return task.run, job


def end(settings: JobSettings) -> None:
    """End all runs, or wait for them, as the settings say."""
    prepare()
    with open_session(settings.reach, settings.urn) as session:
        drive(RunTask(session, settings, starts=False))


def look_again(settings: JobSettings) -> SubmittedJob | None:
    """The last run as it is now; None where neither daemon remembers it."""
    with open_session(settings.reach, settings.urn) as session:
        task = RunTask(session, settings, starts=False)
        task.tag = f"{settings.prefix}{settings.run}.{settings.last_digest}"
        return chosen(task.look(), task.goal)


def result(job: SubmittedJob) -> dict[str, Any]:
    """What the resource shows of its last run. Its user may change the path of its output."""
    ended = job.over
    shown: dict[str, Any] = {
        "id": job.job_id,
        "state": job.state,
        "exitCode": job.exit_code.code if ended else None,
        "derivedExitCode": job.derived_exit_code.code if ended else None,
        "reason": job.state_reason,
        "partition": job.partition,
        "nodes": job.nodes,
        "start": _time(job.start_time.value if not job.waits else None),
        "end": _time(job.end_time.value if ended else None),
        "output": job.stdout_expanded or job.standard_output,
    }
    return {name: plain(value, LONGEST_PATH) if isinstance(value, str) else value for name, value in shown.items()}


def _time(seconds: int | None) -> str:
    return "" if seconds is None else iso(seconds)


def last(job: SubmittedJob) -> str:
    """What the state says of a run: see :attr:`JobSettings.last_state`."""
    if not job.over:
        return "open"
    return "over" if GOOD in job.job_state else "failed"


def require_good(settings: JobSettings, job: SubmittedJob) -> None:
    """Raises JobError where the run has failed: with what is known of it."""
    if last(job) != "failed":
        return
    shown = result(job)
    where = f" on {job.nodes}" if job.nodes else " before it had a node"
    output = f" Its output is in {shown['output']}, as that node sees it." if shown["output"] and job.nodes else ""
    raise JobError(
        f"{settings.stack}/jobs.{settings.job}: job {job.job_id} of {settings.user} ended {job.state}{where}, exit code"
        f" {shown['exitCode']}, reason {job.state_reason or 'none'}, begun {shown['start'] or 'never'}, ended"
        f" {shown['end'] or 'at an unknown time'}.{output} `sacct -j {job.job_id}` shows its steps. `pulumi up` again runs"
        " it again"
    )
