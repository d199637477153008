"""A slurmctld and a slurmdbd small enough to be known by heart, and a network that loses answers and delays requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from slinky_iac.drain.protocol import Done, Step, Stop, Wait
from slinky_iac.parts.jobs.steps import CancelJobs, JobsSeen, Mark, Release, RunGoal, Submit, decide, merged
from slinky_iac.slurmrest.objects import Number
from slinky_iac.slurmrest.submitted import SubmittedJob

PREFIX = "slinky-iac:dev/bench#n."
TAG = f"{PREFIX}1.abc"
NOW = 1_800_000_000
BEGUN = Number(set=True, number=NOW)


def job(number: int = 1, *states: str, tag: str = "", comment: str = TAG, **more: object) -> SubmittedJob:
    """A held job of alice's, unless told otherwise."""
    base = SubmittedJob(
        job_id=number,
        job_state=frozenset(states or ("PENDING",)),
        user_name="alice",
        admin_comment=tag,
        comment=comment,
        hold=not states,
    )
    return replace(base, **more)


def goal(**more: object) -> RunGoal:
    """Run 1, awaited to its end."""
    kept = {"user": "alice", "prefix": PREFIX, "tag": TAG, "await_end": True, "wait_for_others": False}
    return RunGoal(**{**kept, "deadline_at": NOW + 3600, **more})  # type: ignore[arg-type]


@dataclass
class Daemons:
    """What slurmctld and slurmdbd hold. ``starts``: how often each tag's jobs have begun."""

    live: dict[int, SubmittedJob] = field(default_factory=dict)
    accounted: dict[int, SubmittedJob] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    last: int = 0
    by_hand: bool = False
    """Somebody has released a submission by hand."""
    late: list[Callable[[], None]] = field(default_factory=list)
    """Requests that are still under way although their sender has stopped waiting."""

    def submit(self, tag: str) -> int:
        self.last += 1
        self.live[self.last] = job(self.last, comment=tag)
        return self.last

    def mark(self, number: int, tag: str) -> None:
        found = self.live.get(number)
        if found is not None and not found.over:
            self.live[number] = replace(found, admin_comment=tag)

    def release(self, number: int) -> None:
        found = self.live.get(number)
        if found is not None and found.waits:
            self.live[number] = replace(found, hold=False)

    def release_by_hand(self) -> None:
        """One held submission is released, as long as none of this run is marked or has begun."""
        jobs = self.live.values()
        held = [number for number, each in self.live.items() if each.waits and each.hold and not each.admin_comment]
        if held and not self.by_hand and not self.starts and not any(each.admin_comment for each in jobs):
            self.by_hand = True
            self.release(min(held))

    def cancel(self, number: int) -> None:
        found = self.live.get(number)
        if found is not None and not found.over:
            self._end(replace(found, job_state=frozenset({"CANCELLED"})))

    def proceed(self, code: int = 0) -> None:
        """The scheduler's turn: what isn't held starts, what runs ends."""
        for number, found in list(self.live.items()):
            if found.waits and not found.hold:
                self.starts[found.comment] = self.starts.get(found.comment, 0) + 1
                running = replace(found, job_state=frozenset({"RUNNING"}), nodes="metal-1", start_time=BEGUN)
                self.live[number] = self.accounted[number] = running
            elif "RUNNING" in found.job_state:
                self._end(replace(found, job_state=frozenset({"FAILED" if code else "COMPLETED"})))

    def _end(self, ended: SubmittedJob) -> None:
        self.live[ended.job_id] = ended
        if ended.nodes:
            self.accounted[ended.job_id] = ended

    def forget(self) -> None:
        """MinJobAge is over for all that has ended."""
        self.live = {number: each for number, each in self.live.items() if not each.over}

    def seen(self) -> JobsSeen:
        return merged(self.live.values(), self.accounted.values(), NOW)


class Killed(Exception):
    """The program has ended in the middle of a step."""


@dataclass
class Run:
    """One `pulumi up`: it forgets, when it ends, what it was answered."""

    daemons: Daemons
    tag: str = TAG
    answered: frozenset[int] = frozenset()
    released: frozenset[int] = frozenset()

    def step(self) -> Step:
        return decide(self.daemons.seen(), goal(tag=self.tag, answered=self.answered, released=self.released))

    def act(self, step: Step, fate: str) -> None:
        """``fate``: what becomes of the request: ``ok``, ``lost`` (done, no answer), ``late`` (done later, no answer),
        ``dropped`` (never done), ``killed`` (done, and the program ends)."""
        if isinstance(step, Done | Stop | Wait):
            return
        calls = self._calls(step)
        for call in calls if fate in {"ok", "lost", "killed"} else ():
            call()
        if fate == "late":
            self.daemons.late += calls
        if fate == "killed":
            raise Killed
        if fate == "ok":
            if isinstance(step, Submit):
                self.answered |= {self.daemons.last}
            if isinstance(step, Release):
                self.released |= {step.job}

    def _calls(self, step: Step) -> list[Callable[[], object]]:
        daemons, tag = self.daemons, self.tag
        match step:
            case Submit():
                return [lambda: daemons.submit(tag)]
            case Mark(number):
                return [lambda: daemons.mark(number, tag)]
            case Release(number):
                return [lambda: daemons.release(number)]
            case CancelJobs(numbers):
                return [lambda number=number: daemons.cancel(number) for number in numbers]  # type: ignore[misc]
        raise AssertionError(f"{step} isn't a step of a run")
