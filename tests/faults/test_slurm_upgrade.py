"""Slurm itself becomes a newer release under running jobs, by the order of docs/releases.md: none is lost.

In a lab with a Slurm of your own (`lab up --slurm DIR`), from that release to Debian's. In any other the daemons are
replaced in the same order by the same release under another image.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from lab import given_slurm
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.slurm import newer
from tests.e2e.slurm import HELD, await_true
from tests.e2e.test_two_stacks import INSIDE, started
from tests.e2e.world import World
from tests.faults.inside_parts import answered, await_login
from tests.faults.later_operator import Inside, all_inside, labs_own, lived

NODES = ("solo-0", "solo-1", "solo-2")
BEFORE, AFTER = given_slurm.release(), newer.RELEASE
PODS = {"slurmdbd": "accounting", "slurmctld": "controller", "slurmrestd": "restapi", "slurmd": "worker", "login": "login"}
"""The daemons, in the order of their upgrade, and what the names of their pods have in them."""


@pytest.fixture(scope="module")
def inside(world: World) -> Iterator[Inside]:
    newer.load(KUBERNETES)
    with lived(world, operator=labs_own) as found:
        found.slurm("sacct")  # slurmdbd answers, so each row of a job is there when it is asked for
        yield found


def write(inside: Inside, *upgraded: str) -> None:
    """Settings with the newer image for these daemons; nothing is applied."""
    settings: dict[str, Any] = all_inside("hs256", operator=labs_own)
    settings["slinky-iac:cluster"]["images"] |= dict.fromkeys(upgraded, newer.NAME)
    inside.write(settings)


def uids(inside: Inside, daemon: str) -> dict[str, str]:
    """UID of each pod of a daemon, by name."""
    return {name: uid for name, uid in inside.uids().items() if name.startswith(f"inside-{PODS[daemon]}")}


def others(inside: Inside, daemon: str) -> dict[str, str]:
    """UID of each pod of the other daemons, by name."""
    mine = uids(inside, daemon)
    return {name: uid for name, uid in inside.uids().items() if name not in mine}


def release(inside: Inside, daemon: str) -> str:
    """What the daemon's own program in its pod says, `26.05`; in a login pod sinfo."""
    (pod, *_), program = uids(inside, daemon), {"login": "sinfo"}.get(daemon, daemon)
    argv = ["exec", "-n", INSIDE, pod, "-c", daemon, "--", program, "-V"]
    said = inside.world.kubectl(*argv).stdout.split()[-1]
    return said.rpartition(".")[0]


def await_release(inside: Inside, daemon: str) -> None:
    """Wait for the newer daemon's pod."""

    def newer_one() -> bool:
        with suppress(subprocess.CalledProcessError, ValueError):  # between two pods
            return release(inside, daemon) == AFTER
        return False

    await_true(f"{daemon} is {AFTER}", newer_one, 180)


def rows(inside: Inside, *jobs: str) -> list[str]:
    """slurmdbd's rows of jobs: number, state, exit code and restarts, one a run."""
    said = answered(
        inside.world, "sacct", "-X", "-D", "-n", "-P", "-j", ",".join(jobs), "-o", "JobID,State,ExitCode,Restarts"
    )
    return sorted(said.splitlines())


def all_run(inside: Inside, jobs: dict[str, str]) -> None:
    """See that slurmctld has each job where it began, and that it never began again."""
    for node, job in jobs.items():
        found = inside.shown(job)
        assert (found["JobState"], found["NodeList"], found["Restarts"]) == ("RUNNING", node, "0"), found


def rolled(inside: Inside, run: subprocess.Popen[str], jobs: dict[str, str]) -> None:
    """End each job once its node is drained, until every worker pod is a new one."""
    before = set(uids(inside, "slurmd").values())
    left = dict(jobs)

    def replaced() -> bool:
        assert run.poll() in (None, 0), run.communicate()[0][-6000:]
        for node in tuple(left):
            if "+DRAIN" in answered(inside.world, "scontrol", "-o", "show", "node", node):
                inside.finish(left.pop(node))
        now = uids(inside, "slurmd")
        return len(now) == len(NODES) and not before & set(now.values())

    await_true("every worker pod is of the newer release", replaced, 600, every=2.0)


def test_a_slurmd_newer_than_slurmctld_is_refused_before_anything_changes(inside: Inside) -> None:
    write(inside, "slurmd")
    said = inside.stack.pulumi("preview", check=False)
    assert ("cluster.images.slurmd" in said.stdout + said.stderr) == (BEFORE < AFTER), said.stdout
    write(inside)
    inside.stack.pulumi("preview", "--expect-no-changes")


@pytest.mark.timeout(1800)
def test_each_daemon_becomes_newer_under_jobs_and_none_is_lost(inside: Inside) -> None:
    assert {release(inside, daemon) for daemon in PODS} == {BEFORE}
    jobs = {node: inside.submit(node, HELD, "--no-requeue", "-p", "main") for node in NODES}
    inside.await_running(*jobs.values())
    waiting = inside.submit("solo-0", "true", "--hold", "-p", "main")

    upgraded: list[str] = []
    for daemon in ("slurmdbd", "slurmctld", "slurmrestd"):
        upgraded.append(daemon)
        untouched = others(inside, daemon)
        write(inside, *upgraded)
        inside.stack.up()
        await_release(inside, daemon)
        assert others(inside, daemon) == untouched, f"{daemon} alone has a new pod"
        all_run(inside, jobs)
        assert rows(inside, *jobs.values()) == sorted(f"{job}|RUNNING|0:0|0" for job in jobs.values())

    inside.world.restart_operator()  # the page on releases says why
    write(inside, *upgraded, "slurmd")
    run = started(inside.stack, "up", "--skip-preview")
    try:
        rolled(inside, run, jobs)
        out, _ = run.communicate(timeout=300)
    finally:
        run.kill()
    assert run.returncode == 0, out[-6000:]
    write(inside, *PODS)
    inside.stack.up()
    await_release(inside, "login")
    await_login(inside.world)

    assert {daemon: release(inside, daemon) for daemon in PODS} == dict.fromkeys(PODS, AFTER)
    wanted = sorted(f"{job}|COMPLETED|0:0|0" for job in jobs.values())
    await_true("slurmdbd has each job once, COMPLETED", lambda: rows(inside, *jobs.values()) == wanted, 120)
    answered(inside.world, "scontrol", "release", waiting)
    await_true("the job of before has run", lambda: rows(inside, waiting) == [f"{waiting}|COMPLETED|0:0|0"], 120)
    inside.stack.pulumi("preview", "--expect-no-changes")
    assert "No problem found" in inside.program("preflight", "--no-pod")
