"""The fence of worker pods on a real API server: a pod whose node isn't drained is deleted by none but who looks first.
What slurm-operator reports is made by hand here; the operator itself: tests/faults/test_fence_pods.py."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from slinky_iac import names
from slinky_iac.config.reading.load import load
from slinky_iac.parts.fence.pods import workers
from tests.integration.kube_api import KubeApi, served
from tests.integration.test_fence_pods import BUSY, COLLECTOR, DRAINED, FIXED, OPERATOR, PODS, call, delete, done, merge, pod
from tests.stacks import minimal

REFUSED = "slurm-operator does not report its node as drained"
PERSON = "a-person"
LOST = "system:serviceaccount:kube-system:pod-garbage-collector"
OTHERS = (
    PERSON,
    "system:serviceaccount:argocd:argocd-application-controller",
    "system:serviceaccount:slinky-x:slurm-operator",
    "system:serviceaccount:kube-system:karpenter",
    "system:serviceaccount:kube-system:admin-user",
    "system:kube-scheduler",
)
"""A person, a GitOps controller, another cluster's operator, programs and people with an account in kube-system, and the
scheduler, which preempts for a pod of a higher priority."""
KUBERNETES = (
    *(f"system:serviceaccount:kube-system:{each}-controller" for each in ("node", "namespace", "device-taint-eviction")),
    *(COLLECTOR, LOST, "system:node:worker-1", "system:kube-controller-manager", OPERATOR),
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApi]:
    """An API server with this part of the fence alone. The kind NodeSet is unknown to it, which must not matter."""
    with served(tmp_path_factory.mktemp("api")) as made:
        for namespace in ("slurm", "other"):
            made.kubectl("create", "namespace", namespace)
            made.kubectl("create", "serviceaccount", "default", "-n", namespace)
        mighty = [f"--user={user}" for user in (*OTHERS, *KUBERNETES)]
        made.kubectl("create", "clusterrolebinding", "may-all", "--clusterrole=cluster-admin", *mighty)
        config = load(minimal(nodesets={"gpu": {"replicas": 1}}, cluster={"name": "lab"}))
        made.make_policy(workers(config))
        pod(made, "stands", ["Allocated"], owner=FIXED)
        until = time.monotonic() + 60
        while not (said := delete(made, "stands", PERSON, dry=True)):
            assert time.monotonic() < until, "the fence doesn't stand in 60 s"
            time.sleep(0.1)
        assert REFUSED in said, said
        yield made


@pytest.fixture(autouse=True)
def none_left(api: KubeApi) -> Iterator[None]:
    """No pod of another test. The control plane's own account is one that may."""
    yield
    done(call(api, "DELETE", f"{PODS}?gracePeriodSeconds=0", user=LOST))


@pytest.mark.parametrize("case", BUSY)
@pytest.mark.parametrize("user", OTHERS)
def test_a_pod_whose_node_is_not_drained_stays(api: KubeApi, user: str, case: str) -> None:
    pod(api, "gpu-0", BUSY[case], owner=FIXED)
    said = delete(api, "gpu-0", user, dry=True)
    assert REFUSED in said
    assert "kubectl annotate pod -n slurm gpu-0 slinky-iac/permit=delete" in said
    assert "kubectl delete validatingadmissionpolicybinding slinky-iac-workers.slurm.slurm" in said


def test_a_pod_of_which_nothing_is_reported_stays(api: KubeApi) -> None:
    """The operator has no client of slurmrestd, or has not seen the node yet: unknown."""
    pod(api, "gpu-0", owner=FIXED)
    assert REFUSED in delete(api, "gpu-0", PERSON)


def test_a_deletion_of_all_pods_takes_none_that_is_not_drained(api: KubeApi) -> None:
    pod(api, "gpu-0", ["Idle"], owner=FIXED)
    code, said = call(api, "DELETE", PODS, user=PERSON)
    assert code == 422
    assert REFUSED in said


@pytest.mark.parametrize("states", [DRAINED, ("Down", "Drain"), ("Down", "Drain", "NotResponding")])
def test_a_drained_pod_goes(api: KubeApi, states: tuple[str, ...]) -> None:
    pod(api, "gpu-0", states, owner=FIXED)
    assert delete(api, "gpu-0", PERSON) == ""


@pytest.mark.parametrize("user", KUBERNETES)
def test_kubelet_the_operator_and_kubernetes_own_controllers_are_let_through(api: KubeApi, user: str) -> None:
    """What has ended, what is on a node that is lost, what was drained, what is left of a NodeSet that was deleted."""
    pod(api, "gpu-0", ["Allocated"], owner=FIXED)
    assert delete(api, "gpu-0", user) == ""


