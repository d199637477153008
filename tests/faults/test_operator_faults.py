"""Faults of the operator and of the slurmrestd that it asks, in the middle of a drain and right before one."""

from __future__ import annotations

import json

from tests.e2e.gated import NAMESPACE, NODES, RESOURCE, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World, dev_settings
from tests.faults.mid_drain import Begin, Case, begin, gated, proxy

__all__ = ["begin", "gated", "proxy"]

KIND = "kubernetes:slinky.slurm.net/v1beta1:RestApi"
"""Pulumi's type of the custom resource."""


def test_the_operator_restarted_in_mid_drain(begin: Begin, world: World) -> None:
    case = begin()
    world.kubectl("rollout", "restart", "deployment", "-n", "slinky", "slurm-operator")
    case.finish()
    case.settle()


def settle_with_the_operator_back(case: Case) -> None:
    case.gated.world.kubectl("scale", "deployment", "-n", "slinky", "slurm-operator", "--replicas=1")
    case.gated.world.kubectl("rollout", "status", "deployment", "-n", "slinky", "slurm-operator", "--timeout=120s")
    case.gated.write(2, {"deadline": "4m"})
    case.settle()


def test_without_an_operator_the_gate_stays_shut(begin: Begin, world: World) -> None:
    case = begin(deadline="70s")
    world.kubectl("scale", "deployment", "-n", "slinky", "slurm-operator", "--replicas=0")
    out = case.finish()
    assert case.run.returncode != 0, out
    assert len(case.gated.pods()) == 3
    settle_with_the_operator_back(case)


def test_an_operator_that_is_gone_since_the_run_before_is_not_taken_for_one_that_sees(begin: Begin, world: World) -> None:
    """Conditions of pods are its last words: drained and seen they say, and a node that it never frees would come back."""
    case = begin(deadline="5s")
    out = case.finish()
    assert case.run.returncode != 0, out
    world.kubectl("scale", "deployment", "-n", "slinky", "slurm-operator", "--replicas=0")
    world.kubectl("wait", "--for=delete", "pod", "-n", "slinky", "-l", "app.kubernetes.io/name=slurm-operator")
    case.await_end_of_the_first_job()
    case.gated.write(2, {"deadline": "40s"})
    refused = case.gated.try_up()
    assert refused.returncode != 0, refused.stdout
    (nodeset,) = world.objects("nodesets.slinky.slurm.net", NAMESPACE)
    assert nodeset["spec"]["replicas"] == 3
    assert len(case.gated.pods()) == 3
    settle_with_the_operator_back(case)


def test_an_operator_without_a_rest_client_cannot_kill_a_job_through_us(begin: Begin, world: World) -> None:
    """The race that the operator loses without a gate: no RestApi, a restarted operator, a scale-in."""
    case = begin(wait_for_drain=False, deadline="60s")
    case.finish()
    case.gated.reset()
    job = case.slurm.submit("-p", "gpu", "-w", "gpu-1", "-t", "5", seconds=100)
    case.slurm.await_running(job)
    world.take_the_fence_away()
    world.kubectl("delete", "restapi", "-n", NAMESPACE, "slurm")
    world.kubectl("rollout", "restart", "deployment", "-n", "slinky", "slurm-operator")
    case.gated.write(0, {"deadline": "30s"})
    refused = case.gated.try_up()
    assert refused.returncode != 0
    assert len(case.gated.pods()) == 3
    assert "RUNNING" in case.slurm.job_state(job)
    case.gated.stack.pulumi("refresh", "--yes")
    case.gated.up(3)
    (row,) = case.slurm.await_completed(job)
    assert (row.state, row.nodes) == ("COMPLETED", "gpu-1")


def _running_on_all(slurm: Slurm) -> dict[str, int]:
    """A job on each node; that of gpu-1 ends first."""
    jobs = {
        node: slurm.submit("-p", "gpu", "-w", node, "-t", str(limit), seconds=seconds)
        for node, seconds, limit in (("gpu-0", 900, 20), ("gpu-1", 40, 3), ("gpu-2", 900, 20))
    }
    slurm.await_running(*jobs.values())
    return jobs


