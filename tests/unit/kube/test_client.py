"""The Kubernetes calls of a drain: what they read, what they refuse to conclude, and that a write can't hit a stranger."""

from __future__ import annotations

import base64
import json
import traceback
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky_iac import names
from slinky_iac.errors import KubeConflict, KubeError, KubeForbidden, KubeNotFound, KubeUnreachable
from slinky_iac.kube import scalers
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.connection import KubeTransport
from slinky_iac.kube.objects import NodeSet, Pod
from slinky_iac.kube.resources import ApiGroupList
from slinky_iac.kube.wire import Clock, Retry
from slinky_iac.parts.fence.part import KINDS
from tests.made.kubernetes import kube_access
from tests.made.nodesets import nodeset as made_nodeset
from tests.made.pods import pod as made_pod
from tests.made.scalers import target

TOKEN = "a-secret-bearer-token"
KEY = b"\x00raw key bytes\n"
Json = dict[str, Any]
NOW = "2026-11-21T04:00:00Z"
EPOCH = 1_795_233_600


def client_of(handle: Callable[[httpx.Request], httpx.Response], tries: int = 2) -> KubeClient:
    access = kube_access(token=TOKEN)
    clock = Clock(sleep=lambda seconds: None)
    transport = KubeTransport(access, clock=clock, connect=lambda tls: httpx.MockTransport(handle))
    return KubeClient(access, clock=clock, retry=Retry(tries=tries), transport=transport)


def always(response: httpx.Response) -> Callable[[httpx.Request], httpx.Response]:
    return lambda request: response


def status(code: int, message: str) -> httpx.Response:
    return httpx.Response(code, json={"kind": "Status", "message": message, "code": code})


def meta(name: str, **more: Any) -> Json:
    return {"name": name, "uid": f"uid-{name}", "resourceVersion": "7", "creationTimestamp": NOW} | more


def nodeset_body(**status_more: Any) -> Json:
    return {
        "metadata": meta("lab-worker-gpu", generation=4),
        "spec": {
            "replicas": 3,
            "controllerRef": {"name": "lab", "namespace": "slurm"},
            "updateStrategy": {"type": "RollingUpdate"},
            "slurmd": {"anything": [1]},
            "partition": {"enabled": True},
        },
        "status": {
            "replicas": 3,
            "updatedReplicas": 3,
            "readyReplicas": 2,
            "observedGeneration": 4,
            "nodeSetHash": "abc",
            "selector": "app.kubernetes.io/instance=lab-worker-gpu,app.kubernetes.io/name=slurmd",
            "slurmIdle": 1,
            "slurmAllocated": 2,
        }
        | status_more,
    }


def pod_body(index: int, owner: str = "uid-lab-worker-gpu", **more: Any) -> Json:
    owners = [{"kind": "NodeSet", "name": "lab-worker-gpu", "uid": owner, "controller": True, "apiVersion": "x"}]
    return {
        "metadata": meta(
            f"lab-worker-gpu-{index}",
            labels={"nodeset.slinky.slurm.net/pod-index": str(index), "controller.kubernetes.io/hash": "r1"},
            annotations={"nodeset.slinky.slurm.net/pod-deletion-cost": "-5"},
            ownerReferences=owners,
        ),
        "spec": {"nodeName": f"k-{index}", "hostname": f"gpu-{index}", "containers": []},
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": NOW},
                {"type": "SlurmNodeStateIdle", "status": "True", "message": ""},
                {"type": "SlurmNodeStateDrain", "status": "True", "message": "slinky-iac:dev/gpu: x"},
                {"type": "SlurmNodeStateNotResponding", "status": "False"},
                {"type": "SlurmNodeStateInvalidReg", "status": "True"},
            ],
        },
    } | more


def a_nodeset() -> NodeSet:
    return client_of(always(httpx.Response(200, json=nodeset_body()))).nodeset("slurm", "lab-worker-gpu")


