"""slurm-operator becomes a newer one under running jobs, by the steps of docs/releases.md: none is lost."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from lab import later_operator, paths
from lab.demo import apply_lines_of
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.stacks import Stack
from slinky_iac import names
from tests.e2e.gated import NAMESPACE, NODES, NODESET, Gated
from tests.e2e.slurm import HELD, Slurm, await_true
from tests.e2e.test_two_stacks import INSIDE
from tests.e2e.world import World, dev_settings
from tests.faults.later_operator import EARLIER, LATER, all_inside, lived, release_of

BEFORE, AFTER = (dev_settings(each)["slinky-iac:operator"] for each in (EARLIER, LATER))
FROM_1_0 = not release_of(EARLIER).has_scaling_mode
"""Only its pods lack a label, and only its CRDs lack a field that the next ones have."""
ON_DELETE: dict[str, Any] = {"updateStrategy": {"type": "OnDelete"}}


@pytest.fixture(scope="module")
def old(ground: None, world: World, slurm: Slurm) -> Iterator[Gated]:
    with of_earlier(world, slurm, "upgraded") as gated:
        yield gated


@contextmanager
def of_earlier(world: World, slurm: Slurm, name: str, **more: Any) -> Iterator[Gated]:
    """Three pods behind gates, of the earlier operator; gone in the end."""
    later_operator.load(KUBERNETES)
    gated = Gated(world, slurm, world.named(name))
    gated.up(3, operator=BEFORE, **more)
    apply_lines_of(gated.stack)
    slurm.await_registered(*NODES)
    yield gated
    slurm.cancel_all()
    world.vacate()


def pods(gated: Gated) -> dict[str, str]:
    """UID of each pod that is there to stay, by Slurm node."""
    return {node: pod["metadata"]["uid"] for node, pod in gated.world.pods(NAMESPACE, NODESET).items()}


def running(gated: Gated) -> str:
    """The operator's image."""
    (found,) = gated.world.objects("deployments", "slinky")
    return str(found["spec"]["template"]["spec"]["containers"][0]["image"])


def image_of(operator: Mapping[str, Any]) -> str:
    """The operator's image by the settings."""
    image = operator["values"]["operator"]["image"]
    return f"{image['repository']}:{image['tag']}"


def documented(beginning: str) -> list[str]:
    """The words of the one command in docs/releases.md that begins so."""
    text = (paths.REPO / "docs" / "releases.md").read_text()
    (line,) = [line for line in map(str.strip, text.splitlines()) if line.startswith(beginning)]
    return shlex.split(line)


def label(world: World, namespace: str) -> None:
    """Give 1.0's worker pods the label that newer ones look for."""
    if not FROM_1_0:
        return
    words = documented("kubectl label pods")
    world.kubectl(*(word.replace("NAMESPACE", namespace) for word in words[1:]))


def crds_first(stack: Stack) -> None:
    """See that no preview is to be had with the old CRDs, and have one after the new ones are there."""
    refused = stack.pulumi("preview", check=False)
    assert ("field not declared in schema" in refused.stdout + refused.stderr) == FROM_1_0
    assert "lack a label" not in refused.stdout
    stack.pulumi(*documented("pulumi up --target")[1:], "--yes")
    stack.pulumi("preview")


def forgotten(gated: Gated, before: dict[str, str]) -> None:
    """See that without the label the update stops before the operator, also where no preview came before it."""
    gated.world.kubectl(
        "label", "pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=slurmd", f"{names.LABEL_SCALING_MODE}-"
    )
    refused = gated.try_up()
    assert refused.returncode != 0
    assert "was not installed: 3 worker pods" in refused.stdout + refused.stderr, refused.stdout
    assert running(gated) == image_of(BEFORE)
    assert pods(gated) == before
    label(gated.world, NAMESPACE)


def test_no_job_is_lost_and_busy_pods_are_replaced_drained(old: Gated, slurm: Slurm) -> None:
    gated, before = old, pods(old)
    jobs = {node: slurm.submit("-p", "gpu", "-w", node, "-t", "20") for node in NODES}
    slurm.await_running(*jobs.values())

    gated.up(3, nodeset=ON_DELETE, operator=BEFORE)
    label(gated.world, NAMESPACE)
    gated.write(3, nodeset=ON_DELETE, operator=AFTER)
    crds_first(gated.stack)
    if FROM_1_0:
        forgotten(gated, before)
    gated.up(3, nodeset=ON_DELETE, operator=AFTER)
    assert running(gated) == image_of(AFTER)
    status = gated.cli("status")
    assert AFTER["version"] in status.stdout, status.stderr
    assert pods(gated) == before, "with OnDelete no pod goes without a request"
    assert all(slurm.job_state(job) == {"RUNNING"} for job in jobs.values())

    gated.write(3, operator=AFTER)
    run = gated.start_up()

    def replaced() -> bool:
        for node in (node for node, states in slurm.states().items() if node in jobs and "DRAIN" in states):
            if "RUNNING" in slurm.job_state(jobs[node]):
                slurm.finish(jobs[node])
        now = pods(gated)
        return set(now) == set(NODES) and not set(now.values()) & set(before.values())

    await_true("every pod is of the newer release", replaced, 400, every=2.0)
    out, _ = run.communicate(timeout=240)
    assert run.returncode == 0, out
    rows = {int(row.job): (row.state, row.nodes, row.exit_code) for row in slurm.await_completed(*jobs.values())}
    assert rows == {job: ("COMPLETED", node, "0:0") for node, job in jobs.items()}
    gated.world.await_pods(NAMESPACE, NODESET, 3)
    slurm.await_registered(*NODES)
    assert gated.changes() == []


@pytest.mark.timeout(1800)  # ten minutes, and the operator may stand for five more (tests.e2e.world.OPERATOR_STANDS_S)
def test_with_all_of_slurm_in_kubernetes_the_queue_and_the_jobs_go_on(world: World) -> None:
    """slurmctld and slurmdbd restart, since the JWT key has another place in their pods."""
    later_operator.load(KUBERNETES)
    with lived(world, operator=EARLIER) as inside:
        before = inside.uids()
        jobs = {node: inside.submit(node, HELD, "-t20") for node in inside.workers()}
        waiting = inside.submit("solo-0", "hostname", "--hold", "-t1")
        inside.await_running(*jobs.values())
        inside.write(all_inside("hs256", operator=EARLIER, **ON_DELETE))
        inside.stack.up()
        label(world, INSIDE)
        inside.write(all_inside("hs256", operator=LATER, **ON_DELETE))
        crds_first(inside.stack)
        inside.stack.up()
        assert inside.slurm("srun", f"--jobid={jobs['solo-0']}", "--overlap", "hostname") == "solo-0\n", "a step starts"
        after = inside.uids()
        assert {name for name in before if name.startswith("inside-worker") and after.get(name) != before[name]} == set()
        told = [inside.job(job) for job in jobs.values()]
        assert [(job["JobState"], job["Restarts"]) for job in told] == [("RUNNING", "0")] * 3
        assert inside.job(waiting)["JobState"] == "PENDING", "the queue is as it was"
        inside.finish(*jobs.values())
        listed = ["sacct", "-a", "-X", "-n", "-P", "-j", ",".join(jobs.values()), "-o", "State,ExitCode"]
        await_true("slurmdbd has the jobs ended", lambda: inside.slurm(*listed).split() == ["COMPLETED|0:0"] * 3, 60)
