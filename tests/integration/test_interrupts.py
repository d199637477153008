"""Interrupted operations leave a state that the next one understands, no lock, and no process behind. A killed engine
leaves a lock, and processes of Pulumi's own; ours ends.

Programs and hooks that don't end: tests/faults/test_interrupted_programs.py.
"""

import pytest

from slinky_iac.engine.plugin_process import OWN_PROVIDERS
from tests.integration.engine import REPO, Project, Running, eventually, processes_of

_SLOW = """
    import sys
    import time
    from pathlib import Path
    from pulumi.dynamic import CreateResult, Resource, ResourceProvider

    KNOWS

    class SlowProvider(ResourceProvider):
        def create(self, props):
            prepare()
            Path("started").touch()
            deadline = time.monotonic() + 300
            while not Path("release").exists() and time.monotonic() < deadline and lives():
                time.sleep(0.05)
            return CreateResult("slow", {"value": 1})

    class Slow(Resource):
        def __init__(self, name, opts=None):
            super().__init__(SlowProvider(), name, {}, opts)
"""
MAIN = """
    import pulumi
    from slow import Slow
    first = Slow("first")
    Slow("second", pulumi.ResourceOptions(depends_on=[first]))
"""
SLOW = _SLOW.replace("KNOWS", "prepare = lives = lambda: True")
GATE = _SLOW.replace(
    "KNOWS",
    f"sys.path.insert(0, {str(REPO)!r})\n    from slinky_iac.engine.plugin_process import engine_lives as lives, prepare",
)
"""The same, as a gate of this project: it knows its engine."""
BOUND = 40.0
"""Seconds within which everything must have ended: the engine's and our own grace are 5 s each, a busy machine has more."""


@pytest.fixture
def slow(project: Project) -> Project:
    """A program whose first resource is made only when the file `release` appears."""
    project.write(main=MAIN, slow=SLOW)
    return project


def begun(project: Project) -> Running:
    """An `up` in the middle of the first resource's create."""
    running = project.spawn("up", "--yes", "--skip-preview")
    eventually("create has begun", lambda: (project.folder / "started").exists() or running.process.poll() is not None)
    assert running.process.poll() is None, running.output
    return running


def release(project: Project) -> None:
    (project.folder / "release").touch()


def nobody_left(project: Project) -> None:
    eventually("all processes of the engine have ended", lambda: not processes_of(project.engine), BOUND)


def finish(project: Project) -> str:
    """Run the stack to its end; what was said on the way."""
    release(project)
    done = project.up()
    assert {"first", "second"} <= project.resources().keys()
    return done.stdout + done.stderr


def forget_pending_creates(project: Project) -> None:
    """A create that was cut off stays on record until somebody says that nothing has to be cleaned up by hand."""
    project.refresh("--clear-pending-creates")
    assert "pending_operations" not in project.state()


def test_one_interrupt_finishes_the_step_and_starts_no_other(slow: Project) -> None:
    running = begun(slow)
    running.interrupt()
    eventually("the engine says that it is cancelling", lambda: "cancel" in running.output.lower())
    release(slow)
    assert running.wait() != 0
    nobody_left(slow)
    assert slow.locks() == []
    assert slow.resources().keys() >= {"first"}
    assert "second" not in slow.resources()
    assert "pending_operations" not in slow.state()
    finish(slow)


def test_two_interrupts_end_it_and_the_next_up_resumes(slow: Project) -> None:
    running = begun(slow)
    running.interrupt()
    eventually("the engine says that it is cancelling", lambda: "cancel" in running.output.lower())
    running.interrupt()
    assert running.wait(BOUND) != 0
    nobody_left(slow)
    assert slow.locks() == []
    assert [p["type"] for p in slow.state()["pending_operations"]] == ["creating"]
    assert "first" not in slow.resources()
    assert "interrupted while" in finish(slow)
    forget_pending_creates(slow)


def test_a_killed_engine_s_gate_ends_with_it_and_the_next_up_resumes(slow: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The language host looks at its engine once in five minutes, and Pulumi's other plugins never: they are left."""
    monkeypatch.setenv(OWN_PROVIDERS, "slow.SlowProvider")
    slow.write(slow=GATE)
    running = begun(slow)
    assert len(ours(slow)) >= 3, "the plugin, its shell and the program"
    running.kill()
    eventually("gate and program have ended", lambda: not ours(slow), BOUND)
    assert len(slow.locks()) == 1, "a killed engine can't take its lock with it"
    assert "locked" in slow.up(ok=False).stderr
    slow.run("cancel", "--yes")
    assert slow.locks() == []
    finish(slow)
    forget_pending_creates(slow)


def ours(project: Project) -> list[str]:
    """Command lines of what runs the program and the dynamic providers, official or the stand-in."""
    parts = (
        "pulumi-language-python-exec",
        "pulumi-resource-pulumi-python",
        "pulumi.dynamic",
        "lab.standins.dynamic_provider",
    )
    return [command for command in processes_of(project.engine).values() if any(part in command for part in parts)]
