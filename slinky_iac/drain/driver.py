"""The one loop of every gate: look, decide one step, act, look again, until done, blocked, late or interrupted.

A :class:`Task` says what is looked at, decides purely and acts; deadline, pause, clock, passing trouble, repeated acts, undo
and Ctrl-C are here, the same for all (docs/adr/0015). All state is in the cluster. So the loop may end at any point, also by
SIGKILL, and the next one continues.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final, Generic, Literal, TypeVar

from slinky_iac.drain.proof import Met
from slinky_iac.drain.protocol import NEXT_STEP, Done, Patience, Signal, Step, Stop, Wait
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import Settings
from slinky_iac.errors import DrainBlocked, DrainDeadline, KubeConflict, KubeUnreachable, SlinkyError, SlurmrestUnreachable

SOON_S: Final = 0.5
"""Between two looks while the operator's own look is due."""
TOLERANCE_S: Final = 30
"""A clock that is set by less than this is rounding and drift."""
ALL_JOBS_S: Final = 5.0
"""Shortest time between two looks at all jobs."""
ALL_JOBS_IDLE: Final = 4.0
"""Pauses after such a look, by its length: 20,000 job records take slurmrestd half a minute."""
PASSING: Final = (KubeUnreachable, KubeConflict, SlurmrestUnreachable)
"""Trouble that may be over at the next look: no answer, or somebody else's write came between."""
Seen = TypeVar("Seen")
Wanted = TypeVar("Wanted", bound=Patience)


class Task(ABC, Generic[Seen]):
    """One thing to bring about, by looks of type ``Seen``."""

    doing = ""
    """What an interrupted run was at."""
    acts_at_deadline = False
    """Whether the policy may act on jobs at the deadline: then the run ends later."""
    idle = 0.0
    """So many times the length of a look slurmrestd is left alone after it."""
    beat_s = inf
    """Longest pause, in seconds, without :meth:`beat`."""
    least_poll_s = 0.0
    """Shortest time between two looks, whatever the policy says."""

    def __init__(self, session: Session, settings: Settings, patience_s: int | None = None, met: Met | None = None) -> None:
        """``patience_s``: by default as long as a node has to register. ``met``: notes which jobs are met, for the proof."""
        self.session = session
        self.settings = settings
        self.owner = settings.owner
        self.policy = settings.policy
        self.deadline_at = session.now() + (self.policy.register_deadline_s if patience_s is None else patience_s)
        """End of the wait, in seconds since the epoch: ``decide`` ends the run there, or the loop where no look succeeds."""
        self.signalled: dict[int | str, int] = {}
        """When this run signalled jobs, by their handles."""
        self.met = met or Met(settings.owner)

    @property
    def patience(self) -> Patience:
        """How long this run waits for jobs, as it is now."""
        return Patience(policy=self.policy, deadline_at=self.deadline_at, signalled=self.signalled)

    def timed(self, goal: Wanted) -> Wanted:
        """A goal with that."""
        return replace(goal, **vars(self.patience))

    @property
    def ends_at(self) -> int:
        """End of the run, in seconds since the epoch."""
        return self.deadline_at + (self.policy.overtime_s if self.acts_at_deadline else 0)

    @property
    def poll_s(self) -> float:
        """Between two looks."""
        return max(self.policy.poll_s, self.least_poll_s)

    @abstractmethod
    def look(self) -> Seen:
        """One whole look. Raises what no later look would mend."""

    def glance(self) -> tuple[Seen, bool]:
        """A cheaper look, and whether it is as good as a whole one. Where it isn't, only waiting may rest on it."""
        return self.look(), True

    @abstractmethod
    def decide(self, seen: Seen) -> Step:
        """The next step, by this look alone."""

    def check(self, _seen: Seen, step: Step) -> Step:
        """The step that ``decide`` names by a look that is good enough for it, or a wait for what no look holds."""
        return step

    def act(self, step: Step) -> None:
        """Carry out one step. Idempotent: a half-done step is found by the next look."""
        self.session.act(step, self.owner)

    def did(self, step: Step) -> None:
        """Note an act that was carried out, or a wait that begins."""
        if isinstance(step, Signal):
            self.signalled |= dict.fromkeys(step.jobs, self.session.now())
        self.met.did(step)

    def beat(self) -> None:
        """Say in the middle of a long pause that this run lives."""

    def clock_was_set(self, jump: int) -> None:
        """Move all times by ``jump`` seconds, so that every wait is as long as before."""
        self.deadline_at += jump
        self.signalled = {job: at + jump for job, at in self.signalled.items()}

    def undo(self) -> None:
        """Give back what this stack did, where the policy says so."""
        raise AssertionError(f"{type(self).__name__} undoes nothing")

    def ended(self, _seen: Seen) -> str:
        """What happened, by the look that shows the end; ``""`` where the gate says it elsewhere. A line that went on saying
        what was waited for would be the last one that a person reads."""
        return ""

    def stays(self) -> str:
        """What a run that ends unfinished leaves, and what to do next."""
        return f"Nothing was killed; drained nodes stay so. {NEXT_STEP}"

    def unanswered(self, error: SlinkyError) -> SlinkyError:
        """The end of a run whose last look failed."""
        why = "over without an answer"
        if isinstance(error, KubeConflict):
            why = (
                "over, and what this run writes was written by somebody else each time (`kubectl get --show-managed-fields"
                " -o yaml` names them)"
            )
        return DrainDeadline(f"{self.owner.text}: the deadline is {why}: {error} {self.stays()}")

    def over(self, _last: Step | None) -> SlinkyError | None:
        """Why the run ends here though ``decide`` would continue; None while it may. After a step that was
        waited for, or done for the second time; after None where there was trouble."""
        return None