def a_pod() -> Pod:
    (pod,) = client_of(always(httpx.Response(200, json={"items": [pod_body(1)]}))).pods_of("slurm", a_nodeset())
    return pod


def test_a_nodeset_as_the_operator_writes_it() -> None:
    found = a_nodeset()
    assert (found.spec.replicas, found.status.replicas, found.status.updated_replicas) == (3, 3, 3)
    assert (found.revision, found.on_delete, found.frozen, found.permitted) == ("abc", False, None, False)
    assert found.spec.partition.enabled
    assert found.observed
    assert not found.rolling(3)


@pytest.mark.parametrize(("change", "rolls"), [({"observedGeneration": 3}, False), ({"updatedReplicas": 2}, True)])
def test_a_nodeset_under_way_is_told(change: Json, *, rolls: bool) -> None:
    body = nodeset_body(**change)
    found = client_of(always(httpx.Response(200, json=body))).nodeset("slurm", "lab-worker-gpu")
    assert (found.observed, found.rolling(3)) == ("observedGeneration" not in change, rolls)
    on_delete = {**body, "spec": {"updateStrategy": {"type": "OnDelete"}}}
    found = client_of(always(httpx.Response(200, json=on_delete))).nodeset("slurm", "lab-worker-gpu")
    assert found.on_delete
    assert not found.rolling(3)


@pytest.mark.parametrize(
    ("permit", "holds"),
    [
        (names.permit_to_delete(4), True),
        (names.permit_to_scale(2, 4), True),
        (names.permit_to_delete(3), False),
        (names.permit_to_scale(4, 3), False),
        ("", False),
    ],
)
def test_a_permission_holds_for_the_generation_that_it_names(permit: str, *, holds: bool) -> None:
    assert made_nodeset("gpu", 3, generation=4, annotations={names.ANNOTATION_PERMIT: permit}).permitted is holds


def test_annotations_are_read_as_the_operator_reads_them() -> None:
    plain, marked = made_pod("p"), made_pod("p", deletion_cost=-5, deadline=EPOCH, cordon=True, gate="tag")
    assert (plain.deletion_cost, plain.cost_text, plain.deadline, plain.cordon, plain.gate) == (0, None, None, False, "")
    assert (marked.deletion_cost, marked.cost_text, marked.deadline, marked.cordon) == (-5, "-5", EPOCH, True)
    assert marked.gate == "tag"


@pytest.mark.parametrize("text", ["", "soon", "2027-01-15", "2027-01-15T08:00:00", "999999-01-01T00:00:00Z"])
def test_deadline_that_cannot_be_read_is_none(text: str) -> None:
    assert made_pod("p", annotations={names.ANNOTATION_POD_DEADLINE: text}).deadline is None


def test_pod_that_became_unready_is_known_to_have_been_so_since_then() -> None:
    pod = made_pod("p", ready=False, ready_changed=EPOCH)
    assert (pod.healthy, pod.ready_changed) == (False, EPOCH)


def test_pod_without_a_node_or_a_number_is_told() -> None:
    pod = made_pod("p-x", scheduled=False, ready=False, phase="Pending", ordinal=-1)
    assert (pod.scheduled, pod.ordinal, pod.healthy) == (False, -1, False)


def test_a_pod_and_the_slurm_node_that_it_is() -> None:
    pod = a_pod()
    assert (pod.name, pod.ordinal, pod.slurm_node, pod.spec.node_name) == ("lab-worker-gpu-1", 1, "gpu-1", "k-1")
    assert pod.slurm_states == {"IDLE", "DRAIN", "INVALID_REG"}
    assert (pod.slurm_reason, pod.ready, pod.ready_changed, pod.created) == ("slinky-iac:dev/gpu: x", True, EPOCH, EPOCH)
    assert (pod.terminating, pod.revision) == (False, "r1")
    assert pod.metadata.annotations["nodeset.slinky.slurm.net/pod-deletion-cost"] == "-5"


