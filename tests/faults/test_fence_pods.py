"""The fence of pods: a number that an autoscaler lowers while slurm-operator is down, or has no client of slurmrestd, costs
no job. An operator without its client deletes pods without a drain; the API server refuses it, until it sees Slurm again.

`kubectl scale` is the autoscaler here: the API server lets it lower the NodeSet that an autoscaler owns.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from slinky_iac import names
from slinky_iac.parts.fence.policy import policy_name
from tests.e2e.gated import NAMESPACE, NODES, NODESET, RESOURCE, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World, dev_settings
from tests.faults.mid_drain import gated

__all__ = ["gated"]

KIND = "nodesets.slinky.slurm.net"
OPERATOR = ("deployment", "-n", "slinky", "slurm-operator")
REST_API = ("restapis.slinky.slurm.net", "-n", NAMESPACE, "slurm")
NEEDED = ("validatingadmissionpolicybinding", policy_name(NAMESPACE, "slurm", "needed"))
REFUSED = "which has not reported its node as drained"
RECOVERY_S = 240
"""slurm-operator repeats what failed after twice as long each time."""
AFTER_REFUSAL_S = 720
"""One that deletes before it has reported the drain is refused, and then leaves the NodeSet alone for five minutes; one of
these deletions may meet the next such time."""


def up(gated: Gated) -> None:
    """Three pods that an autoscaler owns, behind the fence."""
    cluster = dev_settings()["slinky-iac:cluster"] | {"fence": True, "fencePods": True}
    gated.write(3, nodeset={"owner": "autoscaler", "maxReplicas": 3}, cluster=cluster)
    gated.stack.up("--refresh")  # a test has taken the RestApi's fence away


@pytest.fixture(autouse=True)
def three(gated: Gated, slurm: Slurm) -> Iterator[None]:
    """Three idle nodes of a NodeSet that an autoscaler owns, and its fence."""
    slurm.cancel_all()
    up(gated)
    scale(gated, 3)
    gated.world.await_pods(NAMESPACE, NODESET, 3)
    slurm.await_registered(*NODES)
    await_true("the operator reports all of them", lambda: all(reports(gated).values()), 90)
    yield
    slurm.cancel_all()
    gated.disown_replicas()


def scale(gated: Gated, number: int) -> None:
    """Ask for so many, as an autoscaler does."""
    gated.world.kubectl("scale", KIND, "-n", NAMESPACE, RESOURCE, f"--replicas={number}")


def reports(gated: Gated) -> dict[str, set[str]]:
    """What the operator says of each pod's Slurm node."""
    return {
        node: {
            each["type"].removeprefix(names.CONDITION_PREFIX)
            for each in pod["status"].get("conditions", ())
            if each["type"].startswith(names.CONDITION_PREFIX) and each["status"] == "True"
        }
        for node, pod in gated.world.pods(NAMESPACE, NODESET).items()
    }


def uids(gated: Gated) -> dict[str, str]:
    """Which pod each node is."""
    return {node: pod["metadata"]["uid"] for node, pod in gated.world.pods(NAMESPACE, NODESET).items()}


def drained(slurm: Slurm) -> set[str]:
    return {node for node, states in slurm.states().items() if node in NODES and "DRAIN" in states}


def stop(world: World) -> None:
    """No operator."""
    world.kubectl("scale", *OPERATOR, "--replicas=0")
    world.kubectl("wait", "--for=delete", "pod", "-n", "slinky", "-l", f"{names.LABEL_NAME}={names.OPERATOR_APP}")


def start(world: World) -> None:
    """An operator, which has no client of slurmrestd before it has looked for one."""
    world.kubectl("scale", *OPERATOR, "--replicas=1")
    world.kubectl("rollout", "status", *OPERATOR, "--timeout=120s")


@contextmanager
def no_slurmrestd(gated: Gated) -> Iterator[None]:
    """No RestApi. The fence itself would refuse to delete it; both are there again afterwards."""
    world = gated.world
    found = json.loads(world.kubectl("get", *REST_API, "-o", "json").stdout)
    kept = {key: value for key, value in found["metadata"].items() if key in {"name", "namespace", "labels", "annotations"}}
    world.kubectl("delete", *NEEDED)
    tried = ("delete", *REST_API, "--dry-run=server")
    await_true("it may go", lambda: not world.kubectl(*tried, check=False).returncode, 30)
    world.kubectl("delete", *REST_API)
    try:
        yield
    finally:
        again = {**{key: found[key] for key in ("apiVersion", "kind", "spec")}, "metadata": kept}
        world.kubectl("create", "-f", "-", stdin=json.dumps(again))


