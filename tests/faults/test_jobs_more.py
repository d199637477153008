"""What a stack's jobs, smoke jobs and Token resources do beside what the end-to-end tests show of them."""

from __future__ import annotations

import base64
import urllib.request

import jwt
import pytest

from tests.e2e.gated import NAMESPACE, STACK, Gated
from tests.e2e.running import fresh, hello, results, script, starts, waiting
from tests.e2e.slurm import Slurm, await_true

STANDS_ON = STACK
SLURMRESTD = "http://10.99.0.12:6820"


@pytest.fixture(autouse=True)
def none_left(gated: Gated) -> None:
    """Each test begins with a stack that the settings say."""
    gated.reset()


def test_a_job_that_fails_fails_the_update_and_the_next_update_runs_it_again(gated: Gated, slurm: Slurm) -> None:
    name = fresh("fails")
    gated.write(3, jobs={name: script("exit 3")})
    failed = gated.try_up()
    assert failed.returncode != 0
    (first,) = starts(slurm, name)
    for words in (
        f"job {first} of alice ended FAILED on metal-",
        "exit code 3",
        "NonZeroExitCode",
        f"/tmp/slurm-{first}.out",
    ):
        assert words in failed.stdout, failed.stdout
    assert gated.try_up().returncode != 0
    assert len(starts(slurm, name)) == 2
    gated.up(3, jobs={name: script("exit 0")})
    assert results(gated.stack)[name]["state"] == "COMPLETED"
    assert len(starts(slurm, name)) == 3


def test_a_job_that_is_removed_is_cancelled_and_one_that_is_replaced_too(gated: Gated, slurm: Slurm) -> None:
    name = fresh("long")
    gated.up(3, jobs={name: script("sleep 600", waitFor="submitted")})
    (first,) = waiting(slurm, name)
    slurm.await_running(int(first))
    gated.up(3, jobs={name: script("sleep 601", waitFor="submitted")})
    (second,) = waiting(slurm, name)
    assert second != first
    assert slurm.job_state(int(first)) == {"CANCELLED"}
    gated.up(3)
    await_true("no job is left", lambda: not waiting(slurm, name), 30)
    assert slurm.job_state(int(second)) == {"CANCELLED"}


def test_nothing_is_made_for_a_job_that_cannot_run(gated: Gated, slurm: Slurm) -> None:
    bad = {
        "root": (hello(user="root"), "jobs.root.user"),
        "nowhere": (hello(partition="nope"), "jobs.nowhere.partition"),
        "unread": ({**hello(), "command": [], "script": {"file": "no-such-file.sh"}}, "jobs.unread.script.file"),
        "stranger": (hello(user="zoe"), "zoe"),
    }
    for name, (job, words) in bad.items():
        gated.write(3, jobs={name: job})
        refused = gated.try_up()
        assert refused.returncode != 0
        assert words in refused.stdout, refused.stdout
        assert waiting(slurm, name) == starts(slurm, name) == []


def test_a_token_that_the_operator_makes_is_taken_by_slurmctld(gated: Gated) -> None:
    gated.up(3, tokens={"ci": {"user": "alice", "lifetime": "10m"}})
    entry = ("get", "secret", "slurm-ci-token", "-n", NAMESPACE, "-o", "jsonpath={.data.token}")
    await_true("the operator has made it", lambda: gated.world.kubectl(*entry, check=False).stdout, 60)
    made = base64.b64decode(gated.world.kubectl(*entry).stdout).decode()
    request = urllib.request.Request(f"{SLURMRESTD}/slurm/v0.0.44/diag/", headers={"X-SLURM-USER-TOKEN": made})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200
    assert jwt.decode(made, options={"verify_signature": False})["sun"] == "alice"
    gated.up(3)


def test_a_smoke_job_ran_in_each_partition_and_has_its_row(gated: Gated, slurm: Slurm) -> None:
    gated.up(3, smoke={"enabled": True, "user": "alice"})
    shown = results(gated.stack)
    assert {name: each["state"] for name, each in shown.items()} == {"smoke-gpu": "COMPLETED"}
    (row,) = slurm.accounted(shown["smoke-gpu"]["id"])
    assert row.state == "COMPLETED"
    assert row.nodes.startswith("gpu-")
    gated.up(3, smoke={"enabled": True, "user": "alice"})
    again = results(gated.stack)["smoke-gpu"]["id"]
    assert again != shown["smoke-gpu"]["id"], "each update runs it"
    gated.up(3)
    assert gated.changes() == [], "without smoke no preview shows a change"


def test_a_scale_in_names_the_stacks_own_job(gated: Gated, slurm: Slurm) -> None:
    job = hello(partition="gpu", nodes=3, waitFor="submitted") | {"command": ["sleep", "600"], "output": "/dev/null"}
    gated.up(3, jobs={"own": job})
    slurm.await_running(results(gated.stack)["own"]["id"])
    gated.write(2, jobs={"own": job})
    (found,) = gated.plan()["jobs"]
    assert found["stack_job"] == f"jobs.own of stack {STACK}"
    gated.up(3)
