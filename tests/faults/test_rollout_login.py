"""A changed or removed login set, while srun runs in its pod: the update stops before it, the removal waits, and the job
ends only where that is set."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.e2e.slurm import await_true
from tests.e2e.test_two_stacks import GRACE, INSIDE
from tests.e2e.world import World, ready
from tests.faults.inside_parts import await_login
from tests.faults.later_operator import Inside, all_inside, labs_own, lived


@pytest.fixture(scope="module")
def inside(world: World) -> Iterator[Inside]:
    with lived(world, operator=labs_own) as found:
        yield found


def login_pod(inside: Inside) -> str:
    """Name of the login set's pod that is there to stay."""
    pods = [
        pod["metadata"]["name"]
        for pod in inside.world.objects("pods", INSIDE)
        if pod["metadata"]["name"].startswith("inside-login-main") and ready(pod)
    ]
    assert len(pods) == 1, pods
    return str(pods[0])


def written(inside: Inside, **login: Any) -> None:
    """Write another template of the login set; nothing is applied."""
    settings = all_inside("hs256", operator=labs_own)
    pod = {**GRACE, "annotations": {"example.org/template": "2"}}
    settings["slinky-iac:logins"] = {"main": {"sssdConfFrom": {"secret": "sssd"}, "pod": pod, **login}}
    inside.write(settings)


@contextmanager
def srun_in(inside: Inside, pod: str) -> Iterator[str]:
    """An srun from the pod, for ten minutes at most; its job's number."""
    argv = ["exec", "-n", INSIDE, pod, "-c", "login", "--", "srun", "-w", "solo-0", "-t", "20", "sleep", "600"]
    command = ["kubectl", *argv]
    with subprocess.Popen(
        command, env=inside.world.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as srun:
        try:
            await_true("srun has its job", lambda: srun.poll() is not None or inside.slurm("squeue", "-h", "-t", "R"), 60)
            await_true("its step runs", lambda: srun.poll() is not None or inside.slurm("squeue", "-h", "-s"), 60)
            assert srun.poll() is None, srun.stdout and srun.stdout.read()
            (number,) = inside.slurm("squeue", "-h", "-o", "%i").split()
            yield number
        except AssertionError as failed:
            failed.add_note("srun had ended" if srun.poll() is not None else "srun was there")
            raise
        finally:
            srun.kill()


def test_an_update_stops_before_a_login_set_from_which_srun_runs(inside: Inside) -> None:
    before = login_pod(inside)
    with srun_in(inside, before) as number:
        written(inside)
        preview = inside.stack.pulumi("preview")
        assert f"1 job ({number} of " in preview.stdout, preview.stdout
        refused = inside.stack.up(check=False)
        assert refused.returncode != 0
        assert "inside-login-main was not changed" in refused.stdout + refused.stderr, refused.stdout
        assert login_pod(inside) == before
        assert inside.job(number)["JobState"] == "RUNNING"

        written(inside, interruptSessions=True)
        inside.stack.up()
        await_true("the pod is replaced", lambda: before not in inside.uids(), 120)
        await_login(inside.world)


def test_without_such_a_job_the_login_set_is_updated(inside: Inside) -> None:
    cancel = "scancel -u root; scancel -u slurm; squeue -h"  # scancel may fail where a job ends meanwhile
    await_true("no job is left", lambda: not inside.slurm("sh", "-c", cancel).strip(), 60)
    before = login_pod(inside)
    settings = all_inside("hs256", operator=labs_own)
    inside.write(settings)
    inside.stack.up()
    await_true("the pod is replaced", lambda: before not in inside.uids(), 120)
    await_login(inside.world)


def test_a_removal_is_planned_and_waits_for_srun(inside: Inside) -> None:
    """Review of 25 November, 8: the preview said only "2 to delete", and the job continued with no one attached."""
    settings = all_inside("hs256", operator=labs_own)
    settings["slinky-iac:drain"] = {**settings.get("slinky-iac:drain", {}), "deadline": 20}
    inside.write(settings)
    inside.stack.up()  # a removal goes by the deadline that was applied before
    before = login_pod(inside)
    with srun_in(inside, before) as number:
        del settings["slinky-iac:logins"]
        inside.write(settings)
        preview = inside.stack.pulumi("preview")
        assert (
            f"logins.main leaves the program: LoginSet inside-login-main will be removed; 1 job ({number} of "
            in preview.stdout
        )
        late = inside.stack.up(check=False)
        assert late.returncode != 0
        assert "can't end yet, since these would lose their srun or salloc" in late.stdout + late.stderr, late.stdout
        assert login_pod(inside) == before
        assert inside.job(number)["JobState"] == "RUNNING"
        again = inside.stack.pulumi("preview")
        assert "logins.main leaves the program" in again.stdout, "what failed is planned again"
    await_true("the job has ended", lambda: not inside.slurm("sh", "-c", "scancel -u root; squeue -h").strip(), 60)
    inside.stack.up()
    await_true("the login set is gone", lambda: before not in inside.uids(), 120)
    inside.write(all_inside("hs256", operator=labs_own))
    inside.stack.up()
    await_login(inside.world)