@pytest.mark.parametrize(
    ("spec", "name"),
    [({}, "lab-worker-gpu-1"), ({"hostname": "gpu-1"}, "gpu-1"), ({"hostNetwork": True, "nodeName": "host-9"}, "host-9")],
)
def test_the_slurm_node_of_a_pod_follows_the_operators_rule(spec: Json, name: str) -> None:
    body = {"items": [pod_body(1, spec=spec)]}
    (pod,) = client_of(always(httpx.Response(200, json=body))).pods_of("slurm", a_nodeset())
    assert pod.slurm_node == name


def test_all_pages_of_pods_are_read_and_only_the_nodesets_own_count() -> None:
    nodeset = a_nodeset()
    asked: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params.get("continue", ""))
        assert request.url.params["labelSelector"] == nodeset.status.selector
        pages = {
            "": {"metadata": {"continue": "p2"}, "items": [pod_body(10), pod_body(2)]},
            "p2": {"metadata": {}, "items": [pod_body(1), pod_body(3, owner="another")]},
        }
        if asked == ["", "p2"]:
            return status(410, "The provided continue parameter is too old")
        return httpx.Response(200, json=pages[asked[-1]])

    pods = client_of(handle).pods_of("slurm", nodeset)
    assert [p.ordinal for p in pods] == [1, 2, 10]
    assert asked == ["", "p2", "", "p2"]


def test_an_annotation_lands_only_on_the_pod_that_was_looked_at() -> None:
    sent: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={}) if len(sent) == 1 else status(409, "the object has been modified")

    pod, client = a_pod(), client_of(handle)
    client.annotate_pod("slurm", pod, {"slinky-iac/scale-in": "dev/gpu", "old": None})
    assert sent[0].headers["content-type"] == "application/merge-patch+json"
    assert sent[0].url.path == "/api/v1/namespaces/slurm/pods/lab-worker-gpu-1"
    assert json.loads(sent[0].content)["metadata"] == {
        "uid": pod.metadata.uid,
        "resourceVersion": "7",
        "annotations": {"slinky-iac/scale-in": "dev/gpu", "old": None},
    }
    with pytest.raises(KubeConflict, match="Look again") as refused:
        client.annotate_pod("slurm", pod, {"a": "b"})
    assert refused.value.status == 409


def test_a_patch_without_an_answer_is_not_repeated_and_says_it_may_be_done() -> None:
    sent: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        raise httpx.ReadTimeout("slow", request=request)

    with pytest.raises(KubeUnreachable, match="may have been done"):
        client_of(handle, tries=3).annotate_pod("slurm", a_pod(), {"a": "b"})
    assert len(sent) == 1


def scaler(kind: str, name: str, nodeset: str = "lab-worker-gpu", version: str = "v1beta1", **spec: Any) -> Json:
    ref = target(nodeset, version)
    return {"kind": kind, "metadata": meta(name), "spec": {"scaleTargetRef": ref, **spec}}


def test_who_else_scales_a_nodeset() -> None:
    hpas = [
        scaler("HPA", "mine", minReplicas=2, maxReplicas=8),
        scaler("HPA", "default", maxReplicas=4),
        scaler("HPA", "other", nodeset="lab-worker-cpu", maxReplicas=4),
    ]
    web = scaler("HPA", "web", maxReplicas=4)
    web["spec"]["scaleTargetRef"] = {"apiVersion": "apps/v1", "kind": "NodeSet", "name": "lab-worker-gpu"}
    paused = scaler("ScaledObject", "keda", idleReplicaCount=0, minReplicaCount=1, maxReplicaCount=9)
    paused["metadata"]["annotations"] = {"autoscaling.keda.sh/paused-replicas": "3"}

    def handle(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"items": [paused] if "keda.sh" in request.url.path else [*hpas, web]})

    found = scalers.writers(client_of(handle), "slurm", "lab-worker-gpu")
    assert found == ("HorizontalPodAutoscaler/mine", "HorizontalPodAutoscaler/default", "ScaledObject/keda")


