"""One run of one job, started exactly once whatever answers are lost: the next step by one look, and nothing else.

The protocol. A job is submitted held, as its user, with the run's tag in ``comment``. Only where the answer came, and so the
id is known, the tag is written into ``admin_comment`` too, which no user can write: then it is marked. Only a marked job is
released. So a submission whose answer was lost, or whose sender was killed before the mark, is held for good; the next look
finds it by its comment and cancels it. It has never started, and a new submission takes its place.

Of two that are marked (a mark that arrived late) the lowest id stays and the other is cancelled before any is released. What
was marked and has once started is the run, however it ended: nothing is submitted for its tag any more.

A submission that somebody released by hand before its mark has begun. Where its answer came in this very call, it is marked
and is the run. Else it may as well be a job whose user copied the tag: nothing is submitted, and an administrator decides.

What a user writes into ``comment`` can only get jobs of the user cancelled or waited for whose name the resource has, and
stop a run. A mark needs no such check: only an administrator writes it, in slurmctld and in slurmdbd (26.05.5, run).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from slinky_iac.drain.protocol import Done, Step, Stop, Wait
from slinky_iac.slurmrest.submitted import SubmittedJob


@dataclass(frozen=True)
class JobsSeen:
    """All jobs of the resource, of all its runs, at one moment."""

    jobs: tuple[SubmittedJob, ...]
    now: int
    only_accounted: frozenset[int] = frozenset()
    """Ids that slurmctld doesn't know any more."""
    ended_rows: frozenset[int] = frozenset()
    """Ids that slurmdbd knows, with their end."""


@dataclass(frozen=True)
class RunGoal:
    """What one call of the provider is to bring about."""

    user: str
    prefix: str
    tag: str
    """Of the run that is to start; ``""``: all runs are to end."""
    await_end: bool
    wait_for_others: bool
    """Runs that are in the way are waited for, not cancelled."""
    deadline_at: int
    await_row: bool = False
    """The run is done only when slurmdbd has its row."""
    answered: frozenset[int] = frozenset()
    """Ids that slurmrestd has answered this very call with."""
    released: frozenset[int] = frozenset()
    """Ids that this very call has released."""


@dataclass(frozen=True)
class Submit(Step):
    """Submit the run, held."""

    @property
    def words(self) -> str:
        return "submitting the job, held"


@dataclass(frozen=True)
class Mark(Step):
    """Mark a held job as the run."""

    job: int

    @property
    def words(self) -> str:
        return f"marking job {self.job} as this run"


@dataclass(frozen=True)
class Release(Step):
    """Let the marked job start."""

    job: int

    @property
    def words(self) -> str:
        return f"releasing job {self.job}"


@dataclass(frozen=True)
class CancelJobs(Step):
    """Cancel jobs."""

    jobs: tuple[int, ...]
    why: str = field(compare=False, default="")

    @property
    def words(self) -> str:
        return f"cancelling {self.why}: {', '.join(map(str, self.jobs))}"


def run_number(seen: JobsSeen, prefix: str, digest: str, next_run: int, *, first: bool, every_update: bool) -> int:
    """Number of the run that an update is to bring about.

    It is the state's next one, but where Slurm knows later runs than the state: the resource was deleted from the state, or
    an older state was imported. Then the last of them is gone on with if it is of the same inputs, and was not one of runs
    that each update begins. ``first``: the state knows of no run.
    """
    known: dict[int, list[SubmittedJob]] = {}
    for job in seen.jobs:
        number, _, inputs = job.admin_comment.removeprefix(prefix).partition(".")
        if job.admin_comment.startswith(prefix) and inputs and number.isdecimal():
            known.setdefault(int(number), []).append(job)
    last = max(known, default=0)
    if last < next_run or (last == next_run and not first):
        return next_run
    same = [job for job in known[last] if job.admin_comment == f"{prefix}{last}.{digest}"]
    goes_on = same and not (every_update and all(job.over for job in same))
    return last if goes_on else last + 1


def strays(seen: JobsSeen, goal: RunGoal) -> tuple[int, ...]:
    """Jobs that no run ever marked, that never started, and whose id is not known from an answer of this very call."""
    unmarked_jobs = (job for job in seen.jobs if _unmarked(job, goal) and job.never_started)
    ids = {job.job_id for job in unmarked_jobs if not _answered(job, goal)}
    return tuple(sorted(ids - seen.only_accounted))


def chosen(seen: JobsSeen, goal: RunGoal) -> SubmittedJob | None:
    """The job that is the run: one that has run before one that waits before one that was cancelled, the lowest id first."""
    own = [job for job in seen.jobs if goal.tag and (job.admin_comment == goal.tag or _ended_before_its_mark(job, goal))]

    def rank(job: SubmittedJob) -> tuple[int, int]:
        return (0 if job.ran else 1 if not job.over else 2), job.job_id

    return min(own, key=rank, default=None)


def decide(seen: JobsSeen, goal: RunGoal) -> Step:
    """The next step."""
    if lost := strays(seen, goal):
        return CancelJobs(lost, "submissions without a mark, which never started")
    run = chosen(seen, goal)
    if unclear := _released_by_hand(seen, goal, run):
        return _unclear(unclear, goal)
    others = [job for job in seen.jobs if _in_the_way(job, goal, run) and not job.over]
    if others:
        return _others(seen, goal, others)
    if not goal.tag:
        return Done()
    return _begin(seen, goal) if run is None else _follow(seen, goal, run)