@dataclass
class ClockJumpGuard:
    """Two clocks side by side: ``wall``, which may be set, and ``steady``, which only runs. Both in seconds.

    Deadlines are seconds since the epoch, since people read them and pods note them. A clock that is put right in the middle
    of a wait (NTP after a boot, a laptop that slept) would end it at once, and at a deadline a policy may cancel jobs.
    """

    wall: float
    steady: float

    def jumped(self, wall: float, steady: float) -> int:
        """By how many seconds the wall clock was set since the last jump that was told; 0 where it wasn't."""
        jump = (wall - self.wall) - (steady - self.steady)
        if abs(jump) < TOLERANCE_S:
            return 0
        self.wall, self.steady = wall, steady
        return round(jump)


EVERY_S: Final = 60.0
"""Between two lines about the same wait where no terminal shows them: each stays in the log."""


@dataclass
class Pace:
    """Whether a line about a wait is due. In a terminal each look's is, since it replaces the one before. Elsewhere (CI) the
    first of each sort, and then one a minute."""

    watched: bool
    said_at: float | None = None
    sorts: set[str] = field(default_factory=set)

    def due(self, text: str, now: float) -> bool:
        """Whether ``text`` is to be said at ``now``, in seconds of a clock that only runs."""
        sort = _SORT.sub("", text)[:40]
        if self.watched or sort not in self.sorts or self.said_at is None or now - self.said_at >= EVERY_S:
            self.sorts.add(sort)
            self.said_at = now
            return True
        return False


_SORT: Final = re.compile(r"\[[#.]*\]|[0-9]+")
"""What changes in a line while the wait is the same."""


def drive(task: Task[Seen]) -> Seen:
    """Loop until done; returns the look that shows it. Raises DrainBlocked or DrainDeadline where it can't be done.

    After an act the next look comes at once; where it asks for the very same act again, after a pause: Slurm takes its
    time, and a job that is being requeued needs no second word.
    """
    session = task.session
    guard = ClockJumpGuard(session.now(), session.steady())
    pace = Pace(session.watched)
    last: Step | None = None
    while True:
        if jump := guard.jumped(session.now(), session.steady()):
            task.clock_was_set(jump)
            session.report(f"the clock was set by {jump} s; the wait is as long as before", severity="warning")
        least, began = task.poll_s, session.steady()
        step: Step | None = None
        try:
            seen, step = _next(task)
            least = max(least, min(task.idle * (session.steady() - began), max(task.deadline_at - session.now(), 0)))
            if _ends(task, seen, step, pace):
                return seen
            if isinstance(step, Wait):
                least = min(SOON_S, least) if step.soon else least
                _say(task, pace, "; ".join([step.why, *step.progress[:4]]))
                task.did(step)
            else:
                _needs_engine(task)
                pace.sorts.add("")
                session.report(step.words)
                task.act(step)
                task.did(step)
                if step != last:
                    last = step
                    continue
        except PASSING as error:
            _say(task, pace, f"{error}", "warning")
            if session.now() >= task.ends_at:
                raise task.unanswered(error) from error
            step = None
        if (end := task.over(step)) is not None:
            raise end
        _rest(task, least)


def _ends(task: Task[Seen], seen: Seen, step: Step, pace: Pace) -> bool:
    """Whether this look shows the goal. Raises where the run ends without it."""
    if isinstance(step, Stop):
        _end(task, step)
    if isinstance(step, Done) and pace.sorts and (words := task.ended(seen)):
        task.session.report(words)
    return isinstance(step, Done)


def _say(task: Task[Seen], pace: Pace, text: str, severity: Literal["info", "warning"] = "info") -> None:
    if pace.due(text, task.session.steady()):
        task.session.report(text, severity=severity)


def _next(task: Task[Seen]) -> tuple[Seen, Step]:
    """A look and the next step. Only waiting rests on a cheap look: what is done, or ends the wait, rests on a whole one."""
    seen, whole = task.glance()
    step = task.decide(seen)
    if not whole and not isinstance(step, Wait):
        seen = task.look()
        step = task.decide(seen)
    return seen, task.check(seen, step)


def _rest(task: Task[Seen], seconds: float) -> None:
    """Wait for the next look. Raises DrainBlocked where the engine has asked to stop, or is gone."""
    while True:
        if task.session.pause(min(seconds, task.beat_s)):
            raise DrainBlocked(f"{task.owner.text}: interrupted in {task.doing}. {task.stays()}")
        _needs_engine(task)
        seconds -= task.beat_s
        if seconds <= 0:
            return
        try:
            task.beat()
        except PASSING as error:
            task.session.report(f"{error}", severity="warning")


def _needs_engine(task: Task[Seen]) -> None:
    """A gate without an engine changes nothing more: the next run may have begun, and would find its drains lifted."""
    if not task.session.engine_lives():
        raise DrainBlocked(f"{task.owner.text}: the engine is gone; this gate changes nothing more. {task.stays()}")


def _end(task: Task[Seen], stop: Stop) -> None:
    kind: Callable[[str], SlinkyError] = DrainDeadline if stop.cause == "deadline" else DrainBlocked
    try:
        if stop.undo:
            task.undo()
    except SlinkyError as left:
        raise kind(f"{task.owner.text}: {stop.why}\nThe undo was incomplete: {left}") from left
    raise kind(f"{task.owner.text}: {stop.why}")
