"""The fence of pods on a real API server: slurm-operator deletes no pod that it hasn't reported as drained, and every other
pod that it deletes rightly. What it reports is made by hand here; the operator itself: tests/faults/test_fence_pods.py."""

from __future__ import annotations

import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from lab.charts import crd_dir
from slinky_iac import names
from slinky_iac.config.reading.load import load
from slinky_iac.parts.fence.policies import policies
from tests.integration.kube_api import TOKEN, KubeApi, served
from tests.stacks import minimal

KIND = "nodesets.slinky.slurm.net"
BURST, FIXED, OTHER = "slurm-worker-burst", "slurm-worker-gpu", "blue-worker-gpu"
NODESETS = {"gpu": {"replicas": 1}, "burst": {"replicas": 0, "maxReplicas": 3, "owner": "autoscaler"}}
OPERATOR = "system:serviceaccount:slinky:slurm-operator"
COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
OTHERS = ("a-person", COLLECTOR, "system:node:worker-1", "system:serviceaccount:slinky-x:slurm-operator")
"""A person, the garbage collector once the NodeSet is gone, kubelet, another operator."""
DRAINED = ("Idle", "Drain")
REFUSED = "has not reported its node as drained"
PODS = "/api/v1/namespaces/slurm/pods"
SETS = f"/apis/{names.API_VERSION}/namespaces/slurm/nodesets"
_UNCHECKED = ssl._create_unverified_context()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApi]:
    with served(tmp_path_factory.mktemp("api")) as made:
        made.kubectl("create", "namespace", "slurm")
        made.kubectl("create", "serviceaccount", "default", "-n", "slurm")
        made.kubectl("create", "--validate=false", "-f", str(crd_dir("1.1.0") / "slinky.slurm.net_nodesets.yaml"))
        made.kubectl("wait", "--for=condition=Established", f"crd/{KIND}", "--timeout=30s")
        mighty = [f"--user={user}" for user in (OPERATOR, *OTHERS)]
        made.kubectl("create", "clusterrolebinding", "may-all", "--clusterrole=cluster-admin", *mighty)
        (policy,) = (
            each
            for each in policies(load(minimal(nodesets=NODESETS, cluster={"name": "lab", "fencePods": True})))
            if each.part == "pods"
        )
        made.make_policy(policy)
        for name in (BURST, FIXED, OTHER):
            nodeset(made, name)
        pod(made, "stands", ["Allocated"])
        until = time.monotonic() + 60
        while not (said := delete(made, "stands", dry=True)):
            assert time.monotonic() < until, "the fence doesn't stand in 60 s"
            time.sleep(0.1)
        assert REFUSED in said, said
        yield made


def call(api: KubeApi, method: str, path: str, body: object = None, user: str = "", kind: str = "json") -> tuple[int, str]:
    """One request to the API server, by its admin or as ``user``. Quicker than kubectl, which asks first what there is."""
    (cluster,) = json.loads(api.kubeconfig.read_text())["clusters"]
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": f"application/{kind}"}
    if user:
        headers["Impersonate-User"] = user
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{cluster['cluster']['server']}{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30, context=_UNCHECKED) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def done(answer: tuple[int, str]) -> dict[str, Any]:
    """What a request brought that must not fail."""
    code, text = answer
    assert code < 300, text
    found: dict[str, Any] = json.loads(text)
    return found


def merge(api: KubeApi, path: str, body: object) -> None:
    done(call(api, "PATCH", path, body, kind="merge-patch+json"))


def nodeset(api: KubeApi, name: str) -> None:
    """A NodeSet of three, whose number the operator has seen."""
    spec = {
        "controllerRef": {"name": "slurm", "namespace": "slurm"},
        "slurmd": {"image": "slurmd:1"},
        "replicas": 3,
        "scalingMode": "StatefulSet",
        "updateStrategy": {"type": "OnDelete"},
    }
    body = {"apiVersion": names.API_VERSION, "kind": "NodeSet", "metadata": {"name": name}, "spec": spec}
    done(call(api, "POST", SETS, body))
    synced(api, name)


def generation(api: KubeApi, name: str = BURST) -> int:
    return int(done(call(api, "GET", f"{SETS}/{name}"))["metadata"]["generation"])


def synced(api: KubeApi, name: str = BURST, known: int = 2) -> None:
    """What the operator writes at the end of a sync; ``known``: idle nodes that slurmctld has."""
    seen = {"observedGeneration": generation(api, name), "slurmIdle": known}
    merge(api, f"{SETS}/{name}/status", {"status": {"replicas": 3, "selector": "", "nodeSetHash": "1", **seen}})


def lower(api: KubeApi, number: int, permit: str = "", name: str = BURST) -> None:
    """Write another number, with a gate's permission or without."""
    annotations = {names.ANNOTATION_PERMIT: permit or None}
    merge(api, f"{SETS}/{name}", {"metadata": {"annotations": annotations}, "spec": {"replicas": number}})


