"""A job of a stack starts exactly once, though answers are lost and the run is killed; slurmdbd's rows say so."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.e2e.gated import Gated
from tests.e2e.running import fresh, hello, results, script, starts, waiting
from tests.e2e.slurm import Slurm, await_true
from tests.faults.mid_drain import gated, proxy
from tests.faults.proxy import FaultProxy

__all__ = ["gated", "proxy"]

LOST = 3
"""Answers that are lost one after the other."""


@pytest.fixture
def job(gated: Gated, proxy: FaultProxy) -> Iterator[str]:
    """Name of a job in a stack whose slurmrestd is asked through the proxy; nothing is applied yet."""
    name = fresh("once")
    gated.write(3, jobs={name: hello()}, slurmrest={"url": proxy.url})
    yield name
    proxy.before = proxy.after = None
    gated.stack.unlock()
    gated.up(3)


def is_write(method: str, path: str, part: str) -> bool:
    """``part``: ``submit``, or ``update`` for a mark or a release."""
    return method == "POST" and (
        path.endswith("job/submit") if part == "submit" else "/job/" in path and "submit" not in path
    )


def assert_once(gated: Gated, slurm: Slurm, name: str) -> None:
    """The job has begun once, by slurmdbd, and none of its name waits."""
    (only,) = starts(slurm, name)
    assert results(gated.stack)[name]["id"] == int(only)
    assert results(gated.stack)[name]["state"] == "COMPLETED"
    await_true("no submission of it is left", lambda: not waiting(slurm, name), 30)
    assert gated.changes() == []


@pytest.mark.parametrize("part", ["submit", "update"])
def test_lost_answers_start_no_second_job(gated: Gated, slurm: Slurm, proxy: FaultProxy, job: str, part: str) -> None:
    lost: list[str] = []

    def lose(method: str, path: str) -> bool:
        if not is_write(method, path, part) or len(lost) == LOST:
            return False
        lost.append(path)
        return True

    proxy.after = lose
    done = gated.try_up()
    assert done.returncode == 0, done.stdout
    assert len(lost) >= 2, "the test is about answers that are lost"
    assert_once(gated, slurm, job)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("part", "number"), [("submit", 1), ("update", 1), ("update", 2)], ids=["submit", "mark", "release"]
)
def test_a_run_killed_at_any_step_starts_no_second_job(
    gated: Gated, slurm: Slurm, proxy: FaultProxy, job: str, when: str, part: str, number: int
) -> None:
    seen: list[str] = []
    runs: list[subprocess.Popen[str]] = []

    def kill(method: str, path: str) -> bool:
        if not is_write(method, path, part):
            return False
        seen.append(path)
        if len(seen) != number:
            return False
        os.killpg(runs[0].pid, signal.SIGKILL)
        return True

    setattr(proxy, when, kill)
    runs.append(gated.start_up())
    runs[0].communicate(timeout=240)
    assert runs[0].returncode == -signal.SIGKILL
    setattr(proxy, when, None)
    gated.stack.unlock()
    done = gated.try_up()
    assert done.returncode == 0, done.stdout
    assert_once(gated, slurm, job)


def test_a_run_killed_while_its_job_runs_is_gone_on_with(gated: Gated, slurm: Slurm, proxy: FaultProxy, job: str) -> None:
    gated.write(3, jobs={job: script("sleep 8")}, slurmrest={"url": proxy.url})
    run = gated.start_up()
    await_true("the job runs", lambda: starts(slurm, job), 120)
    gated.kill(run)
    done = gated.try_up()
    assert done.returncode == 0, done.stdout
    assert_once(gated, slurm, job)