def refusals(world: World) -> int:
    """How often this operator was refused. Up to 1.0 its log alone has it: its events go nowhere."""
    log = world.kubectl("logs", *OPERATOR[1:3], f"{OPERATOR[0]}/{OPERATOR[3]}", check=False).stdout
    return sum("Reconciler error" in line and REFUSED in line for line in log.splitlines())


def busy(slurm: Slurm) -> dict[str, int]:
    """A job on each node."""
    jobs = {node: slurm.submit("-p", NODESET, "-w", node, "--exclusive", "-t", "30") for node in NODES}
    slurm.await_running(*jobs.values())
    return jobs


def refused(gated: Gated, slurm: Slurm, jobs: dict[str, int]) -> None:
    """The operator tries, sees no node, and takes no pod."""
    await_true("the operator was refused", lambda: refusals(gated.world), 120)
    await_true("the operator has taken its reports off", lambda: not any(reports(gated).values()), 120)
    assert gated.pods() == list(NODES)
    assert all("RUNNING" in slurm.job_state(job) for job in jobs.values())


def finish_by_drains(gated: Gated, slurm: Slurm, jobs: dict[str, int], number: int) -> None:
    """The operator drains as many as are too many, waits for their jobs, and deletes these pods and no other."""
    await_true("the operator drains", lambda: len(drained(slurm)) == len(NODES) - number, RECOVERY_S, every=2)
    leaving = drained(slurm)
    assert all("RUNNING" in slurm.job_state(job) for job in jobs.values())
    assert gated.pods() == list(NODES)
    slurm.finish(*(jobs[node] for node in leaving))
    staying = sorted(set(NODES) - leaving)
    await_true(f"the pods are exactly {staying}", lambda: gated.pods() == staying, RECOVERY_S, every=2)
    slurm.finish(*(jobs[node] for node in staying))
    rows = slurm.await_completed(*jobs.values())
    assert {(row.state, row.nodes, row.exit_code) for row in rows} == {("COMPLETED", node, "0:0") for node in NODES}


def test_a_number_lowered_while_the_operator_was_down_costs_no_job(gated: Gated, slurm: Slurm, world: World) -> None:
    """An upgrade: it comes back with slurmrestd there, and has no client for a moment."""
    jobs = busy(slurm)
    stop(world)
    scale(gated, 2)
    start(world)
    finish_by_drains(gated, slurm, jobs, 2)


def test_an_operator_that_comes_back_without_slurmrestd_deletes_no_busy_pod(
    gated: Gated, slurm: Slurm, world: World
) -> None:
    """gpu-2 was drained when the operator saw it last, and a person has returned it since: its pod would go first."""
    slurm.admin("scontrol", "update", "nodename=gpu-2", "state=drain", "reason=looked at")
    await_true("the operator reports the drain", lambda: reports(gated)["gpu-2"] == {"Idle", "Drain"}, 90)
    stop(world)
    slurm.admin("scontrol", "update", "nodename=gpu-2", "state=resume")
    jobs = busy(slurm)
    with no_slurmrestd(gated):
        scale(gated, 2)
        start(world)
        refused(gated, slurm, jobs)
    finish_by_drains(gated, slurm, jobs, 2)


def test_an_operator_that_loses_its_client_deletes_no_busy_pod(gated: Gated, slurm: Slurm, world: World) -> None:
    """Restarted while slurmrestd is away, and the number is lowered later."""
    jobs = busy(slurm)
    with no_slurmrestd(gated):
        stop(world)
        start(world)
        await_true("the operator has taken its reports off", lambda: not any(reports(gated).values()), 120)
        scale(gated, 2)
        refused(gated, slurm, jobs)
    finish_by_drains(gated, slurm, jobs, 2)


def test_an_idle_pod_goes_as_before(gated: Gated, slurm: Slurm) -> None:
    job = slurm.submit("-p", NODESET, "-w", "gpu-0", "--exclusive", "-t", "30")
    slurm.await_running(job)
    scale(gated, 2)
    await_true("the idle one is gone", lambda: gated.pods() == ["gpu-0", "gpu-1"], AFTER_REFUSAL_S, every=2)
    slurm.finish(job)
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes) == ("COMPLETED", "gpu-0")


