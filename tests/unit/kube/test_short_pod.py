"""Pods made for one look: what they wrote, why they didn't run, and that they go."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from slinky_iac.errors import KubeForbidden, KubeNotFound
from slinky_iac.kube.connection import KubeTransport
from slinky_iac.kube.pods import ShortPodClient
from slinky_iac.kube.wire import Clock, Retry
from tests.made.kubernetes import kube_access
from tests.made.pods import short_pod

Json = dict[str, Any]
ACCESS = kube_access(token="a-secret-bearer-token")


def client_of(*answers: httpx.Response, asked: list[httpx.Request] | None = None) -> ShortPodClient:
    """A client that gets these answers, one a request, the last one again and again."""
    left = list(answers)

    def handle(request: httpx.Request) -> httpx.Response:
        if asked is not None:
            asked.append(request)
        return left.pop(0) if len(left) > 1 else left[0]

    clock = Clock(sleep=lambda seconds: None)
    transport = KubeTransport(ACCESS, clock=clock, connect=lambda tls: httpx.MockTransport(handle))
    return ShortPodClient(ACCESS, clock=clock, retry=Retry(tries=3), transport=transport)


def status(code: int, message: str = "no") -> httpx.Response:
    return httpx.Response(code, json={"kind": "Status", "message": message, "code": code})


def test_what_a_pod_wrote_is_read_from_its_status() -> None:
    ended = {"terminated": {"exitCode": 0, "message": "date 17\n", "reason": "Completed"}}
    seen = client_of(httpx.Response(200, json=short_pod(phase="Succeeded", containerStatuses=[{"state": ended}])))
    found = seen.short_pod("slurm", "p")
    assert (found.spec.node_name, found.message, found.trouble, found.ended) == ("node-1", "date 17\n", "", True)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ErrImageNeverPull"}}}]}, "ErrImage"),
        ({"phase": "Failed", "reason": "DeadlineExceeded", "message": "too long"}, "DeadlineExceeded too long"),
        ({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 127}}}]}, "exit code 127"),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes fit"}]},
            "0/3 nodes fit",
        ),
    ],
)
def test_a_pod_that_does_not_run_says_why(body: Json, words: str) -> None:
    assert words in client_of(httpx.Response(200, json=short_pod(**body))).short_pod("slurm", "p").trouble


def test_a_pod_that_is_being_made_is_no_trouble() -> None:
    making = {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]}
    found = client_of(httpx.Response(200, json=short_pod(**making))).short_pod("slurm", "p")
    assert (found.trouble, found.ended) == ("", False)


def test_a_pod_is_made_by_one_post_that_is_never_repeated() -> None:
    asked: list[httpx.Request] = []
    client_of(httpx.Response(201, json={}), asked=asked).make_pod("slurm", {"metadata": {"name": "p"}})
    assert [(each.method, each.url.path) for each in asked] == [("POST", "/api/v1/namespaces/slurm/pods")]


def test_a_refused_pod_is_an_error_with_kubernetes_words() -> None:
    with pytest.raises(KubeForbidden, match="violates PodSecurity"):
        client_of(status(403, "violates PodSecurity")).make_pod("slurm", {"metadata": {"name": "p"}})


def test_deleting_is_repeated_on_passing_trouble_and_a_pod_that_is_gone_is_deleted() -> None:
    asked: list[httpx.Request] = []
    client_of(status(503), httpx.Response(202, json={}), asked=asked).delete_pod("slurm", "p")
    assert [each.method for each in asked] == ["DELETE", "DELETE"]
    assert json.loads(asked[0].content)["gracePeriodSeconds"] == 0
    client_of(status(404)).delete_pod("slurm", "p")


def test_a_namespace_is_there_or_not() -> None:
    assert client_of(httpx.Response(200, json={})).namespace_exists("slurm") is True
    assert client_of(status(404)).namespace_exists("slurm") is False
    with pytest.raises(KubeForbidden):
        client_of(status(403)).namespace_exists("slurm")


def test_a_name_that_is_none_is_not_sent() -> None:
    with pytest.raises(ValueError, match="nothing was sent"):
        client_of(status(500)).delete_pod("slurm", "../secrets/x")


def test_a_pod_that_is_gone_is_told_as_such() -> None:
    with pytest.raises(KubeNotFound):
        client_of(status(404)).short_pod("slurm", "p")
