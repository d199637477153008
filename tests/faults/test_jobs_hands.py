"""A job of a stack starts once although daemons restart and people act on it between the steps of its submission."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable

import pytest

from lab import slurm as outside
from tests.e2e.gated import Gated
from tests.e2e.running import results, script, starts, waiting
from tests.e2e.slurm import Slurm, await_true
from tests.faults.mid_drain import gated, proxy
from tests.faults.proxy import FaultProxy
from tests.faults.test_jobs import assert_once, is_write, job

__all__ = ["gated", "job", "proxy"]

FIRST_MARK = ("update", 1)
RELEASE = ("update", 2)


def at(proxy: FaultProxy, step: tuple[str, int], act: Callable[[], object], *, lose: bool = False) -> list[str]:
    """Act before the request of a step is sent on (``lose``: after slurmrestd has answered it, and its answer is lost)."""
    part, number = step
    seen: list[str] = []

    def hook(method: str, path: str) -> bool:
        if not is_write(method, path, part):
            return False
        seen.append(path)
        if len(seen) != number:
            return False
        act()
        return lose

    setattr(proxy, "after" if lose else "before", hook)
    return seen


def up(gated: Gated) -> None:
    done = gated.try_up()
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("step", [FIRST_MARK, RELEASE], ids=["mark", "release"])
@pytest.mark.parametrize(("host", "daemon"), [("ctl", "slurmctld"), ("rest", "slurmrestd")])
def test_a_daemon_that_restarts_between_two_steps(
    gated: Gated, slurm: Slurm, proxy: FaultProxy, job: str, host: str, daemon: str, step: tuple[str, int]
) -> None:
    seen = at(proxy, step, lambda: outside.daemon_restart(host, daemon))
    up(gated)
    assert len(seen) >= step[1]
    assert_once(gated, slurm, job)


def test_slurmctld_killed_between_submit_and_mark(gated: Gated, slurm: Slurm, proxy: FaultProxy, job: str) -> None:
    def crash() -> None:
        outside.daemon_kill("ctl", "slurmctld")
        outside.daemon_start("ctl", "slurmctld")

    at(proxy, FIRST_MARK, crash)
    up(gated)
    assert_once(gated, slurm, job)


def test_slurmdbd_that_is_down_starts_no_job_and_the_update_says_so(
    gated: Gated, slurm: Slurm, proxy: FaultProxy, job: str
) -> None:
    outside.daemon_stop("dbd", "slurmdbd")
    try:
        gated.write(3, jobs={job: script("true", timeout="40s")}, slurmrest={"url": proxy.url})
        refused = gated.try_up()
        assert refused.returncode != 0
        assert "slurmdbd" in refused.stdout, refused.stdout
        assert waiting(slurm, job) == []
    finally:
        outside.daemon_start("dbd", "slurmdbd")
    assert starts(slurm, job) == []
    up(gated)
    assert_once(gated, slurm, job)


def test_slurmdbd_that_goes_down_between_submit_and_release(gated: Gated, slurm: Slurm, proxy: FaultProxy, job: str) -> None:
    at(proxy, FIRST_MARK, lambda: outside.daemon_stop("dbd", "slurmdbd"))
    run = gated.start_up()
    try:
        await_true("the job waits, held", lambda: waiting(slurm, job), 120)
        with pytest.raises(subprocess.TimeoutExpired):
            run.communicate(timeout=15)
        assert "PENDING" in slurm.job_state(int(waiting(slurm, job)[0])), "without slurmdbd nothing is released"
    finally:
        outside.daemon_start("dbd", "slurmdbd")
    out, _ = run.communicate(timeout=240)
    assert run.returncode == 0, out
    assert_once(gated, slurm, job)


def released_by_hand(slurm: Slurm, job: str) -> Callable[[], None]:
    def release() -> None:
        (held,) = waiting(slurm, job)
        slurm.admin("scontrol", "release", held)
        await_true("it has begun", lambda: starts(slurm, job), 60)

    return release


@pytest.mark.parametrize("step", [FIRST_MARK, RELEASE], ids=["mark", "release"])
@pytest.mark.parametrize("text", ["sleep 20", "true"], ids=["runs", "over"])
def test_a_job_that_an_administrator_releases_before_the_run_does_is_the_run(
    gated: Gated, slurm: Slurm, proxy: FaultProxy, job: str, text: str, step: tuple[str, int]
) -> None:
    gated.write(3, jobs={job: script(text)}, slurmrest={"url": proxy.url})

    def release() -> None:
        released_by_hand(slurm, job)()
        if text == "true":
            await_true("it is over", lambda: not waiting(slurm, job), 60)

    at(proxy, step, release)
    up(gated)
    assert_once(gated, slurm, job)


def test_a_job_that_was_released_by_hand_while_its_answer_was_lost_stops_the_run_until_an_administrator_marks_it(
    gated: Gated, slurm: Slurm, proxy: FaultProxy, job: str
) -> None:
    at(proxy, ("submit", 1), released_by_hand(slurm, job), lose=True)
    for _ in range(2):
        stopped = gated.try_up()
        assert stopped.returncode != 0
        assert "this stack didn't release it" in stopped.stdout
    (first,) = starts(slurm, job)
    slurm.await_completed(int(first))
    command = stopped.stdout.partition("as an administrator: `")[2].partition("`")[0].replace("\n", " ")
    verb, *words = command.replace("'", "").split()
    assert verb == "sacctmgr", stopped.stdout
    slurm.admin(verb, "-i", *words)
    up(gated)
    assert_once(gated, slurm, job)


def test_two_runs_of_the_same_stack_at_once(gated: Gated, slurm: Slurm, proxy: FaultProxy, job: str) -> None:
    """Pulumi's lock is lifted under the first run, which stands before its mark, and another begins."""
    second: list[subprocess.CompletedProcess[str]] = []
    done = threading.Event()

    def overtaken() -> None:
        proxy.before = None
        gated.stack.unlock()
        second.append(gated.try_up())
        done.set()

    at(proxy, FIRST_MARK, overtaken)
    run = gated.start_up()
    assert done.wait(300)
    run.communicate(timeout=240)
    (other,) = second
    assert other.returncode == 0, other.stdout
    gated.stack.unlock()
    up(gated)
    assert_once(gated, slurm, job)


