"""The other side of a reader's rule. Each test is a fault that once passed all others."""

from __future__ import annotations

import json

import httpx
import msgspec
import pytest

from slinky_iac import names
from slinky_iac.errors import KubeNotFound
from slinky_iac.kube import scalers
from slinky_iac.kube.client import controlled
from slinky_iac.kube.objects import Pod, WrittenMeta
from slinky_iac.kube.pods import hosts_of
from slinky_iac.kube.resources import Controller, ControllerSpec
from tests.made.kubernetes import meta as made_meta
from tests.unit.kube.test_client import a_nodeset, a_pod, client_of, pod_body, scaler, status


def test_an_api_server_without_autoscalers_is_an_error_and_one_without_keda_none() -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        if "horizontalpodautoscalers" in request.url.path:
            return status(404, "the server could not find the requested resource")
        return httpx.Response(200, json={"items": []})

    with pytest.raises(KubeNotFound):
        scalers.writers(client_of(handle), "slurm", "lab-worker-gpu")


def test_hpas_count_where_keda_is_missing() -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        if "keda" in request.url.path:
            return httpx.Response(404, text="404 page not found\n")
        own = scaler("HorizontalPodAutoscaler", "mine")
        return httpx.Response(200, json={"items": [own], "gitVersion": "v1.35.0"})

    assert scalers.writers(client_of(handle), "slurm", "lab-worker-gpu") == ("HorizontalPodAutoscaler/mine",)


def test_only_what_controls_a_pod_owns_it() -> None:
    own, other = (
        pod_body(number) | {"metadata": {**pod_body(number)["metadata"], "ownerReferences": [owner]}}
        for number, owner in enumerate(({"uid": "uid-lab-worker-gpu", "controller": True}, {"uid": "uid-lab-worker-gpu"}))
    )
    found = controlled(a_nodeset(), [msgspec.convert(each, Pod) for each in (own, other)])
    assert [each.name for each in found] == [own["metadata"]["name"]]


LONG = "login-" + "x" * 80


@pytest.mark.parametrize(
    ("name", "spec", "host"),
    [
        ("a", {"nodeName": "metal", "hostNetwork": True, "hostname": "b"}, "metal"),
        ("a", {"nodeName": "metal", "hostname": "b"}, "b"),
        (LONG, {"nodeName": "metal"}, LONG[:63]),
    ],
)
def test_the_host_of_an_srun_is_what_kubelet_calls_it(name: str, spec: dict[str, object], host: str) -> None:
    body = {"metadata": made_meta(name), "spec": spec}
    kube = client_of(lambda _: httpx.Response(200, json={"items": [body]}))
    assert hosts_of(kube, "slurm", "app=login") == frozenset({host})


def test_a_deletion_is_of_exactly_the_object_that_was_looked_at() -> None:
    bodies: list[dict[str, object]] = []

    def handle(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(200, json={})

    kube, pod = client_of(handle), a_pod()
    kube.delete_worker("slurm", pod)
    kube.delete("LoginSet", "slurm", pod.metadata)
    exactly = {"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version}
    assert [each["preconditions"] for each in bodies] == [exactly, exactly]


def test_a_new_slurm_conf_is_permitted_for_the_generation_that_was_looked_at() -> None:
    bodies: list[dict[str, dict[str, dict[str, str]]]] = []

    def handle(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(200, json={})

    meta = msgspec.convert(made_meta("hpc", generation=7), WrittenMeta)
    client_of(handle).set_extra_conf("slurm", Controller(meta, ControllerSpec("")), "a=b")
    (body,) = bodies
    assert body["metadata"]["annotations"] == {names.ANNOTATION_PERMIT: names.permit_to_configure(7)}