def _begin(seen: JobsSeen, goal: RunGoal) -> Step:
    known = [job.job_id for job in seen.jobs if _answered(job, goal) and not job.over]
    return Mark(min(known)) if known else Submit()


def _unclear(job: SubmittedJob, goal: RunGoal) -> Stop:
    return Stop(
        f"job {job.job_id} of {goal.user} has this run's tag as its comment and has begun, and this stack didn't release it:"
        " it was released by hand, or its user wrote the tag. Nothing is submitted or released, since the run could start"
        f" twice. To take that job for the run, as an administrator: `sacctmgr modify job where jobid={job.job_id} set"
        f" admincomment='{goal.tag}'`. To run the job again, change one of its settings, such as timeLimit",
        "blocked",
    )


def _follow(seen: JobsSeen, goal: RunGoal, run: SubmittedJob) -> Step:
    if run.never_started and run.hold and run.job_id not in goal.released:
        return Release(run.job_id)
    if run.over and goal.await_row and run.job_id not in seen.ended_rows:
        return _await_row(seen, goal, run)
    if run.over or not goal.await_end:
        return Done()
    return _wait(seen, goal, run)


def _others(seen: JobsSeen, goal: RunGoal, others: list[SubmittedJob]) -> Step:
    """Runs that are in the way: what never started is cancelled always."""
    idle = tuple(sorted(job.job_id for job in others if job.never_started))
    if idle:
        return CancelJobs(idle, "jobs of other runs, which never started")
    ids = tuple(sorted(job.job_id for job in others))
    gone = seen.only_accounted.intersection(ids)
    to_cancel = tuple(job_id for job_id in ids if job_id not in gone)
    completing = all("COMPLETING" in job.job_state for job in others if job.job_id in to_cancel)
    if to_cancel and not goal.wait_for_others and not completing:
        return CancelJobs(to_cancel, "jobs of earlier runs")
    return _wait(seen, goal, min(others, key=lambda job: job.job_id))


def _wait(seen: JobsSeen, goal: RunGoal, job: SubmittedJob) -> Step:
    said = in_words(job)
    if job.job_id in seen.only_accounted:
        said += ", by slurmdbd alone: slurmctld doesn't know it (`sacctmgr show runawayjobs`)"
    if seen.now >= goal.deadline_at:
        return Stop(
            f"the timeout is over, and {said}. The job was left as it is; `pulumi up` continues to wait for it, and"
            f" `scancel {job.job_id}` ends it",
            "deadline",
        )
    return Wait(said)


def _await_row(seen: JobsSeen, goal: RunGoal, run: SubmittedJob) -> Step:
    if seen.now >= goal.deadline_at:
        return Stop(
            f"job {run.job_id} ended {run.state}, and slurmdbd has no row of its end. Look whether slurmctld reaches"
            " slurmdbd: `sacctmgr show cluster` names the host of each, `sdiag` counts the messages that wait (DBD"
            " Agent queue size)",
            "deadline",
        )
    return Wait(f"slurmdbd has no row yet of the end of job {run.job_id}")


def in_words(job: SubmittedJob) -> str:
    """What a job is at, in one clause."""
    if job.waits:
        held = "; its user or an administrator holds it" if job.hold else ""
        return f"job {job.job_id} is pending ({job.state_reason or 'no reason yet'}{held})"
    return f"job {job.job_id} is {job.state}" + (f" on {job.nodes}" if job.nodes else "")


def _in_the_way(job: SubmittedJob, goal: RunGoal, run: SubmittedJob | None) -> bool:
    if job is run or _answered(job, goal):
        return False
    return _marked(job, goal) or (_unmarked(job, goal) and job.begun)


def _released_by_hand(seen: JobsSeen, goal: RunGoal, run: SubmittedJob | None) -> SubmittedJob | None:
    """A job that may be this run, though nothing of this stack released it, while the run itself has not begun."""
    if not goal.tag or (run is not None and run.begun):
        return None
    begun = (job for job in seen.jobs if _unmarked(job, goal) and job.comment == goal.tag and job.begun)
    return min((job for job in begun if not _answered(job, goal)), key=lambda job: job.job_id, default=None)


def _answered(job: SubmittedJob, goal: RunGoal) -> bool:
    """Whether slurmrestd answered this very call with it, and it has no mark yet."""
    return job.job_id in goal.answered and not job.admin_comment and job.comment == goal.tag


def _ended_before_its_mark(job: SubmittedJob, goal: RunGoal) -> bool:
    """It was released by hand and is over: slurmctld changes no such job."""
    return _answered(job, goal) and job.over and job.begun


def _marked(job: SubmittedJob, goal: RunGoal) -> bool:
    return job.admin_comment.startswith(goal.prefix)


def _unmarked(job: SubmittedJob, goal: RunGoal) -> bool:
    return job.user_name == goal.user and not job.admin_comment and job.comment.startswith(goal.prefix)


def merged(live: Iterable[SubmittedJob], accounted: Iterable[SubmittedJob], now: int) -> JobsSeen:
    """What both daemons say; slurmctld's word counts where both know a job."""
    accounted = tuple(accounted)
    ended = frozenset(job.job_id for job in accounted if job.over)
    marks = {job.job_id: job.admin_comment for job in accounted}
    known = {job.job_id: job.or_marked(marks.get(job.job_id, "")) for job in live}
    rest = {job.job_id: job for job in accounted if job.job_id not in known}
    return JobsSeen((*known.values(), *rest.values()), now, frozenset(rest), ended)