def test_a_job_whose_name_is_edited_is_still_the_run(gated: Gated, slurm: Slurm, proxy: FaultProxy, job: str) -> None:
    gated.write(3, jobs={job: script("sleep 15")}, slurmrest={"url": proxy.url})
    run = gated.start_up()
    await_true("the job runs", lambda: starts(slurm, job), 120)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    (first,) = waiting(slurm, job)
    slurm.admin("scontrol", "update", f"jobid={first}", f"name={job}-edited")
    gated.stack.unlock()
    up(gated)
    assert results(gated.stack)[job]["id"] == int(first)
    assert starts(slurm, f"{job}-edited") == [first]
    assert starts(slurm, job) == []


def test_settings_that_change_after_a_kill_end_the_first_run_and_start_the_second_once(
    gated: Gated, slurm: Slurm, proxy: FaultProxy, job: str
) -> None:
    gated.write(3, jobs={job: script("sleep 600")}, slurmrest={"url": proxy.url})
    run = gated.start_up()
    await_true("the job runs", lambda: starts(slurm, job), 120)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    (first,) = waiting(slurm, job)
    gated.stack.unlock()
    gated.write(3, jobs={job: script("true")}, slurmrest={"url": proxy.url})
    up(gated)
    assert slurm.job_state(int(first)) == {"CANCELLED"}
    found = results(gated.stack)[job]
    assert found["state"] == "COMPLETED"
    assert set(starts(slurm, job)) == {first, str(found["id"])}


def test_a_job_that_is_deleted_from_the_state_starts_no_second_time(
    gated: Gated, slurm: Slurm, proxy: FaultProxy, job: str
) -> None:
    up(gated)
    first = results(gated.stack)[job]["id"]
    (urn,) = [urn for urn, kind in resources(gated).items() if kind.endswith(":SlurmJob") and urn.endswith(job)]
    gated.stack.pulumi("state", "delete", urn, "--yes")
    up(gated)
    assert results(gated.stack)[job]["id"] == first
    assert_once(gated, slurm, job)


def test_each_update_runs_a_job_once_after_it_was_deleted_from_the_state(
    gated: Gated, slurm: Slurm, proxy: FaultProxy, job: str
) -> None:
    every = {job: script("true", runs="on-every-update")}
    gated.write(3, jobs=every, slurmrest={"url": proxy.url})
    up(gated)
    up(gated)
    assert len(starts(slurm, job)) == 2
    (urn,) = [urn for urn, kind in resources(gated).items() if kind.endswith(":SlurmJob") and urn.endswith(job)]
    gated.stack.pulumi("state", "delete", urn, "--yes")
    up(gated)
    assert len(starts(slurm, job)) == 3, "no earlier run is reported as this update's"


def resources(gated: Gated) -> dict[str, str]:
    """Type of each resource in the state, by URN."""
    rows = json.loads(gated.stack.pulumi("stack", "export").stdout)["deployment"]["resources"]
    return {row["urn"]: row["type"] for row in rows}
