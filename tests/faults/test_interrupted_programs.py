"""A program that hangs, ignores signals or loses its host ends all the same, and leaves no lock and no process behind."""

import os
import signal

from tests.integration.conftest import engine, project, tools
from tests.integration.engine import REPO, Project, eventually, processes_of
from tests.integration.test_interrupts import BOUND, SLOW, begun, nobody_left, release

__all__ = ["engine", "project", "tools"]


def test_a_killed_language_host_takes_its_program_with_it(project: Project) -> None:
    project.write(main="import time, pathlib\npathlib.Path('started').touch()\ntime.sleep(300)")
    running = begun(project)
    hosts = ("lab.standins.language_host", "/pulumi-language-python ")
    (host,) = [pid for pid, name in processes_of(project.engine).items() if any(each in name for each in hosts)]
    os.kill(host, signal.SIGKILL)
    assert running.wait(BOUND) != 0
    nobody_left(project)
    assert project.locks() == []


def test_a_program_that_ignores_sigint_is_killed_after_the_grace(project: Project) -> None:
    project.write(
        main="""
        import pathlib, signal, subprocess, time
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        subprocess.Popen(["sleep", "300"])
        pathlib.Path("started").touch()
        time.sleep(300)
        """
    )
    running = begun(project)
    running.interrupt()
    assert running.wait(BOUND) != 0
    nobody_left(project)
    assert project.locks() == []


def test_an_interrupt_during_a_hook_ends_within_the_grace(project: Project) -> None:
    release(project)
    hook = """
        import asyncio, pathlib, sys, time, pulumi
        sys.path.insert(0, REPO)
        from slow import Slow
        from slinky_iac.engine.program_process import end_silently

        end_silently()

        async def hang(args):
            pathlib.Path("hooked").touch()
            await asyncio.to_thread(time.sleep, 300)

        options = pulumi.ResourceOptions(
            hooks=pulumi.ResourceHookBinding(before_create=[pulumi.ResourceHook("hang", hang)])
        )
        Slow("first", options)
    """
    project.write(main=hook.replace("REPO", repr(str(REPO))), slow=SLOW)
    running = project.spawn("up", "--yes", "--skip-preview")
    eventually("the hook runs", lambda: (project.folder / "hooked").exists() or running.process.poll() is not None)
    running.interrupt()
    assert running.wait(BOUND) != 0
    nobody_left(project)
    assert project.locks() == []
    assert "first" not in project.resources()
    assert "KeyboardInterrupt" not in running.output
