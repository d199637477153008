"""No token of Slurm's or Kubernetes' crosses a network in plain HTTP: the bytes that leave are looked at."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from slinky_iac.addresses import in_clear
from slinky_iac.errors import SlinkyError, SlurmrestUnreachable
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.connection import KubeTransport
from slinky_iac.kube.kubeconfig import KubeAccess, KubeSource, KubeUser
from slinky_iac.kube.sockets import SocketTransport
from slinky_iac.kube.wire import Clock, Retry
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import Direct, KubeProxy

TOKEN = "a-token-that-is-worth-root"
AWAY = "http://away.example.org:6820"
"""Another host: the tests' proxy answers for it, so all bytes that would cross the network are seen."""


class Network:
    """A proxy on loopback that keeps what it is sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.sent.append(f"{self.path} {self.headers}")
                self.send_response(404)
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                """Nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    @property
    def proxy(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join(5)


@pytest.fixture
def network() -> Iterator[Network]:
    made = Network()
    yield made
    made.close()


@pytest.mark.parametrize("header", ["X-SLURM-USER-TOKEN", "Authorization"])
def test_a_token_does_not_leave_for_another_host_in_plain_http(network: Network, header: str) -> None:
    with httpx.Client(transport=SocketTransport(None, network.proxy)) as client:
        with pytest.raises(httpx.UnsupportedProtocol, match=r"nothing was sent. Use an https") as caught:
            client.get(AWAY, headers={header: TOKEN})
        assert client.get(AWAY).status_code == 404
    assert TOKEN not in str(caught.value)
    assert len(network.sent) == 1
    assert TOKEN not in network.sent[0]


def test_where_the_settings_accept_it_a_token_goes(network: Network) -> None:
    with httpx.Client(transport=SocketTransport(None, network.proxy, plain_http=True)) as client:
        client.get(AWAY, headers={"X-SLURM-USER-TOKEN": TOKEN})
    assert TOKEN in network.sent[0]


def test_a_client_of_slurmrestd_refuses_at_once_and_says_what_to_do() -> None:
    pauses: list[float] = []
    clock = Clock(sleep=pauses.append)
    with SlurmrestClient(Direct(AWAY), [b"a key"], clock=clock, retry=Retry(tries=4)) as client:
        with pytest.raises(SlurmrestUnreachable, match="allowPlainHttp") as caught:
            client.ping()
        with pytest.raises(SlurmrestUnreachable) as written:
            client.submit_job("#!/bin/sh", {})
    assert pauses == []
    assert "in plain http" in str(caught.value)
    assert "may have been done" not in str(written.value)


def test_credentials_of_an_api_server_stay_off_plain_http_too(network: Network) -> None:
    user = KubeUser(token=TOKEN)
    access = KubeAccess(AWAY, None, False, None, network.proxy, "default", user, "the test")
    transport = KubeTransport(access, clock=Clock())
    with KubeClient(access, transport=transport) as client, pytest.raises(SlinkyError, match="in plain http"):
        client.release()
    slurm = KubeProxy(KubeSource(), "slurm", "slurm-restapi")
    with (
        SlurmrestClient(slurm, [b"a key"], connect=lambda _: (access, KubeTransport(access, clock=Clock()))) as rest,
        pytest.raises(SlurmrestUnreachable, match="in plain http"),
    ):
        rest.ping()
    assert network.sent == []


LOOPBACK = ["http://127.0.0.1:1", "http://127.9.8.7", "http://localhost:6820", "http://[::1]:6820/p"]
AWAYS = [
    "http://0.0.0.0",
    "http://127.1",
    "http://127.0.0.1.example.org",
    "http://localhost.example.org",
    "http://192.0.2.7",
]


@pytest.mark.parametrize("url", [*LOOPBACK, "https://192.0.2.7", "https://away.example.org"])
def test_this_machine_and_tls_are_not_in_clear(url: str) -> None:
    assert not in_clear(url)


@pytest.mark.parametrize("url", [*AWAYS, "http://[2001:db8::1]:6820", "ftp://localhost.", ""])
def test_every_other_host_is_in_clear(url: str) -> None:
    assert in_clear(url)
