"""The one loop of all gates: what every task may rely on, whatever it looks at."""

import pytest

from slinky_iac.cluster.reach import Reach
from slinky_iac.drain.driver import Task, drive
from slinky_iac.drain.protocol import Done, Stop, Undrain, Wait
from slinky_iac.drain.settings import DrainPolicy, Owner, Settings
from slinky_iac.errors import DrainBlocked, DrainDeadline, KubeConflict, SlurmrestUnreachable

REACH = Reach("slurm", "hpc-restapi", "jwt", "jwt.key")
UNDRAIN = Undrain(("gpu-0",))


class Process:
    """A process whose pauses let time pass; ``then`` is what happens in each."""

    def __init__(self, then=()):
        self.wall = self.monotonic = 1000
        self.then, self.rests, self.said, self.alive = list(then), [], [], True

    def now(self):
        return self.wall

    def steady(self):
        return float(self.monotonic)

    def pause(self, seconds):
        self.rests.append(seconds)
        assert len(self.rests) < 1000, "it never ends"
        self.wall += seconds
        self.monotonic += seconds
        return bool(self.then and self.then.pop(0)(self))

    def engine_lives(self):
        return self.alive

    watched = True

    def report(self, message, **_more):
        self.said.append(message)


class Steps(Task):
    """A task that decides by a list of steps, and waits when that is empty."""

    doing = "a test"

    def __init__(self, process, *steps, patience=100, cheap=False):
        settings = Settings(owner=Owner("dev", "gpu"), policy=DrainPolicy(poll_s=10), reach=REACH, urn="")
        super().__init__(process, settings, patience)
        self.steps, self.acts, self.cheap = list(steps), [], cheap

    def glance(self):
        return "cheap" if self.cheap else "whole", not self.cheap

    def look(self):
        return "whole"

    def decide(self, seen):
        step = self.steps.pop(0) if self.steps else Wait("nothing yet")
        if isinstance(step, Exception):
            raise step
        if self.session.now() >= self.deadline_at:
            return Stop(f"late by a {seen} look", "deadline")
        return step

    def act(self, step):
        self.acts.append(step)


@pytest.mark.parametrize("jump", [86_400, -3600])
def test_a_clock_that_is_set_ends_no_wait_early_and_lengthens_none(jump):
    def set_clock(process):
        process.wall += jump

    process = Process([set_clock])
    with pytest.raises(DrainDeadline, match="late"):
        drive(Steps(process))
    assert sum(process.rests) == 100
    assert f"the clock was set by {jump} s; the wait is as long as before" in process.said


def test_an_act_is_followed_by_a_look_and_the_same_act_by_a_pause():
    process = Process()
    task = Steps(process, UNDRAIN, Undrain(("gpu-1",)), Undrain(("gpu-1",)), Done())
    assert drive(task) == "whole"
    assert (len(task.acts), process.rests) == (3, [10])


def test_only_waiting_rests_on_a_cheap_look():
    task = Steps(Process(), Wait("x"), UNDRAIN, Wait("it was not so"), Done(), Done(), cheap=True)
    assert drive(task) == "whole"
    assert task.acts == [], "the whole look does not show what the cheap one did"


def test_no_act_without_an_engine():
    process = Process()
    process.alive = False
    task = Steps(process, UNDRAIN)
    with pytest.raises(DrainBlocked, match="the engine is gone; this gate changes nothing more"):
        drive(task)
    assert task.acts == []


def test_an_interrupt_says_what_was_under_way_and_what_stays():
    with pytest.raises(DrainBlocked, match=r"dev/gpu: interrupted in a test. Nothing was killed; drained nodes stay so"):
        drive(Steps(Process([lambda _process: True])))


def test_passing_trouble_is_survived_until_the_end_and_then_said():
    process = Process()
    drive(Steps(process, SlurmrestUnreachable("refused"), KubeConflict("409"), Done()))
    assert process.said == ["refused", "409"]
    with pytest.raises(DrainDeadline, match="without an answer: refused"):
        drive(Steps(Process(), *[SlurmrestUnreachable("refused")] * 20))


def test_an_undo_that_fails_is_told_beside_the_reason():
    class Undoing(Steps):
        def undo(self):
            raise DrainBlocked("gpu-0 is still drained")

    with pytest.raises(DrainDeadline, match=r"too late\nThe undo was incomplete: gpu-0 is still drained"):
        drive(Undoing(Process(), Stop("too late", "deadline", undo=True)))


def test_a_slow_look_leaves_slurmrestd_alone_after_it():
    class Slow(Steps):
        idle = 4.0

        def glance(self):
            self.session.wall += 20
            self.session.monotonic += 20
            return super().glance()

    process = Process()
    with pytest.raises(DrainDeadline):
        drive(Slow(process, patience=250))
    assert process.rests[0] == 80
    assert process.rests[-1] < 80, "and not past the deadline"
