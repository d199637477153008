"""slurmctld, slurmdbd and pods in one Kubernetes: changes that end jobs far from the pods that a person has in mind. No job
ends by them: numbers that are lowered together, a queue that fills again in the middle of a destroy, somebody's edit.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from tests.e2e.slurm import HELD, await_true
from tests.e2e.test_two_stacks import GRACE, INSIDE, started
from tests.e2e.world import World
from tests.faults.inside_parts import answered
from tests.faults.later_operator import Inside, all_inside, labs_own, lived

NODES = ("solo-0", "solo-1", "solo-2")
CONTROLLER = ("controllers.slinky.slurm.net", "-n", INSIDE, "inside")


@pytest.fixture(scope="module")
def inside(world: World) -> Iterator[Inside]:
    with lived(world, operator=labs_own) as found:
        found.slurm("sacct")  # slurmdbd answers, so each row of a job is there when it is asked for
        yield found


def write(
    inside: Inside, *, cluster: dict[str, Any] | None = None, drain: dict[str, Any] | None = None, **solo: Any
) -> None:
    """Other settings of the cluster, of all drains and of the NodeSet; nothing is applied."""
    settings = all_inside("hs256", operator=labs_own, **solo)
    settings["slinky-iac:cluster"] |= cluster or {}
    settings["slinky-iac:nodesets"]["solo"]["drain"] |= {"deadline": "5m", **(drain or {})}
    settings["slinky-iac:drain"] = {"deadline": "5m", **(drain or {})}
    inside.write(settings)


def occupied(inside: Inside) -> dict[str, str]:
    """A job on each node that runs until it gets a signal, and that can't be requeued."""
    jobs = {node: inside.submit(node, HELD, "--no-requeue", "-p", "main") for node in NODES}
    inside.await_running(*jobs.values())
    return jobs


def drained(inside: Inside) -> set[str]:
    """Nodes that carry a drain of the gate's."""
    rows = json.loads(answered(inside.world, "scontrol", "show", "nodes", "--json"))["nodes"]
    return {row["name"] for row in rows if "DRAIN" in row["state"] and row["reason"].startswith("slinky-iac:")}


def states(inside: Inside, jobs: dict[str, str]) -> dict[str, tuple[str, str, str]]:
    """State, node and restarts of each job."""
    found = {node: inside.shown(job) for node, job in jobs.items()}
    return {node: (job["JobState"], job["NodeList"], job["Restarts"]) for node, job in found.items()}


def running(nodes: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    return {node: ("RUNNING", node, "0") for node in nodes}


def accounted(inside: Inside, jobs: dict[str, str]) -> list[str]:
    """slurmdbd's rows of the jobs, one a run."""
    rows = answered(
        inside.world, "sacct", "-X", "-D", "-n", "-P", "-j", ",".join(jobs.values()), "-o", "JobID,State,ExitCode"
    )
    return sorted(rows.splitlines())


def all_completed(inside: Inside, jobs: dict[str, str]) -> None:
    wanted = sorted(f"{job}|COMPLETED|0:0" for job in jobs.values())
    await_true("slurmdbd has each job once, COMPLETED", lambda: accounted(inside, jobs) == wanted, 120)


def test_maxnodecount_and_replicas_lowered_in_one_update_end_no_job(inside: Inside) -> None:
    """slurmctld that starts again with a table too small for its nodes ends the jobs of those that don't fit."""
    jobs = occupied(inside)
    write(inside, cluster={"maxNodeCount": 1}, replicas=1)
    run = started(inside.stack, "up", "--skip-preview")
    try:
        await_true("two nodes are drained by the gate", lambda: len(drained(inside)) == 2 or run.poll() is not None, 120)
        assert run.poll() is None, run.communicate()[0][-6000:]
        going = drained(inside)
        assert states(inside, jobs) == running(NODES)
        inside.finish(*(jobs[node] for node in going))
        out, _ = run.communicate(timeout=420)
    finally:
        run.kill()
    assert run.returncode == 0, out[-6000:]
    (kept,) = set(NODES) - going
    await_true("one pod is left", lambda: inside.workers() == [kept], 120)
    left = {kept: jobs[kept]}
    assert states(inside, left) == running({kept})
    inside.finish(jobs[kept])
    all_completed(inside, jobs)
    write(inside)
    inside.stack.up()


def test_slurm_conf_is_changed_by_its_gate_alone(inside: Inside) -> None:
    """A partition that kubectl takes out of the Controller would end its jobs: the API server refuses the edit."""
    found = json.loads(inside.world.kubectl("get", *CONTROLLER, "-o", "json").stdout)
    text = found["spec"]["extraConf"]
    assert "PartitionName=main" in text
    without = "\n".join(line for line in text.splitlines() if not line.startswith("PartitionName=main"))
    patch = json.dumps({"spec": {"extraConf": without}})
    refused = inside.world.kubectl("patch", *CONTROLLER, "--type=merge", "-p", patch, check=False)
    assert refused.returncode != 0
    assert "extraConf" in refused.stderr
    again = json.loads(inside.world.kubectl("get", *CONTROLLER, "-o", "json").stdout)
    assert again["metadata"]["generation"] == found["metadata"]["generation"]
    inside.stack.pulumi("preview", "--expect-no-changes")


def test_a_job_that_is_requeued_in_the_middle_of_a_destroy_keeps_slurmctld(inside: Inside) -> None:
    """The gate's own requeue puts it back into the queue, which goes with slurmctld's volume."""
    write(inside, drain={"deadline": "20s", "onDeadline": "requeue"})
    inside.stack.up()
    job = inside.submit("solo-0", HELD, "--requeue", "-p", "main")
    inside.await_running(job)
    inside.stack.pulumi("state", "unprotect", "--all", "--yes")
    ended = inside.stack.destroy(check=False)
    said = ended.stdout + ended.stderr
    assert ended.returncode != 0, said[-4000:]
    assert job in said
    assert "inside-controller-0" in inside.uids()
    assert inside.shown(job)["JobState"] in ("PENDING", "REQUEUED", "RUNNING")
    answered(inside.world, "scancel", job)
    await_true("the queue is empty", lambda: not answered(inside.world, "squeue", "-h").strip(), 120)
    settings = all_inside("hs256", operator=labs_own)
    settings["slinky-iac:nodesets"]["solo"]["pod"] = GRACE
    inside.write(settings)
    inside.stack.up()
