"""A changed pod template: the gate replaces pods drained, one batch after the other, and no job is lost by it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tests.e2e.gated import NAMESPACE, NODES, NODESET, RESOURCE, STACK, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World

STANDS_ON = STACK
_TEMPLATES = count(1)


def template() -> dict[str, Any]:
    """A pod template that no pod of this run has yet."""
    return {"env": {"ROLLED": f"{os.getpid()}-{next(_TEMPLATES)}"}}


def uids(gated: Gated) -> dict[str, str]:
    """UID of each pod that is there to stay, by Slurm node."""
    return {node: pod["metadata"]["uid"] for node, pod in gated.world.pods(NAMESPACE, NODESET).items()}


def strategy(gated: Gated) -> str:
    (found,) = gated.world.objects("nodesets.slinky.slurm.net", NAMESPACE)
    return str(found["spec"]["updateStrategy"]["type"])


@pytest.fixture
def calm(gated: Gated, slurm: Slurm) -> Iterator[Gated]:
    """Three idle nodes; an update that a failed test leaves behind is ended by it."""
    slurm.cancel_all()
    for node in set(NODES) & set(slurm.nodes()):
        slurm.admin("scontrol", "update", f"nodename={node}", "state=undrain", check=False)
    slurm.await_registered(*NODES)
    gated.world.await_pods(NAMESPACE, NODESET, 3)
    yield gated
    slurm.cancel_all()


def occupy(slurm: Slurm) -> dict[str, int]:
    """A job on each node that ends when the test says so."""
    jobs = {node: slurm.submit("-p", "gpu", "-w", node, "-t", "30") for node in NODES}
    slurm.await_running(*jobs.values())
    return jobs


def let_drained_jobs_end(slurm: Slurm, jobs: dict[str, int]) -> list[str]:
    """Nodes that are drained by us now; the test ends their jobs."""
    found = [name for name, node in slurm.nodes().items() if name in jobs and "slinky-iac:" in node["reason"]]
    for node in found:
        if "RUNNING" in slurm.job_state(jobs[node]):
            slurm.finish(jobs[node])
    return found


def ended(run: subprocess.Popen[str], slurm: Slurm, jobs: dict[str, int]) -> str:
    """Let jobs end as their nodes are drained until the update has; returns its output. Never are two nodes drained."""

    def over() -> bool:
        assert len(let_drained_jobs_end(slurm, jobs)) <= 1, "one at a time, as 25% of three"
        return run.poll() is not None

    await_true("the update ends", over, 500, every=1.0)
    out, _ = run.communicate()
    return out


def assert_completed(slurm: Slurm, jobs: dict[str, int]) -> None:
    """Each job ended when it was done, on the node where it began, and was run once."""
    rows = {int(row.job): (row.state, row.nodes, row.exit_code) for row in slurm.await_completed(*jobs.values())}
    assert rows == {job: ("COMPLETED", node, "0:0") for node, job in jobs.items()}


def test_a_new_template_replaces_busy_pods_one_by_one_when_their_jobs_have_ended(calm: Gated, slurm: Slurm) -> None:
    gated, before, jobs = calm, uids(calm), occupy(slurm)
    gated.write(3, nodeset=template())
    rolls = gated.plan()["rolls"]
    assert (rolls["pods"], rolls["of"], rolls["at_once"]) == ([f"{RESOURCE}-{n}" for n in range(3)], 3, 1)
    assert "rolls 3 of 3 pods, 1 at once" in rolls["text"]
    assert "3 busy, until" in rolls["text"]

    run = gated.start_up()
    out = ended(run, slurm, jobs)
    assert run.returncode == 0, out
    after = uids(gated)
    assert set(after) == set(NODES)
    assert not set(after.values()) & set(before.values()), "each was replaced"
    assert_completed(slurm, jobs)
    slurm.await_registered(*NODES)
    assert strategy(gated) == "OnDelete"
    assert gated.annotations() == {node: {} for node in NODES}
    assert gated.changes() == []


def test_a_suspended_job_is_waited_for_and_the_next_update_goes_on(calm: Gated, slurm: Slurm) -> None:
    """slurm-operator calls its node drained; the job would die with the pod."""
    gated, before = calm, uids(calm)
    job = slurm.submit("-p", "gpu", "-w", "gpu-1", "-t", "30")
    slurm.await_running(job)
    slurm.admin("scontrol", "suspend", str(job))
    rolled = template()
    gated.write(3, {"deadline": "20s"}, nodeset=rolled)
    late = gated.try_up()
    assert late.returncode != 0, (late.stdout, slurm.accounted(job))
    assert f"gpu-1: 1 job ({job}" in late.stdout, late.stdout
    now = uids(gated)
    assert now["gpu-1"] == before["gpu-1"]
    assert {now[node] for node in ("gpu-0", "gpu-2")} & set(before.values()) == set(), "idle ones went first"
    assert slurm.job_state(job) == {"SUSPENDED"}

    gated.write(3, nodeset=rolled)
    assert gated.plan()["rolls"]["pods"] == [f"{RESOURCE}-1"], "what is left"
    slurm.admin("scontrol", "resume", str(job))
    run = gated.start_up()
    gated.finish_when_drained(run, ["gpu-1"], job)
    assert_completed(slurm, {"gpu-1": job})
    assert uids(gated)["gpu-1"] != before["gpu-1"]
    assert gated.changes() == []


def test_an_update_that_is_killed_in_a_rollout_is_gone_on_with(calm: Gated, slurm: Slurm) -> None:
    gated, before, jobs = calm, uids(calm), occupy(slurm)
    gated.write(3, nodeset=template())
    run = gated.start_up()
    await_true("a node is drained", lambda: _ours(slurm), 90)
    (first,) = _ours(slurm)
    gated.kill(run)
    assert uids(gated) == before
    assert all("RUNNING" in slurm.job_state(job) for job in jobs.values())

    again = gated.start_up()
    await_true("the same node is drained", lambda: _ours(slurm) == [first], 60)
    out = ended(again, slurm, jobs)
    assert again.returncode == 0, out
    assert not set(uids(gated).values()) & set(before.values())
    assert_completed(slurm, jobs)
    assert gated.changes() == []


def _ours(slurm: Slurm) -> list[str]:
    return [name for name, node in slurm.nodes().items() if "DRAIN" in node["state"] and "slinky-iac:" in node["reason"]]


def test_a_pod_that_others_delete_meanwhile_is_waited_for(calm: Gated, slurm: Slurm) -> None:
    gated, before = calm, uids(calm)
    jobs = {node: slurm.submit("-p", "gpu", "-w", node, "-t", "30") for node in ("gpu-1", "gpu-2")}
    slurm.await_running(*jobs.values())
    gated.write(3, nodeset=template())
    run = gated.start_up()
    await_true("gpu-0 is replaced", lambda: uids(gated).get("gpu-0", before["gpu-0"]) != before["gpu-0"], 120)
    gated.world.delete_worker(NAMESPACE, f"{RESOURCE}-0", "--wait=false")
    out = ended(run, slurm, jobs)
    assert run.returncode == 0, out
    assert not set(uids(gated).values()) & set(before.values())
    assert_completed(slurm, jobs)
    assert gated.changes() == []


def test_an_operator_without_a_rest_client_takes_no_busy_pod_with_a_new_template(
    calm: Gated, slurm: Slurm, world: World
) -> None:
    """Its IsNodeDrained is true for every node then."""
    gated, before, jobs = calm, uids(calm), occupy(slurm)
    world.take_the_fence_away()
    world.kubectl("delete", "restapi", "-n", NAMESPACE, "slurm")
    world.restart_operator()
    change = json.dumps({"spec": {"slurmd": {"env": [{"name": "ROLLED", "value": "by hand"}]}}})
    world.kubectl("patch", "nodesets.slinky.slurm.net", "-n", NAMESPACE, RESOURCE, "--type=merge", "-p", change)
    await_true("the operator has seen the template", lambda: _outdated(gated) == 3, 60)
    gated.write(3, {"deadline": "20s"}, nodeset=template())
    refused = gated.try_up()
    assert refused.returncode != 0
    assert uids(gated) == before
    assert all(slurm.job_state(job) == {"RUNNING"} for job in jobs.values())

    gated.stack.pulumi("refresh", "--yes")
    gated.write(3, nodeset=template())
    run = gated.start_up()
    out = ended(run, slurm, jobs)
    assert run.returncode == 0, out
    assert_completed(slurm, jobs)


def _outdated(gated: Gated) -> int:
    (found,) = gated.world.objects("nodesets.slinky.slurm.net", NAMESPACE)
    latest = found["status"].get("nodeSetHash")
    if found["status"].get("observedGeneration") != found["metadata"]["generation"]:
        return -1
    label = "controller.kubernetes.io/hash"
    return sum(pod["metadata"]["labels"][label] != latest for pod in gated.world.pods(NAMESPACE, NODESET).values())


def test_a_live_nodeset_with_rolling_updates_is_taken_up_without_a_change_of_its_pods(calm: Gated, slurm: Slurm) -> None:
    gated = calm
    rolled = {"env": gated.current["slinky-iac:nodesets"][NODESET].get("env", {})}
    rolling = {**rolled, "updateStrategy": {"type": "RollingUpdate"}}
    gated.up(3, nodeset=rolling)
    assert strategy(gated) == "RollingUpdate"
    before, jobs = uids(gated), occupy(slurm)
    gated.up(3, nodeset=rolled)
    assert strategy(gated) == "OnDelete"
    assert uids(gated) == before
    assert all(slurm.job_state(job) == {"RUNNING"} for job in jobs.values())
    assert gated.changes() == []


def test_fewer_replicas_and_a_new_template_in_one_update_are_done_one_after_the_other(calm: Gated, slurm: Slurm) -> None:
    gated, before, rolled = calm, uids(calm), template()
    job = slurm.submit("-p", "gpu", "-w", "gpu-0", "-t", "30")
    slurm.await_running(job)
    gated.write(2, nodeset=rolled)
    plan = gated.plan()
    assert (plan["from"], plan["to"]) == (3, 2)
    assert len(plan["rolls"]["pods"]) == 2
    assert f"{RESOURCE}-0" in plan["rolls"]["pods"], "its job ends last, so it isn't a node to be removed"
    run = gated.start_up()
    await_true("the node with the job is drained for the rollout", lambda: "rollout" in slurm.reason("gpu-0"), 180)
    slurm.finish(job)
    out, _ = run.communicate(timeout=300)
    assert run.returncode == 0, out
    assert len(gated.pods()) == 2
    assert not set(uids(gated).values()) & set(before.values())
    assert_completed(slurm, {"gpu-0": job})
    assert gated.changes() == []
    gated.up(3, nodeset=rolled)


def test_a_node_of_a_cordoned_kubernetes_node_is_left_and_the_documented_command_returns_it(
    calm: Gated, slurm: Slurm, world: World
) -> None:
    """docs/operations.md: under OnDelete slurm-operator doesn't return it when the Kubernetes node is uncordoned."""
    gated, before = calm, uids(calm)
    where = world.pods(NAMESPACE, NODESET)["gpu-1"]["spec"]["nodeName"]
    world.kubectl("cordon", where)
    try:
        await_true("the operator drains gpu-1", lambda: slurm.reason("gpu-1").startswith("slurm-operator:"), 90)
        gated.write(3, nodeset=template())
        done = gated.try_up()
        assert done.returncode == 0, done.stdout
        assert f"{RESOURCE}-1 stays of an earlier template" in done.stdout, done.stdout
        after = uids(gated)
        assert after["gpu-1"] == before["gpu-1"]
        assert not {after[node] for node in ("gpu-0", "gpu-2")} & set(before.values())
        assert gated.changes() == [], "somebody else's drain isn't work for an update"
    finally:
        world.kubectl("uncordon", where)
    mark = "nodeset.slinky.slurm.net/pod-cordon-"
    world.kubectl("annotate", "pod", "--namespace", NAMESPACE, f"{RESOURCE}-1", mark)
    slurm.await_registered("gpu-1")
    assert gated.plan()["rolls"]["pods"] == [f"{RESOURCE}-1"]
    gated.stack.up()
    assert uids(gated)["gpu-1"] != before["gpu-1"]
