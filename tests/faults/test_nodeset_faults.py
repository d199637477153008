"""A NodeSet that isn't in order: in a rolling update, with a pod that Kubernetes lost sight of, with records in slurmctld
that an earlier pod left behind, and with an autoscaler on it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from lab import paths, supervise
from tests.e2e.gated import NAMESPACE, NODES, NODESET, RESOURCE, Gated
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.test_drain_policy import drained, occupy
from tests.e2e.world import ready
from tests.faults.mid_drain import gated
from tests.made.scalers import target

__all__ = ["gated"]

ROLLED = {"env": {"ROLLED": "1"}, "updateStrategy": {"type": "RollingUpdate"}}
"""A change of the pod template that slurm-operator rolls out."""


def test_a_scale_in_is_refused_while_a_rolling_update_is_on(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    jobs = occupy(slurm)
    gated.up(3, nodeset=ROLLED)
    await_true("the operator drains a pod of the old template", lambda: _held_by_the_operator(slurm), 90)

    gated.write(2, {"deadline": "30s"}, nodeset=ROLLED)
    assert "a rolling update" in _blocks(gated)
    refused = gated.try_up()
    assert refused.returncode != 0
    assert f"a rolling update of {RESOURCE} is on" in refused.stdout, refused.stdout
    assert gated.pods() == list(NODES)
    assert drained(slurm) == [], "nothing was drained by us"
    assert all("RUNNING" in slurm.job_state(job) for job in jobs)

    slurm.cancel_all()
    await_true("the rolling update is over", lambda: _rolled(gated, 3), 240)
    gated.up(2, nodeset=ROLLED)
    assert len(gated.pods()) == 2
    gated.up(3)
    pods = gated.world.pods(NAMESPACE, NODESET)
    old = {node for node, pod in pods.items() if "ROLLED" not in json.dumps(pod["spec"]["containers"])}
    assert old == set(NODES), "the old template is back when the update ends: the gate replaces the pods"


def _held_by_the_operator(slurm: Slurm) -> list[str]:
    return [name for name, node in slurm.nodes().items() if node["reason"].startswith("slurm-operator:")]


def _blocks(gated: Gated) -> str:
    return json.dumps(gated.plan()["blocks"])


def _rolled(gated: Gated, replicas: int) -> bool:
    (nodeset,) = gated.world.objects("nodesets.slinky.slurm.net", NAMESPACE)
    seen = nodeset["status"].get("observedGeneration") == nodeset["metadata"]["generation"]
    return bool(seen and nodeset["status"].get("updatedReplicas") == nodeset["status"].get("readyReplicas") == replicas)


@pytest.fixture
def lost(gated: Gated) -> Iterator[str]:
    """The Slurm node whose Kubernetes node is about to lose its kubelet; it gets it back."""
    gated.reset()
    others = {
        pod["spec"].get("nodeName")
        for namespace in (NAMESPACE, "slinky")
        for pod in gated.world.objects("pods", namespace)
        if "worker" not in pod["metadata"]["labels"].get("app.kubernetes.io/component", "")
    }
    pods = gated.world.pods(NAMESPACE, NODESET)
    yield next(node for node, pod in sorted(pods.items()) if pod["spec"]["nodeName"] not in others)
    _kubelets_up()


def _kubelets_up() -> None:
    subprocess.run([paths.REPO / "lab" / "lab", "up", "--only", "kubernetes"], check=True, timeout=300)


def test_a_pod_that_kubernetes_lost_sight_of_goes_first_and_its_job_is_waited_for(
    gated: Gated, slurm: Slurm, lost: str
) -> None:
    """slurm-operator deletes pods that aren't ready before any other, jobs or not; this one's job ends last of all."""
    others = [node for node in NODES if node != lost]
    long = slurm.submit("-p", "gpu", "-w", lost, "-t", "30", seconds=200)
    short = [slurm.submit("-p", "gpu", "-w", node, "-t", "8", seconds=400) for node in others]
    slurm.await_running(long, *short)
    kubernetes_node = gated.world.pods(NAMESPACE, NODESET)[lost]["spec"]["nodeName"]
    supervise.stop(f"{kubernetes_node}-kubelet", timeout=1.0)
    await_true("Kubernetes takes the pod for not ready", lambda: not ready(gated.world.pods(NAMESPACE, NODESET)[lost]), 120)

    gated.write(2, {"deadline": "6m"})
    assert gated.planned_nodes() == [lost], "the plan says which"
    run = gated.start_up()
    await_true(f"{lost} is drained by us", lambda: "slinky-iac:" in slurm.reason(lost), 150)
    assert lost in gated.pods()
    await_true(f"the pod of {lost} is on its way out", lambda: gated.pods() == others, 300)
    (row,) = slurm.await_completed(long, timeout=10)
    assert (row.state, row.nodes) == ("COMPLETED", lost), "its job had ended before"
    _kubelets_up()
    out, _ = run.communicate(timeout=240)
    assert run.returncode == 0, out
    assert gated.pods() == others
    assert all("RUNNING" in slurm.job_state(job) for job in short)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("down", "Pod is terminating"),
        ("drain", "slurm-operator: Pod (slurm/slurm-worker-gpu-2) was cordoned"),
        ("drain", "slinky-iac:gated/gpu: scale-in 3->2"),
    ],
    ids=["down by the operator's preStop hook", "drained by the operator", "drained by us"],
)
def test_what_an_earlier_pod_of_the_name_left_in_slurmctld_keeps_no_new_one_from_work(
    gated: Gated, slurm: Slurm, state: str, reason: str
) -> None:
    gated.reset()
    gated.up(2)
    gated.await_pods("gpu-0", "gpu-1")
    await_true("slurmctld has forgotten gpu-2", lambda: "gpu-2" not in slurm.nodes(), 60)
    slurm.admin("scontrol", "create", "nodename=gpu-2", "state=CLOUD", "feature=gpu")
    slurm.admin("scontrol", "update", "nodename=gpu-2", f"state={state}", f"reason={reason}")

    gated.up(3)
    slurm.await_registered("gpu-2", timeout=5)
    job = slurm.submit("-p", "gpu", "-w", "gpu-2", "-t", "1", seconds=1)
    (row,) = slurm.await_completed(job)
    assert (row.state, row.nodes) == ("COMPLETED", "gpu-2")


AUTOSCALER = "by-load"


@pytest.fixture
def autoscaled(gated: Gated) -> Iterator[Gated]:
    """The NodeSet with a HorizontalPodAutoscaler on it that may ask for one to three; it has no metric to go by."""
    gated.reset()
    resource = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": AUTOSCALER, "namespace": NAMESPACE},
        "spec": {
            "scaleTargetRef": target(RESOURCE),
            "minReplicas": 1,
            "maxReplicas": 3,
            "metrics": [{"type": "Resource", "resource": resource}],
        },
    }
    gated.world.kubectl("apply", "-f", "-", stdin=json.dumps(autoscaler))
    yield gated
    gated.world.kubectl("delete", "hpa", "-n", NAMESPACE, AUTOSCALER)
    gated.disown_replicas()
    gated.stack.pulumi("refresh", "--yes")


def test_with_an_autoscaler_on_it_the_gate_refuses_to_drive_and_says_so(autoscaled: Gated, slurm: Slurm) -> None:
    gated, jobs = autoscaled, occupy(slurm)
    gated.write(2, {"deadline": "20s"})
    assert AUTOSCALER in _blocks(gated)
    refused = gated.try_up()
    assert refused.returncode != 0
    assert f"HorizontalPodAutoscaler/{AUTOSCALER}" in refused.stdout, refused.stdout
    assert "`owner: autoscaler`" in refused.stdout
    assert gated.pods() == list(NODES)
    assert drained(slurm) == []
    assert all("RUNNING" in slurm.job_state(job) for job in jobs)


def test_lowering_an_autoscalers_maximum_drains_first_and_leaves_the_number_to_it(autoscaled: Gated, slurm: Slurm) -> None:
    gated = autoscaled
    gated.up(3, nodeset={"owner": "autoscaler", "maxReplicas": 3})
    kept = [slurm.submit("-p", "gpu", "-w", node, "-t", "30", seconds=300) for node in ("gpu-0", "gpu-2")]
    first = slurm.submit("-p", "gpu", "-w", "gpu-1", "-t", "3", seconds=40)
    slurm.await_running(first, *kept)

    gated.up(2, nodeset={"owner": "autoscaler", "maxReplicas": 2})
    (row,) = slurm.await_completed(first, timeout=10)
    assert (row.state, row.nodes) == ("COMPLETED", "gpu-1")
    assert drained(slurm) == ["gpu-1"], "held until the autoscaler follows"
    assert gated.pods() == list(NODES), "the number is not ours to write"

    change = json.dumps({"spec": {"maxReplicas": 2}})
    gated.world.kubectl("patch", "hpa", "-n", NAMESPACE, AUTOSCALER, "--type=merge", "-p", change)
    gated.await_pods("gpu-0", "gpu-2")
    assert all("RUNNING" in slurm.job_state(job) for job in kept)
    assert gated.changes() == []