def test_no_keda_is_no_scaler_but_not_being_allowed_to_look_is_an_error() -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        return (
            httpx.Response(404, text="404 page not found\n")
            if "keda" in request.url.path
            else httpx.Response(200, json={"items": [], "gitVersion": "v1.35.0"})
        )

    assert scalers.writers(client_of(handle), "slurm", "lab-worker-gpu") == ()
    with pytest.raises(KubeForbidden):
        scalers.writers(client_of(always(status(403, "no"))), "slurm", "lab-worker-gpu")


def test_controllers_and_deployments() -> None:
    inside = {"metadata": meta("lab"), "spec": {"clusterName": "lab", "extraConf": "PartitionName=all Nodes=ALL"}}
    controller = client_of(always(httpx.Response(200, json=inside))).controller("slurm", "lab")
    assert controller.spec.extra_conf == "PartitionName=all Nodes=ALL"
    available = httpx.Response(200, json={"status": {"availableReplicas": 1}})
    assert client_of(always(available)).deployment_available("slurm", "slurm-restapi") == 1
    assert client_of(always(status(404, "not found"))).deployment_available("slurm", "slurm-restapi") == 0


def test_a_service_s_address_is_its_load_balancer_s_first_ip_or_none() -> None:
    def address(*ingress: dict[str, str]) -> str | None:
        body = {"status": {"loadBalancer": {"ingress": list(ingress)} if ingress else {}}}
        return client_of(always(httpx.Response(200, json=body))).balancer_address("slurm", "slurm-controller")

    assert address({"hostname": "lb.example.org"}, {"ip": "192.0.2.9"}) == "192.0.2.9"
    assert address({"hostname": "lb.example.org"}) is None
    assert address() is None
    with pytest.raises(KubeNotFound):
        client_of(always(status(404, "not found"))).balancer_address("slurm", "slurm-controller")


def test_a_service_s_node_port_is_that_of_its_first_port_or_none() -> None:
    def port(*ports: dict[str, int]) -> int | None:
        body = {"spec": {"ports": list(ports)}}
        return client_of(always(httpx.Response(200, json=body))).node_port("slurm", "slurm-controller")

    assert port({"port": 6817, "nodePort": 31234}, {"port": 9, "nodePort": 31235}) == 31234
    assert port({"port": 6817}) is None
    assert port() is None


def test_a_config_map_is_its_texts() -> None:
    body = {"metadata": meta("slurm-token-jwks"), "data": {"jwks.json": "{}"}, "binaryData": {}}
    assert client_of(always(httpx.Response(200, json=body))).config_map_data("slurm", "slurm-token-jwks") == {
        "jwks.json": "{}"
    }
    with pytest.raises(KubeNotFound):
        client_of(always(status(404, "not found"))).config_map_data("slurm", "slurm-token-jwks")


def test_a_secrets_entry_is_raw_bytes_and_shows_nowhere() -> None:
    entry = base64.b64encode(KEY).decode()
    body = {"metadata": meta("keys"), "data": {"jwt_hs256.key": entry}}
    client = client_of(always(httpx.Response(200, json=body)))
    assert client.secret_entry("slurm", "keys", "jwt_hs256.key") == KEY
    with pytest.raises(KubeNotFound, match=r"no entry 'slurm\.key'") as absent:
        client.secret_entry("slurm", "keys", "slurm.key")
    broken = client_of(always(httpx.Response(200, json=body | {"data": {"jwt_hs256.key": entry + "%"}})))
    with pytest.raises(KubeError, match="base64") as garbage:
        broken.secret_entry("slurm", "keys", "jwt_hs256.key")
    shown = "".join("".join(traceback.format_exception(e.value)) for e in (absent, garbage))
    assert entry not in shown
    assert repr(KEY)[2:-1] not in shown


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        (401, KubeForbidden, "expired"),
        (403, KubeForbidden, "may not"),
        (404, KubeNotFound, "isn't there"),
        (409, KubeConflict, "somebody changed it"),
        (429, KubeUnreachable, "in trouble"),
        (500, KubeUnreachable, "in trouble"),
        (503, KubeUnreachable, "in trouble"),
        (302, KubeError, "not an answer"),
        (400, KubeError, "not an answer"),
    ],
)
def test_each_refusal_is_an_error_of_its_own_with_kubernetes_words(code: int, kind: type[KubeError], said: str) -> None:
    with pytest.raises(kind, match=said) as refused:
        client_of(always(status(code, "the API server's words"))).nodeset("slurm", "gpu")
    assert type(refused.value) is kind
    assert refused.value.status == code
    assert "the API server's words" in str(refused.value)


