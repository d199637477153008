"""Whether Kubernetes would make the stack's pods: what is asked, and what each answer comes to."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeError, KubeForbidden, KubeNotFound
from slinky_iac.kube.kubeconfig import KubeAccess, KubeUser
from slinky_iac.kube.pods import ShortPodClient
from slinky_iac.kube.wire import Retry
from slinky_iac.names import ANNOTATION_TEMPLATE, nodeset_resource
from slinky_iac.preflight.ask_verdicts import ask_verdicts
from slinky_iac.preflight.check import Check, Verdict
from slinky_iac.preflight.compare import checks
from slinky_iac.preflight.facts import Facts, KubeFacts, PodVerdict
from slinky_iac.specs.workers import nodeset_spec, template_digest
from tests.stacks import minimal

CONFIG = load(minimal(nodesets={"gpu": {"replicas": 1}}))
INVALID = 'Pod "NAME" is invalid: spec.tolerations[0].operator: Unsupported value: "Exist"'
RBAC = 'pods is forbidden: User "ci" cannot create resource "pods" in API group "" in the namespace "slurm"'


class Fake:
    """An API server with these namespaces, which answers every pod alike."""

    def __init__(self, code: int = 201, message: str = "", *, there: tuple[str, ...] = ("slurm",), may: str = "") -> None:
        self.code, self.message, self.there, self.may = code, message, there, may
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        namespace = request.url.path.split("/")[4]
        if request.method == "GET":
            found = namespace in self.there
            return httpx.Response(200 if found else 404, json={"kind": "Namespace" if found else "Status", "metadata": {}})
        if self.may and namespace != self.may:
            return httpx.Response(403, json={"kind": "Status", "message": RBAC})
        return httpx.Response(self.code, json={"kind": "Status", "message": self.message, "metadata": {"name": "a"}})

    def client(self) -> ShortPodClient:
        access = KubeAccess("https://kube:6443", None, False, None, None, "default", KubeUser(), "a test")
        return ShortPodClient(access, transport=httpx.MockTransport(self), retry=Retry(tries=1))


def told(config: StackConfig, *pods: PodVerdict) -> list[Check]:
    found = checks(config, Facts(kube=KubeFacts(pods=pods)))
    return [each for each in found if each.name == "pods-accepted"]


def test_each_pod_is_asked_for_without_being_made() -> None:
    fake = Fake()
    found = ask_verdicts(fake.client(), CONFIG)
    assert {each.path for each in found} >= {"restapi", "nodesets.gpu"}
    assert {(each.refused, each.trouble, each.namespace) for each in found} == {("", "", "slurm")}
    posts = [each for each in fake.asked if each.method == "POST"]
    assert len(posts) == len(found)
    assert {each.url.params["dryRun"] for each in posts} == {"All"}
    names: list[Any] = [json.loads(each.content)["metadata"]["name"] for each in posts]
    assert len(set(names)) == len(names)


class Standing(Fake):
    """The same with one NodeSet, which notes this template."""

    def __init__(self, template: str, code: int = 200) -> None:
        super().__init__()
        self.template, self.listed = template, code

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if "/nodesets/" not in request.url.path:
            return super().__call__(request)
        metadata: dict[str, Any] = {
            "name": nodeset_resource(CONFIG.cluster.resource_name, "gpu"),
            "uid": "u",
            "resourceVersion": "1",
        }
        metadata |= {"creationTimestamp": "2026-11-01T00:00:00Z", "generation": 1}
        metadata |= {"annotations": {ANNOTATION_TEMPLATE: self.template}}
        said: dict[str, Any] = {"kind": "NodeSet", "metadata": metadata, "spec": {"replicas": 1}}
        if self.listed != 200:
            said = {"kind": "Status", "message": "no", "code": self.listed}
        return httpx.Response(self.listed, json=said)


@pytest.mark.parametrize(
    ("standing", "asked"),
    [
        (Standing(template_digest(nodeset_spec(CONFIG, "gpu", CONFIG.nodesets["gpu"]))), False),
        (Standing("of-another-template"), True),
        (Standing("", 403), True),
        (Standing("", 404), True),
    ],
)
def test_a_nodeset_is_asked_for_where_its_pods_change(standing: Standing, asked: bool) -> None:
    found = ask_verdicts(standing.client(), CONFIG, changed=True)
    assert ("nodesets.gpu" in {each.path for each in found}) is asked
    assert "restapi" in {each.path for each in found}


@pytest.mark.parametrize("code", [400, 403, 422])
def test_a_refusal_is_in_the_servers_own_words(code: int) -> None:
    assert {each.refused for each in ask_verdicts(Fake(code, INVALID).client(), CONFIG)} == {INVALID}


@pytest.mark.parametrize(
    ("code", "message", "error"),
    [
        (403, RBAC, KubeForbidden),
        (401, "Unauthorized", KubeForbidden),
        (400, 'admission webhook "a.example.org" does not support dry run', KubeError),
        (404, 'namespaces "slurm" not found', KubeNotFound),
        (500, 'failed calling webhook "a.example.org"', KubeError),
        (422, "", KubeError),
    ],
)
def test_where_nothing_was_judged_nothing_is_refused(code: int, message: str, error: type[KubeError]) -> None:
    client = Fake(code, message).client()
    with pytest.raises(error):
        client.refusal("slurm", {"metadata": {"name": "a"}})
    assert all(each.trouble and not each.refused for each in ask_verdicts(client, CONFIG))


def test_where_no_pod_may_be_made_the_namespace_for_them_is_asked() -> None:
    found = ask_verdicts(Fake(422, INVALID, may="looks").client(), CONFIG, namespace="looks")
    assert {(each.namespace, each.refused) for each in found} == {("looks", INVALID)}
    alone = ask_verdicts(Fake(422, INVALID, may="looks").client(), CONFIG)
    assert all("cannot create resource" in each.trouble for each in alone)


def test_before_the_namespace_is_there_default_is_asked() -> None:
    assert {each.namespace for each in ask_verdicts(Fake(there=()).client(), CONFIG)} == {"default"}


@pytest.mark.parametrize(
    ("verdict", "pod", "words"),
    [
        (Verdict.FINE, PodVerdict("nodesets.gpu", "slurm"), "would make them"),
        (Verdict.PROBLEM, PodVerdict("nodesets.gpu", "slurm", refused=INVALID), INVALID),
        (Verdict.PROBLEM, PodVerdict("nodesets.gpu", "default", refused=INVALID), "asked in namespace default"),
        (Verdict.WARNING, PodVerdict("nodesets.gpu", "slurm", refused="exceeded quota: few"), "no more of them"),
        (Verdict.UNKNOWN, PodVerdict("nodesets.gpu", "default", refused="exceeded quota: few"), "exceeded quota: few"),
        (Verdict.UNKNOWN, PodVerdict("nodesets.gpu", "default", refused='violates PodSecurity "x"'), "not in slurm"),
        (Verdict.UNKNOWN, PodVerdict("nodesets.gpu", "slurm", trouble="no answer"), "no answer"),
    ],
)
def test_what_an_answer_comes_to(verdict: Verdict, pod: PodVerdict, words: str) -> None:
    (found,) = told(CONFIG, pod)
    assert (found.verdict, found.subject) == (verdict, "pods of nodesets.gpu")
    assert words in found.got
