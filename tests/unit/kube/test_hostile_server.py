"""A hostile API server, or a proxy before it: every call ends in time and in size, and no credential goes elsewhere."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable

import httpx
import pytest

from slinky_iac.errors import KubeError, KubeUnreachable, SlurmrestUnreachable
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.kubeconfig import KubeAccess, KubeUser
from slinky_iac.kube.pods import hosts_of
from slinky_iac.kube.requests import LIST_TIMES
from slinky_iac.kube.wire import Clock, Retry
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import Direct
from slinky_iac.slurmrest.tls import Files, served_until
from tests.unit.kube.test_client import a_nodeset, pod_body
from tests.unit.slurmrest.test_deadlines import EVIL, serving

TOKEN = "the-token-of-an-administrator"
BUDGET_S = 0.2
Call = Callable[[KubeClient], object]
CALLS: dict[str, Call] = {
    "release": lambda kube: kube.release(),
    "pods": lambda kube: kube.pods_of("slurm", a_nodeset()),
    "secret": lambda kube: kube.secret("slurm", "x"),
    "login pods": lambda kube: hosts_of(kube, "slurm", "x"),
    "a write": lambda kube: kube.write_config_map("slurm", "x", None, {"a": "b"}),
}


def client(url: str, *, budget_s: float = 20.0) -> KubeClient:
    access = KubeAccess(url, None, False, None, None, "default", KubeUser(token=TOKEN), "the test")
    return KubeClient(access, budget_s=budget_s, retry=Retry(tries=2, first_s=0.01))


def once(*answers: bytes) -> Callable[[socket.socket, threading.Event], None]:
    def say(connection: socket.socket, _over: threading.Event) -> None:
        for each in answers:
            connection.sendall(each)

    return say


@pytest.mark.parametrize("say", EVIL.values(), ids=EVIL)
def test_every_way_to_drip_ends_with_the_call(say: Callable[[socket.socket, threading.Event], None]) -> None:
    with serving(say) as url, client(url, budget_s=BUDGET_S) as kube:
        began = time.monotonic()
        with pytest.raises(KubeUnreachable, match="no answer"):
            kube.release()
        assert time.monotonic() - began < BUDGET_S + 10  # not without end; a busy machine is slow


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("name", CALLS)
def test_a_redirect_takes_no_credential_to_another_host(name: str, status: int) -> None:
    asked: list[bytes] = []

    def other(connection: socket.socket, _over: threading.Event) -> None:
        asked.append(b"asked")
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    with serving(other) as elsewhere:
        head = f"HTTP/1.1 {status} X\r\nlocation: {elsewhere}/api\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        with serving(once(head.encode())) as url, client(url) as kube, pytest.raises(KubeError) as error:
            CALLS[name](kube)
    assert asked == []
    assert TOKEN not in str(error.value)


@pytest.mark.parametrize("name", CALLS)
def test_a_compressed_answer_is_not_opened(name: str) -> None:
    bomb = gzip.compress(b" " * 10_000_000)
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(bomb)
    with serving(once(head, bomb)) as url, client(url) as kube, pytest.raises(KubeUnreachable, match="compressed"):
        CALLS[name](kube)


@pytest.mark.parametrize("name", ["release", "pods"])
def test_an_answer_of_two_gigabytes_is_left_after_what_is_held_in_memory(name: str) -> None:
    sent = []

    def say(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2147483648\r\n\r\n")
        block = b" " * (1 << 20)
        while not over.is_set() and len(sent) < 2048:
            connection.sendall(block)
            sent.append(len(block))

    with serving(say) as url, client(url, budget_s=60) as kube, pytest.raises(KubeUnreachable, match="over 67108864 bytes"):
        CALLS[name](kube)
    assert sum(sent) < 80 << 20


@pytest.mark.parametrize("kind", ["text/html", "application/octet-stream", "", "application/vnd.kubernetes.protobuf"])
@pytest.mark.parametrize("body", [b"<html>log in here</html>", b"\x00\x01", b"[]", b'"x"', b"{" * 50_000])
def test_what_is_no_answer_of_kubernetes_is_said_to_be_none(kind: str, body: bytes) -> None:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    for name in ("release", "pods", "secret", "login pods"):
        with serving(once(head.encode(), body)) as url, client(url) as kube, pytest.raises(KubeError):
            CALLS[name](kube)


@pytest.mark.parametrize("gone", [False, True], ids=["pages without end", "a snapshot that is always gone"])
def test_a_list_without_an_end_ends(gone: bool) -> None:
    """Each answer comes at once, so no bound of one call holds."""
    now = [0.0]
    asked: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        now[0] += 0.5
        asked.append(request.url.params.get("continue", ""))
        if gone and asked[-1]:
            return httpx.Response(410, json={"kind": "Status", "message": "expired", "code": 410})
        page = {"metadata": {"continue": f"page-{len(asked)}"}, "items": [pod_body(0)]}
        return httpx.Response(200, content=json.dumps(page).encode())

    clock = Clock(monotonic=lambda: now[0], sleep=lambda _s: None)
    access = KubeAccess("https://api", None, True, None, None, "default", KubeUser(token=TOKEN), "the test")
    kube = KubeClient(access, clock=clock, budget_s=10, transport=httpx.MockTransport(handle))
    with kube, pytest.raises(KubeUnreachable, match=r"is not whole after 40 s"):
        kube.pods_of("slurm", a_nodeset())
    assert len(asked) <= LIST_TIMES * 10 / 0.5 + 2


def test_a_handshake_that_never_comes_ends() -> None:
    with serving(EVIL["silence"]) as url:
        began = time.monotonic()
        with pytest.raises(OSError, match="timed out"):
            served_until(url.replace("http:", "https:"), Files(), 0.3)
        slurm = SlurmrestClient(Direct(url.replace("http:", "https:")), [b"a key"], budget_s=0.3)
        with slurm, pytest.raises(SlurmrestUnreachable, match="no answer"):
            slurm.ping()
        assert time.monotonic() - began < 20
