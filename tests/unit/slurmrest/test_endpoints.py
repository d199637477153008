"""Through the API server's service proxy: paths, both kinds of credentials, and whose refusal is whose."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from slinky_iac.cluster.kube_connection import KubeConnection
from slinky_iac.errors import SlurmrestAuthError, SlurmrestUnreachable
from slinky_iac.kube import kubeconfig
from slinky_iac.kube.connection import KubeTransport
from slinky_iac.kube.kubeconfig import KubeAccess, KubeSource
from slinky_iac.kube.wire import Retry
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import KubeProxy
from tests.made.rows import node
from tests.unit.slurmrest.fake import KEY, FakeSlurm

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: lab
contexts: [{name: lab, context: {cluster: lab, user: me}}]
clusters: [{name: lab, cluster: {server: "https://api:6443/prefix"}}]
users: [{name: me, user: {token: the-kubernetes-token}}]
"""
PROXY = "/prefix/api/v1/namespaces/slurm/services/slurm-restapi:6820/proxy"


class ApiServer:
    """Passes what it is asked for on to Slurm, as the service proxy does: without the Authorization header."""

    def __init__(self, slurm: FakeSlurm) -> None:
        self.slurm = slurm
        self.paths: list[str] = []
        self.refusal: httpx.Response | None = None

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.paths.append(request.url.path)
        if self.refusal is not None:
            return self.refusal
        if request.headers.get("authorization") != "Bearer the-kubernetes-token":
            return status(401, "Unauthorized")
        assert request.url.path.startswith(PROXY)
        path = request.url.path.removeprefix(PROXY)
        headers = {k: v for k, v in request.headers.items() if k != "authorization"}
        return self.slurm.handle(
            httpx.Request(
                request.method,
                httpx.URL("http://rest:6820").copy_with(raw_path=path.encode() + b"?" + request.url.query),
                headers=headers,
                content=request.content,
            )
        )


def status(code: int, message: str) -> httpx.Response:
    return httpx.Response(code, json={"kind": "Status", "apiVersion": "v1", "message": message, "code": code})


def proxied(slurm: FakeSlurm, api: ApiServer, **where: object) -> SlurmrestClient:
    clock = slurm.ticks.clock()

    def connect(source: KubeSource) -> tuple[KubeAccess, httpx.BaseTransport]:
        access = kubeconfig.load(source, env={}, home=Path("/nowhere"))
        return access, KubeTransport(access, clock=clock, connect=lambda tls: httpx.MockTransport(api.handle))

    endpoint = KubeProxy(kubeconfig=KubeSource(content=KUBECONFIG), **where)  # type: ignore[arg-type]
    return SlurmrestClient(endpoint, [KEY], clock=clock, retry=Retry(tries=2), connect=connect)


def test_every_kind_of_call_goes_through_the_proxy_with_both_credentials() -> None:
    slurm = FakeSlurm().add(node("g-0"))
    api = ApiServer(slurm)
    client = proxied(slurm, api)
    first = client.nodes()
    assert first is not None
    client.nodes_again(first)
    client.drain(["g-0"], "slinky-iac:dev/gpu: x", 60)
    client.cancel_jobs([17])
    assert client.delete_node("g-0")
    assert {m for m, _, _ in slurm.asked} == {"GET", "POST", "DELETE"}
    assert f"{PROXY}/slurm/v0.0.45/nodes/" in api.paths
    assert "the-kubernetes-token" not in repr(client) + repr(KubeProxy(kubeconfig=KubeSource(content=KUBECONFIG)))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (401, "Unauthorized"),
        (403, 'services "slurm-restapi:6820" is forbidden'),
        (404, 'services "slurm-restapi" not found'),
        (503, 'no endpoints available for service "slurm-restapi"'),
        (502, "error trying to reach service: dial tcp: connection refused"),
    ],
)
def test_what_the_api_server_refuses_is_not_taken_for_slurms_word(code: int, message: str) -> None:
    slurm = FakeSlurm()
    api = ApiServer(slurm)
    api.refusal = status(code, message)
    with pytest.raises(SlurmrestUnreachable, match="service proxy answered") as refused:
        proxied(slurm, api).nodes()
    assert message in str(refused.value)
    assert "Slurm wasn't asked" in str(refused.value)
    assert ("No pod of slurmrestd is ready" in str(refused.value)) == (code == 503)
    assert len(api.paths) == (2 if code in (502, 503) else 1)


def test_slurms_own_401_is_slurms() -> None:
    slurm = FakeSlurm(keys=())
    api = ApiServer(slurm)
    with pytest.raises(SlurmrestAuthError, match="1007"):
        proxied(slurm, api).diag()


def test_a_tls_service_has_its_scheme_in_the_path() -> None:
    slurm = FakeSlurm()
    api = ApiServer(slurm)
    api.refusal = status(404, "gone")
    with pytest.raises(SlurmrestUnreachable):
        proxied(slurm, api, tls=True, port=443).ping()
    assert "/services/https:slurm-restapi:443/proxy/" in api.paths[0]


@pytest.mark.parametrize("where", [{"namespace": "a/b"}, {"service": "../secrets"}, {"namespace": ""}])
def test_names_that_would_address_something_else_are_refused(where: dict[str, str]) -> None:
    slurm = FakeSlurm()
    with pytest.raises(SlurmrestUnreachable, match="RFC 1123"):
        proxied(slurm, ApiServer(slurm), **where)


def test_an_unreadable_kubeconfig_says_what_was_tried(tmp_path: Path) -> None:
    with pytest.raises(SlurmrestUnreachable, match=r"Service slurm/slurm-restapi.*no kubeconfig: tried .*\.kube/config"):
        SlurmrestClient(KubeProxy(), [KEY], connect=KubeConnection(KubeSource(), env={}, home=tmp_path).lead)