def test_a_pod_that_a_person_has_drained_goes(gated: Gated, slurm: Slurm) -> None:
    """The operator wants to delete it in its first sync, and is refused until it has reported what it saw."""
    slurm.admin("scontrol", "update", "nodename=gpu-2", "state=drain", "reason=looked at")
    await_true("the operator reports the drain", lambda: reports(gated)["gpu-2"] == {"Idle", "Drain"}, 90)
    scale(gated, 2)
    await_true("it is gone", lambda: gated.pods() == ["gpu-0", "gpu-1"], 90)


def deletion(world: World, pod: str) -> str:
    """Why a person's `kubectl delete pod` is refused; empty where it isn't. Nothing is deleted."""
    done = world.kubectl("delete", "pod", "-n", NAMESPACE, pod, "--dry-run=server", check=False)
    return done.stderr if done.returncode else ""


def test_a_pod_under_a_job_is_deleted_by_no_person_and_a_drained_one_is(gated: Gated, world: World, slurm: Slurm) -> None:
    """From the job's first second on: what the operator reports of the node is older."""
    jobs = busy(slurm)
    for number, node in enumerate(NODES):
        assert f"kubectl annotate pod -n {NAMESPACE} {RESOURCE}-{number} slinky-iac/permit=delete" in deletion(
            world, f"{RESOURCE}-{number}"
        ), node
    assert all("RUNNING" in slurm.job_state(job) for job in jobs.values())
    slurm.admin("scontrol", "update", "nodename=gpu-2", "state=drain", "reason=looked at")
    await_true("the operator reports the drain", lambda: "Drain" in reports(gated)["gpu-2"], 90)
    assert deletion(world, f"{RESOURCE}-2"), "its job runs on"
    slurm.finish(*jobs.values())
    await_true("the drained one may go", lambda: not deletion(world, f"{RESOURCE}-2"), 90)
    assert deletion(world, f"{RESOURCE}-1"), "idle is not drained: a job may begin at any moment"
    slurm.admin("scontrol", "update", "nodename=gpu-2", "state=resume")


def test_a_person_who_must_deletes_a_pod_and_an_ended_one_is_replaced(gated: Gated, world: World, slurm: Slurm) -> None:
    """By the command that the refusal names. In the other nothing runs any more: kubelet ended it."""
    before = uids(gated)
    world.delete_worker(NAMESPACE, f"{RESOURCE}-0", "--wait=false")
    ended = json.dumps({"spec": {"activeDeadlineSeconds": 1}})
    world.kubectl("patch", "pod", "-n", NAMESPACE, f"{RESOURCE}-1", "--type=merge", "-p", ended)

    def replaced() -> bool:
        found = uids(gated)
        return set(found) == set(NODES) and {node for node in NODES if found[node] != before[node]} == {"gpu-0", "gpu-1"}

    await_true("both are new, and no other is", replaced, 180)
    slurm.await_registered(*NODES)


def test_of_several_pods_none_goes_and_after_five_minutes_they_are_drained(gated: Gated, slurm: Slurm, world: World) -> None:
    """slurm-operator waits that long for pods that it wanted to delete and didn't (ExpectationsTimeout), and 1.0 for a
    change then: in a cluster that works, a job that starts or ends."""
    jobs = busy(slurm)
    stop(world)
    with no_slurmrestd(gated):
        scale(gated, 1)
        start(world)
        refused(gated, slurm, jobs)
    stirred = itertools.count()

    def drains() -> bool:
        world.kubectl("annotate", KIND, "-n", NAMESPACE, RESOURCE, "--overwrite", f"stirred={next(stirred)}")
        return len(drained(slurm)) == 2

    try:
        await_true("the operator drains two", drains, 420, every=5)
        assert gated.pods() == list(NODES)
        assert all("RUNNING" in slurm.job_state(job) for job in jobs.values())
        slurm.finish(*jobs.values())
        rows = slurm.await_completed(*jobs.values())
        assert {(row.state, row.nodes, row.exit_code) for row in rows} == {("COMPLETED", node, "0:0") for node in NODES}
    finally:
        scale(gated, 3)
        stop(world)  # it would wait five minutes more
        start(world)