def test_a_renamed_restapi_together_with_a_scale_in_is_refused_before_anything(gated: Gated, slurm: Slurm) -> None:
    """All that names a RestApi is cluster.resourceName, and that can't change."""
    gated.reset()
    jobs = _running_on_all(slurm)
    cluster = {**dev_settings()["slinky-iac:cluster"], "resourceName": "other"}
    gated.write(0, {"deadline": "20s"}, cluster=cluster)
    refused = gated.try_up()
    assert refused.returncode != 0
    assert "can't change from" in refused.stdout, refused.stdout
    assert gated.pods() == list(NODES)
    assert all("RUNNING" in slurm.job_state(job) for job in jobs.values())
    assert [each["metadata"]["name"] for each in gated.world.objects("restapis.slinky.slurm.net", NAMESPACE)] == ["slurm"]


def test_a_restapi_replaced_in_the_same_up_as_a_scale_in_costs_no_job(gated: Gated, slurm: Slurm) -> None:
    """Its deletion is what makes slurm-operator take every node for drained; the NodeSet's number waits for the new one."""
    gated.reset()
    jobs = _running_on_all(slurm)
    state = json.loads(gated.stack.pulumi("stack", "export").stdout)
    (urn,) = (each["urn"] for each in state["deployment"]["resources"] if each["type"] == KIND)
    (before,) = gated.world.objects("restapis.slinky.slurm.net", NAMESPACE)
    gated.write(2)
    gated.world.take_the_fence_away()  # which refuses it: what follows is what it spares
    out, _ = (run := gated.start_up("--replace", urn)).communicate(timeout=400)
    assert run.returncode == 0, out
    (after,) = gated.world.objects("restapis.slinky.slurm.net", NAMESPACE)
    assert before["metadata"]["uid"] != after["metadata"]["uid"], "it was replaced in this very run"
    gated.await_pods("gpu-0", "gpu-2")
    Case(gated, slurm, jobs, "gpu-1", run).assert_no_job_lost()


def test_a_destroy_that_nobody_can_be_asked_about_stops_and_the_documented_way_ends_it(
    gated: Gated, slurm: Slurm, world: World
) -> None:
    """docs/operations.md, "Without slurmrestd"; the jobs live, the bare-metal hosts block nothing."""
    gated.reset()
    gated.up(3, {"deadline": "5s"})
    jobs = [slurm.submit("-p", "gpu", "-w", node, "-t", "2", seconds=60) for node in NODES]
    slurm.await_running(*jobs)
    world.kubectl("scale", "deployment", "-n", "slinky", "slurm-operator", "--replicas=0")  # else it brings slurmrestd back
    world.kubectl("scale", "deployment", "-n", NAMESPACE, "slurm-restapi", "--replicas=0")
    refused = gated.stack.destroy(check=False)
    assert refused.returncode != 0
    assert "Slurm could not be asked" in refused.stdout, refused.stdout
    assert "Without slurmrestd" in refused.stdout
    assert "Traceback" not in refused.stdout + refused.stderr, "the message stands alone"
    assert gated.pods() == list(NODES)

    slurm.admin("scontrol", "update", "nodename=gpu-[0-2]", "state=drain", "reason=removed by hand")
    await_true("no job is left", lambda: not slurm.admin("squeue", "--noheader", "--nodelist=gpu-[0-2]").strip(), 120)
    rows = slurm.await_completed(*jobs)
    assert all(row.state == "COMPLETED" for row in rows)
    world.kubectl("scale", "deployment", "-n", "slinky", "slurm-operator", "--replicas=1")
    kind = ("nodesets.slinky.slurm.net", "--namespace", NAMESPACE, RESOURCE)
    generation = world.kubectl("get", *kind, "-o", "jsonpath={.metadata.generation}").stdout
    world.kubectl("annotate", *kind, "--overwrite", f"slinky-iac/permit=delete@{generation}")
    world.kubectl("delete", *kind)
    gated.stack.destroy()
    assert gated.pods() == []