def test_a_gate_is_let_through_on_the_pod_that_it_looked_at_and_on_no_other(api: KubeApi) -> None:
    """It has asked slurmctld itself; slurm-operator's report can be half a minute old."""
    pod(api, "gpu-0", ["Idle"], owner=FIXED)
    found = done(call(api, "GET", f"{PODS}/gpu-0"))["metadata"]
    merge(api, f"{PODS}/gpu-0", {"metadata": {"annotations": {"a-job": "began"}}})

    def by_gate(seen: str) -> int:
        body = {"preconditions": {"uid": found["uid"], "resourceVersion": seen}}
        return call(api, "DELETE", f"{PODS}/gpu-0", body, user=PERSON)[0]

    assert by_gate(found["resourceVersion"]) == 409, "it changed since"
    assert by_gate(done(call(api, "GET", f"{PODS}/gpu-0"))["metadata"]["resourceVersion"]) == 200


def test_a_uid_alone_is_no_look(api: KubeApi) -> None:
    """kubectl and controllers name it, to delete no successor."""
    pod(api, "gpu-0", ["Allocated"], owner=FIXED)
    uid = done(call(api, "GET", f"{PODS}/gpu-0"))["metadata"]["uid"]
    code, said = call(api, "DELETE", f"{PODS}/gpu-0", {"preconditions": {"uid": uid}}, user=PERSON)
    assert code == 422
    assert REFUSED in said


def test_the_command_of_the_message_lets_this_one_pod_go(api: KubeApi) -> None:
    for name in ("gpu-0", "gpu-1"):
        pod(api, name, ["Allocated"], owner=FIXED)
    api.kubectl("annotate", "pod", "-n", "slurm", "gpu-0", f"{names.ANNOTATION_PERMIT}={names.PERMIT_DELETE}")
    assert delete(api, "gpu-0", PERSON) == ""
    assert REFUSED in delete(api, "gpu-1", PERSON)


@pytest.mark.parametrize(("phase", "runs"), [("Failed", True), ("Succeeded", True), ("Pending", False), ("Running", False)])
def test_a_pod_in_which_no_slurmd_runs_goes(api: KubeApi, phase: str, runs: bool) -> None:
    pod(api, "gpu-0", phase=phase, runs=runs, owner=FIXED)
    assert delete(api, "gpu-0", PERSON) == ""


def test_pods_of_others_are_not_its_matter(api: KubeApi) -> None:
    """Another cluster's NodeSet, a pod without a NodeSet, and a worker of the same name in another namespace."""
    pod(api, "gpu-0", ["Allocated"], owner="blue-worker-gpu")
    pod(api, "login", labels={"app": "login"}, owner=FIXED)
    for name in ("gpu-0", "login"):
        assert delete(api, name, PERSON) == ""
    pod(api, "gpu-1", ["Allocated"], owner=FIXED)
    meta = done(call(api, "GET", f"{PODS}/gpu-1"))["metadata"]
    there = {"name": "gpu-1", "labels": meta["labels"], "ownerReferences": meta["ownerReferences"]}
    spec = {"containers": [{"name": "slurmd", "image": "slurmd:1"}], "automountServiceAccountToken": False}
    elsewhere = PODS.replace("/slurm/", "/other/")
    done(call(api, "POST", elsewhere, {"apiVersion": "v1", "kind": "Pod", "metadata": there, "spec": spec}))
    running = {"name": "slurmd", "image": "slurmd:1", "imageID": "", "ready": True, "restartCount": 0}
    state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    merge(
        api, f"{elsewhere}/gpu-1/status", {"status": {"phase": "Running", "containerStatuses": [running | {"state": state}]}}
    )
    assert call(api, "DELETE", f"{elsewhere}/gpu-1", user=PERSON)[0] == 200


def test_another_image_and_a_deadline_of_a_pod_are_not_refused(api: KubeApi) -> None:
    """Both end the container, with its jobs: docs/fence.md says so."""
    pod(api, "gpu-0", ["Allocated"], owner=FIXED)
    spec = {"containers": [{"name": "slurmd", "image": "slurmd:2"}], "activeDeadlineSeconds": 1}
    code, said = call(api, "PATCH", f"{PODS}/gpu-0", {"spec": spec}, user=PERSON, kind="strategic-merge-patch+json")
    assert code == 200, said


def test_a_pod_that_is_ending_already_may_be_deleted_again(api: KubeApi) -> None:
    """With a shorter time to end, say."""
    pod(api, "gpu-0", ["Allocated"], owner=FIXED)
    merge(api, f"{PODS}/gpu-0", {"metadata": {"finalizers": ["example.com/kept"]}})
    assert delete(api, "gpu-0", LOST) == ""
    assert json.loads(call(api, "GET", f"{PODS}/gpu-0")[1])["metadata"]["deletionTimestamp"]
    assert delete(api, "gpu-0", PERSON) == ""
    merge(api, f"{PODS}/gpu-0", {"metadata": {"finalizers": None}})
