"""Jobs that may hold nodes, found by their states first: what a look needs of 50,000 records, without all of them.

slurmrestd builds a list of records whole before its first byte, in 150 kB of its memory and 1 to 2 ms each, whether they
wait, run or have ended. States alone (`jobs/state/`) are 80 bytes each. So all states are asked for, and then the records
of jobs that may hold nodes, one by one.

Nodes first, then states, then records: the states are the moment of the answer. A job that began after the nodes were
answered and holds a node at that moment has a state that says so. Its record is newer than the state: where it says that
the job has ended or waits again, the job has left its nodes meanwhile. A job that begins after the states is in neither,
as one that begins after a list of all jobs is not in that; the protocol drains nodes before it looks for this reason.

A job that has such a state and no record any more is asked for its state again: slurmctld has forgotten it, or it does not
show it to us. Then it may hold any node.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol

from slinky_iac.errors import SlurmrestGarbage, SlurmrestRefused, SlurmrestUnreachable
from slinky_iac.kube.wire import MAX_SIEVED
from slinky_iac.slurmrest.concurrent_calls import several
from slinky_iac.slurmrest.controller import Diag
from slinky_iac.slurmrest.lists import Counted, JobsAnswer
from slinky_iac.slurmrest.objects import Job, may_hold_nodes, only_waits

Wanted = Literal["held", "affordable", "live", "all"]
"""``held``: jobs that may hold nodes. ``live``: those that wait too. ``affordable``: those that wait too, if that costs no
more than a list of a few thousand records. ``all``: ended ones that slurmctld remembers too."""
RECORD_S: Final = 0.0015
"""Seconds of slurmrestd for a record of a list: 1 to 2 ms were measured, and 200 kB of its memory."""
SHARE: Final = 3
"""A record asked for alone costs as much as so many in a list."""
ROW_S2: Final = 1.7e-9
"""Seconds, by the square of the rows: slurmrestd frees each row of an answer by a walk over all that follow (data.c): 4.3 s
for 50,000 states."""
MOST_RECORDS: Final = MAX_SIEVED // 11_000
"""Records whose list is too large for us: 390,000 of 11 kB."""
FEW: Final = 5_000
"""Records of which a list is made for the sake of jobs that wait."""
SLOW_S: Final = 5.0
"""Seconds of slurmrestd from which the number of jobs may be why a look failed."""
AGAIN: Final = 500
"""Ids in one question for states: they are part of its URL."""


@dataclass(frozen=True, slots=True)
class StatesAnswer:
    """The states of all jobs at one moment, by id. ``asked`` and ``answered`` are monotonic seconds of this process."""

    states: Mapping[int, frozenset[str]]
    rows: int
    """Rows of the answer: an array has one for each task that waits, all with the array's id."""
    asked: float
    answered: float

    @property
    def records(self) -> int:
        """Records of these jobs: tasks of an array that wait have one."""
        return len(self.states)


class Slurm(Protocol):
    """What is asked of slurmrestd."""

    def diag(self, *, budget_s: float | None = None) -> Diag: ...
    def jobs(self, *, budget_s: float | None = None) -> JobsAnswer: ...
    def job_states(self, ids: Collection[int] = (), *, budget_s: float | None = None) -> StatesAnswer: ...
    def job_records(self, job_id: int, *, budget_s: float | None = None) -> JobsAnswer: ...


@dataclass(frozen=True)
class Choice:
    """Records to ask for by themselves, and how many waiting jobs are left out."""

    ids: tuple[int, ...]
    left_out: int = 0


def states_s(rows: int) -> float:
    """Seconds that slurmrestd takes for the states of all jobs; each task of an array has a row."""
    return ROW_S2 * rows * rows


def list_s(records: int) -> float:
    """Seconds for the list of all records; endless where it could not be read."""
    return math.inf if records > MOST_RECORDS else RECORD_S * records + ROW_S2 * records * records


def alone_s(records: int) -> float:
    """Seconds for so many records, each asked for alone."""
    return SHARE * RECORD_S * records


def states_first(tasks: int, last: Counted | None, left: float) -> bool:
    """Whether to ask for states before records. Which is cheaper depends on the number of records, and that is known from
    states only, or from the last look: what came since may be a record each.

    Without a last look states are asked for as long as they come within the time that is left (420,000 in 300 s): they cost
    no more than a list of as many records, and little memory of slurmrestd. Beyond, an array's few records are all that may
    still be read.
    """
    if last is None:
        return states_s(tasks) <= left
    return states_s(tasks) <= list_s(last.records + max(tasks - last.tasks, 0))