@pytest.mark.parametrize("text", ["404 page not found", "<html>no such cluster</html>", "", "{}", '{"kind": "Error"}'])
def test_a_404_of_a_proxy_takes_nothing_for_gone(text: str) -> None:
    """A gate that finds its NodeSet gone lets it go undrained; a proxy that has lost its way says 404 to everything."""
    with pytest.raises(KubeUnreachable, match="Nothing is taken for gone") as refused:
        client_of(always(httpx.Response(404, text=text))).nodeset("slurm", "gpu")
    assert refused.value.status == 404


@pytest.mark.parametrize("version", [httpx.Response(200, json={"gitVersion": "v1.35.0"}), status(403, "forbidden")])
def test_an_api_server_that_has_no_such_api_has_none_of_its_objects(version: httpx.Response) -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/version":
            return version
        return httpx.Response(404, text="404 page not found\n")

    with pytest.raises(KubeNotFound):
        client_of(handle).nodeset("slurm", "gpu")


def test_trouble_that_passes_is_waited_out() -> None:
    replies = [status(503, "starting"), httpx.Response(200, json=nodeset_body())]
    assert client_of(lambda request: replies.pop(0)).nodeset("slurm", "gpu").spec.replicas == 3


@pytest.mark.parametrize("name", ["", "../secrets", "a/b", "UPPER", "a b", "x" * 64])
def test_names_that_would_address_something_else_are_not_sent(name: str) -> None:
    sent: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return status(404, "no")

    client = client_of(handle)
    for call in (client.nodeset, client.controller, client.deployment_available):
        with pytest.raises(ValueError, match="RFC 1123"):
            call("slurm", name)
        with pytest.raises(ValueError, match="RFC 1123"):
            call(name, "gpu")
    assert sent == []


@settings(deadline=None)
@given(st.integers(200, 599), st.binary(max_size=200) | st.just(json.dumps(nodeset_body()).encode()))
def test_any_answer_is_a_value_or_an_error_of_ours_and_never_the_token(code: int, body: bytes) -> None:
    try:
        shown = repr(client_of(always(httpx.Response(code, content=body))).nodeset("slurm", "gpu"))
        assert code == 200
    except KubeError as raised:
        shown = "".join(traceback.format_exception(raised)) + repr(raised)
    assert TOKEN not in shown


def test_an_echoed_token_is_hidden() -> None:
    def echo(request: httpx.Request) -> httpx.Response:
        return status(500, f"who are you, {request.headers['authorization']}? ({TOKEN})")

    client = client_of(echo)
    with pytest.raises(KubeUnreachable, match="hidden") as refused:
        client.nodeset("slurm", "gpu")
    assert TOKEN not in "".join(traceback.format_exception(refused.value)) + repr(client)


def test_controllers_of_all_namespaces_are_listed_with_their_places() -> None:
    items = [
        {"metadata": meta(name, namespace=namespace), "spec": {"clusterName": name}}
        for namespace, name in [("slurm", "lab"), ("b", "lab")]
    ]
    asked: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(200, json={"items": items})

    assert client_of(handle).controllers() == (("slurm", "lab"), ("b", "lab"))
    assert asked == ["/apis/slinky.slurm.net/v1beta1/controllers"]