def pod(
    api: KubeApi,
    name: str,
    states: Sequence[str] = (),
    *,
    owner: str = BURST,
    phase: str = "Running",
    runs: bool = True,
    labels: Mapping[str, str] | None = None,
    uid: str = "",
    machine: str = "",
    hostname: str = "",
) -> None:
    """A worker pod as kubelet and the operator leave it; ``states``: of its Slurm node, ``uid``: of its NodeSet."""
    kept = {names.LABEL_POD_INDEX: "0", names.LABEL_SCALING_MODE: "StatefulSet"} if labels is None else dict(labels)
    reference = {
        "apiVersion": names.API_VERSION,
        "kind": "NodeSet",
        "name": owner,
        "uid": uid or f"of-{owner}",
        "controller": True,
    }
    kept |= {names.LABEL_NAME: "slurmd"} if names.LABEL_POD_INDEX in kept else {}
    meta = {"name": name, "labels": kept, "ownerReferences": [reference]}
    spec: dict[str, Any] = {"containers": [{"name": "slurmd", "image": "slurmd:1"}], "automountServiceAccountToken": False}
    spec |= {key: value for key, value in (("nodeName", machine), ("hostname", hostname)) if value}
    done(call(api, "POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}))
    now = "2026-01-01T00:00:00Z"
    state: dict[str, Any] = {"running": {"startedAt": now}} if runs else {"waiting": {"reason": "CrashLoopBackOff"}}
    container = {"name": "slurmd", "image": "slurmd:1", "imageID": "", "ready": runs, "restartCount": 0, "state": state}
    conditions = [{"type": each, "status": "True"} for each in ("Ready", *(f"SlurmNodeState{each}" for each in states))]
    status = {"phase": phase, "containerStatuses": [container], "conditions": conditions}
    merge(api, f"{PODS}/{name}/status", {"status": status})


def delete(api: KubeApi, name: str, user: str = OPERATOR, *, dry: bool = False) -> str:
    """Delete a pod as the operator does, or as another; returns why that was refused."""
    code, said = call(api, "DELETE", f"{PODS}/{name}{'?dryRun=All' if dry else ''}", user=user)
    return "" if code < 300 else said


def let_through(api: KubeApi, name: str, user: str = OPERATOR) -> bool:
    """Whether a deletion is: tried until it was, for the API server reads the NodeSet from a cache."""
    until = time.monotonic() + 2
    while said := delete(api, name, user):
        assert REFUSED in said, said
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def stays(api: KubeApi, name: str) -> bool:
    """Whether a deletion is refused: once the API server has seen what was just written, and from then on."""
    until = time.monotonic() + 10
    while not delete(api, name, dry=True):
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return not let_through(api, name)


@pytest.fixture(autouse=True)
def burst(api: KubeApi) -> Iterator[None]:
    """Three are wanted, three are there, and the operator has seen it."""
    lower(api, 3)
    synced(api)
    yield
    done(call(api, "DELETE", f"{PODS}?gracePeriodSeconds=0"))


BUSY = {
    "busy": ["Allocated"],
    "busy in part": ["Mixed"],
    "drained while its job runs": ["Allocated", "Drain"],
    "drained while a job of several runs": ["Mixed", "Drain"],
    "its epilog runs": ["Idle", "Completing", "Drain"],
    "returned this moment": ["Idle", "Drain", "Undrain"],
    "idle and not drained": ["Idle"],
    "down and not drained": ["Down"],
}


@pytest.mark.parametrize("case", BUSY)
def test_the_operator_deletes_no_pod_whose_node_isnt_drained(api: KubeApi, case: str) -> None:
    pod(api, "burst-0", BUSY[case])
    lower(api, 2)
    synced(api)
    said = delete(api, "burst-0")
    assert (
        "kubectl annotate pod -n slurm burst-0 slinky-iac/permit=delete, then kubectl delete pod -n slurm burst-0" in said
    ), "what a person can do"
    assert "kubectl delete validatingadmissionpolicybinding slinky-iac-pods.slurm.slurm" in said


def test_an_operator_that_has_taken_its_reports_off_the_pods_deletes_none(api: KubeApi) -> None:
    """What it does in its first sync without its client."""
    pod(api, "burst-0")
    lower(api, 2)
    synced(api)
    assert stays(api, "burst-0")


def test_a_report_of_before_the_number_was_lowered_lets_no_pod_go(api: KubeApi) -> None:
    """Somebody may have returned the node since, and a job may have begun: the operator was down, say."""
    pod(api, "burst-0", DRAINED)
    lower(api, 2)
    assert stays(api, "burst-0")
    synced(api)
    assert let_through(api, "burst-0")


@pytest.mark.parametrize("states", [DRAINED, ("Down", "Drain"), ("Down", "Drain", "NotResponding")])
def test_a_drained_pod_goes(api: KubeApi, states: Sequence[str]) -> None:
    pod(api, "burst-0", states)
    lower(api, 2)
    synced(api)
    assert let_through(api, "burst-0")


def test_what_a_gate_has_drained_goes_in_the_operators_first_sync(api: KubeApi) -> None:
    before = generation(api)
    pod(api, "burst-0", DRAINED)
    pod(api, "burst-1", ["Allocated"])
    lower(api, 2, names.permit_to_scale(2, before))
    assert let_through(api, "burst-0")
    assert REFUSED in delete(api, "burst-1")
    lower(api, 1, names.permit_to_scale(2, before))
    pod(api, "burst-2", DRAINED)
    assert stays(api, "burst-2"), "the permission was for another number"


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_that_has_ended_is_replaced(api: KubeApi, phase: str) -> None:
    pod(api, "burst-0", phase=phase)
    assert let_through(api, "burst-0")


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_a_pod_in_which_nothing_runs_goes(api: KubeApi, phase: str) -> None:
    pod(api, "burst-0", phase=phase, runs=False)
    lower(api, 2)
    assert let_through(api, "burst-0")


def test_a_pending_pod_in_which_slurmd_runs_already_stays(api: KubeApi) -> None:
    """A container beside it has no image yet, say: slurmd has registered."""
    pod(api, "burst-0", phase="Pending")
    lower(api, 2)
    assert stays(api, "burst-0")


def test_a_pod_whose_node_slurmctld_lost_is_replaced_while_no_pod_is_to_go(api: KubeApi) -> None:
    """By operators from 1.1.0 on, which report nothing then."""
    pod(api, "burst-0")
    pod(api, "burst-1", labels={names.LABEL_POD_INDEX: "1"})
    assert stays(api, "burst-1"), "of 1.0: 1.1.0 deletes it for its scaling mode, and drained only with its client"
    assert let_through(api, "burst-0")


def test_a_slurmctld_that_has_lost_its_state_costs_no_pod(api: KubeApi) -> None:
    """It has no node of the NodeSet then, while their jobs run on; it may get its state back."""
    pod(api, "burst-0")
    synced(api, known=0)
    assert stays(api, "burst-0")


def test_a_rollout_of_the_operators_own_lets_no_pod_go_without_a_report(api: KubeApi) -> None:
    merge(api, f"{SETS}/{BURST}", {"spec": {"updateStrategy": {"type": "RollingUpdate"}}})
    try:
        synced(api)
        pod(api, "burst-0")
        assert stays(api, "burst-0")
    finally:
        merge(api, f"{SETS}/{BURST}", {"spec": {"updateStrategy": {"type": "OnDelete"}}})


def test_only_the_operator_is_refused(api: KubeApi) -> None:
    pod(api, "burst-0", ["Allocated"])
    assert {user: delete(api, "burst-0", user, dry=True) for user in OTHERS} == dict.fromkeys(OTHERS, "")
    assert REFUSED in delete(api, "burst-0", dry=True)


def test_pods_of_every_nodeset_that_gates_drain_are_guarded(api: KubeApi) -> None:
    """A slurmctld without its state, or an operator without its client: the number is as it was, and jobs run on."""
    pod(api, "gpu-0", owner=FIXED)
    synced(api, FIXED, known=0)
    assert stays(api, "gpu-0")
    synced(api, FIXED)
    assert let_through(api, "gpu-0"), "slurmctld has its other nodes, and lost this one"
    pod(api, "gpu-1", DRAINED, owner=FIXED)
    assert let_through(api, "gpu-1")


def test_pods_that_the_operator_replaces_itself_and_other_pods_are_not_its_matter(api: KubeApi) -> None:
    """It drains the one, and would wait five minutes for each that is refused. The other is of another cluster."""
    merge(api, f"{SETS}/{FIXED}", {"spec": {"updateStrategy": {"type": "RollingUpdate"}}})
    try:
        pod(api, "gpu-0", ["Idle"], owner=FIXED)
        assert let_through(api, "gpu-0")
    finally:
        merge(api, f"{SETS}/{FIXED}", {"spec": {"updateStrategy": {"type": "OnDelete"}}})
    pod(api, "other-0", ["Allocated"], owner=OTHER)
    assert let_through(api, "other-0")


def test_with_its_nodeset_gone_its_pods_go(api: KubeApi) -> None:
    """The owner of the last pod is gone: no parameter is left, and nothing may hang by that."""
    pod(api, "burst-0", ["Allocated"])
    done(call(api, "DELETE", SETS))
    try:
        assert let_through(api, "burst-0", user=COLLECTOR)
        pod(api, "burst-1", ["Allocated"])
        assert let_through(api, "burst-1")
    finally:
        for name in (BURST, FIXED, OTHER):
            nodeset(api, name)