def current_jobs(slurm: Slurm, wanted: Wanted, left: Callable[[], float], last: Counted | None = None) -> JobsAnswer:
    """The jobs that are wanted; there may be more among them. ``left``: seconds that are left; ``last``: what the last look
    counted. Raises what the client raises, with the number of jobs where that may be the reason."""
    if wanted == "all":
        return slurm.jobs(budget_s=left())
    try:
        counted = slurm.diag(budget_s=left()).statistics
    except (SlurmrestRefused, SlurmrestGarbage):
        return slurm.jobs(budget_s=left())  # a proxy that lets only some paths through: the list of records says all of it
    tasks = counted.jobs_running + counted.jobs_pending
    try:
        answer = _by_states(slurm, wanted, left) if states_first(tasks, last, left()) else None
        if answer is None:
            answer = slurm.jobs(budget_s=left())
    except SlurmrestUnreachable as error:
        if min(states_s(tasks), list_s(tasks)) < SLOW_S:
            raise
        raise SlurmrestUnreachable(
            f"{error} {tasks} jobs and array tasks run or wait: slurmrestd takes about {states_s(tasks):.0f} s for their"
            " states. Nothing was concluded from a part. Fewer are needed for a look: let slurmctld forget ended jobs sooner"
            " (MinJobAge), and hold back what waits (MaxJobCount, MaxSubmitJobs of associations)"
        ) from None
    return replace(answer, counted=Counted(tasks, answer.counted.records if answer.counted else len(answer.jobs)))


def _by_states(slurm: Slurm, wanted: Wanted, left: Callable[[], float]) -> JobsAnswer | None:
    """The jobs by their states; None where a list costs less, or where states can't be read."""
    try:
        states = slurm.job_states(budget_s=left())
    except (SlurmrestRefused, SlurmrestGarbage):
        return None
    choice = chosen(states, wanted)
    return None if choice is None else _fetched(slurm, states, choice, left)


def chosen(states: StatesAnswer, wanted: Wanted) -> Choice | None:
    """Which records to ask for by themselves; None where a list of all costs less."""
    held = tuple(job for job, state in states.states.items() if may_hold_nodes(state))
    queue = tuple(job for job, state in states.states.items() if only_waits(state))
    both, listed_s = (*held, *queue), list_s(states.records)
    if wanted != "held" and alone_s(len(both)) <= listed_s:
        return Choice(both)
    if wanted == "live" or (wanted == "affordable" and states.records <= FEW) or alone_s(len(held)) > listed_s:
        return None
    return Choice(held, left_out=len(queue))


def _fetched(slurm: Slurm, states: StatesAnswer, choice: Choice, left: Callable[[], float]) -> JobsAnswer:
    answers = tuple(several(lambda job: slurm.job_records(job, budget_s=left()), choice.ids))
    wanted = frozenset(choice.ids)
    jobs = {job.job_id: job for answer in answers for job in answer.jobs if job.job_id in wanted}
    nameless = [job for answer in answers for job in answer.jobs if not job.job_id]
    missing = [job for job in choice.ids if job not in jobs]
    hidden = [_unshown(job, state) for job, state in _still(slurm, missing, left).items()]
    return JobsAnswer(
        jobs=(*jobs.values(), *nameless, *hidden),
        last_update=0,
        asked=states.asked,
        answered=max((states.answered, *(answer.answered for answer in answers))),
        clusters=frozenset(name for answer in answers for name in answer.clusters),
        left_out=choice.left_out,
        counted=Counted(states.rows, states.records),
    )


def _still(slurm: Slurm, ids: Collection[int], left: Callable[[], float]) -> Mapping[int, frozenset[str]]:
    """Those of ``ids`` that slurmctld has a state for, and that have not ended."""
    listed = sorted(ids)
    parts = [listed[at : at + AGAIN] for at in range(0, len(listed), AGAIN)]
    states = {job: state for part in parts for job, state in slurm.job_states(part, budget_s=left()).states.items()}
    return {job: state for job, state in states.items() if job in ids and (may_hold_nodes(state) or only_waits(state))}


def _unshown(job: int, states: frozenset[str]) -> Job:
    """A job that has a state and no record: it may be on any node."""
    why = f"slurmctld gives its state, {'+'.join(sorted(states))}, and no record of it"
    return Job.half_read(why, job, states)