def test_pods_without_a_label_are_asked_for_by_selector() -> None:
    asked: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.url.path} {request.url.params['labelSelector']}")
        pod = {"metadata": meta("w-1"), "spec": {}}
        return httpx.Response(200, json={"metadata": {}, "items": [pod | {"metadata": meta("w-2")}, pod]})

    assert client_of(handle).pods_without("slurm", "slurmd", "x/y") == ("w-1", "w-2")
    assert asked == ["/api/v1/namespaces/slurm/pods app.kubernetes.io/name=slurmd,!x/y"]


def test_the_spec_of_a_policy_is_given_as_it_is_and_its_absence_is_told() -> None:
    asked: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        if request.url.path.endswith("bindings/a.slurm.b"):
            return httpx.Response(404, json={"kind": "Status", "message": "not found"})
        return httpx.Response(200, json={"metadata": {"name": "a.slurm.b"}, "spec": {"failurePolicy": "Fail"}})

    with client_of(handle) as kube:
        assert kube.admission("ValidatingAdmissionPolicy", "a.slurm.b") == {"failurePolicy": "Fail"}
        with pytest.raises(KubeNotFound):
            kube.admission("ValidatingAdmissionPolicyBinding", "a.slurm.b")
    served = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
    assert asked == [f"{served}ies/a.slurm.b", f"{served}ybindings/a.slurm.b"]


@pytest.mark.parametrize(
    ("served", "there"),
    [
        (["mutatingwebhookconfigurations"], False),
        (["validatingadmissionpolicies", "validatingadmissionpolicies/status"], False),
        (["validatingadmissionpolicies", "validatingadmissionpolicybindings"], True),
    ],
)
def test_which_kubernetes_has_admission_policies_is_asked_and_not_guessed_from_its_release(
    served: list[str], there: bool
) -> None:
    found = {"kind": "APIResourceList", "resources": [{"name": name, "verbs": []} for name in served]}
    with client_of(always(httpx.Response(200, json=found))) as kube:
        assert kube.serves(KINDS.api, KINDS.resources) is there


def test_api_groups_are_named() -> None:
    found = {"kind": "APIGroupList", "groups": [{"name": "apps", "versions": []}, {"name": "cilium.io", "versions": []}]}
    with client_of(always(httpx.Response(200, json=found))) as kube:
        groups = kube.asked("/apis", ApiGroupList, "the list of APIs").groups
        assert [each.name for each in groups] == ["apps", "cilium.io"]


def test_a_config_map_of_ours_is_made_changed_and_deleted_only_as_it_was_found() -> None:
    asked: list[tuple[str, httpx.URL, dict[str, Any]]] = []
    meta = {"name": "held", "uid": "u-1", "resourceVersion": "7", "creationTimestamp": "2026-11-26T00:00:00Z"}

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append((request.method, request.url, json.loads(request.content or b"{}")))
        return httpx.Response(200, json={"metadata": meta, "data": {"held": "{}"}})

    client = client_of(handle)
    client.write_config_map("slurm", "held", None, {"held": "{}", "run": None})
    found = client.config_map("slurm", "held")
    client.write_config_map("slurm", "held", found, {"run": "x"})
    client.write_config_map("slurm", "held", found, {"held": None})
    (made, where, body), _, (changed, _, change), (deleted, _, condition) = asked
    assert (made, changed, deleted) == ("PATCH", "PATCH", "DELETE")
    assert where.path == "/api/v1/namespaces/slurm/configmaps/held"
    assert where.params["fieldManager"].startswith("slinky-iac-"), "a manager of its own, so that no other's entry is taken"
    assert "force" not in where.params
    assert body["data"] == {"held": "{}"}
    assert change == {"metadata": {"uid": "u-1", "resourceVersion": "7"}, "data": {"run": "x"}}
    assert condition == {"preconditions": {"uid": "u-1", "resourceVersion": "7"}}
