"""slurmrestd behind TLS on loopback: who is believed, what a refusal says, and files that change under a waiting gate."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from slinky_iac.errors import SlurmrestError, SlurmrestUnreachable
from slinky_iac.kube.wire import Retry
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import Direct
from tests.pki import Pair, authority, issued
from tests.unit.slurmrest.fake import KEY, answer

UP = {"hostname": "ctl", "responding": True, "primary": True, "mode": "primary"}


class TlsServer:
    """Answers pings over TLS; ``offer`` changes its certificate for the connections to come."""

    def __init__(self, pair: Pair, folder: Path, clients: Pair | None = None) -> None:
        self.tokens: list[str] = []
        self.peers: list[object] = []
        self.page = b""
        self._folder, self._clients = folder, clients
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def setup(self) -> None:
                self.request = outer.context.wrap_socket(self.request, server_side=True)
                super().setup()

            def finish(self) -> None:
                super().finish()
                self.request.close()

            def do_GET(self) -> None:
                outer.tokens.append(self.headers["X-SLURM-USER-TOKEN"])
                outer.peers.append(self.request.getpeercert())
                body = outer.page or answer(pings=[UP]).content
                self.send_response(400 if outer.page else 200)
                self.send_header("content-type", "text/html" if outer.page else "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                """Quiet."""

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """Refused clients are the point."""

        self.offer(pair)
        self.http = Quiet(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def offer(self, pair: Pair) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pair.write(self._folder, "server"))
        if self._clients is not None:
            (self._folder / "clients.crt").write_bytes(self._clients.pem)
            context.load_verify_locations(self._folder / "clients.crt")
            context.verify_mode = ssl.CERT_REQUIRED
        self.context = context

    def url(self, host: str = "127.0.0.1", scheme: str = "https") -> str:
        return f"{scheme}://{host}:{self.http.server_address[1]}"

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self._thread.join(5)


Serve = Callable[..., TlsServer]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    started: list[TlsServer] = []

    def start(pair: Pair, clients: Pair | None = None) -> TlsServer:
        folder = tmp_path / f"server-{len(started)}"
        folder.mkdir()
        started.append(TlsServer(pair, folder, clients))
        return started[-1]

    yield start
    for server in started:
        server.close()


@pytest.fixture(scope="module")
def ca() -> Pair:
    return authority()


def trusting(folder: Path, ca: Pair, name: str = "ca") -> Path:
    return ca.write(folder, name)[0]


def client_of(url: str, ca_file: Path, *pair: Path) -> SlurmrestClient:
    return SlurmrestClient(Direct(url, ca_file, *pair), [KEY], retry=Retry(tries=1))


def refusal(url: str, ca_file: Path, *pair: Path) -> str:
    with client_of(url, ca_file, *pair) as client, pytest.raises(SlurmrestUnreachable) as refused:
        client.ping()
    return str(refused.value)


def test_the_token_goes_to_a_server_that_the_ca_file_vouches_for(serve: Serve, ca: Pair, tmp_path: Path) -> None:
    server = serve(issued(ca, "127.0.0.1"))
    with client_of(server.url(), trusting(tmp_path, ca)) as client:
        assert client.ping().pings[0].hostname == "ctl"
    assert len(server.tokens) >= 1


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("another CA", ("is signed by none of the authorities in", "ca.crt", "caFile")),
        ("expired", ("has expired", "renew it there")),
        ("another name", ("for other names", "127.0.0.1", "the host in the URL")),
    ],
)
def test_no_token_reaches_a_server_that_is_not_believed(
    serve: Serve, ca: Pair, tmp_path: Path, fault: str, words: tuple[str, ...]
) -> None:
    pair = {
        "another CA": issued(authority("somebody else's"), "127.0.0.1"),
        "expired": issued(ca, "127.0.0.1", days=-1),
        "another name": issued(ca, "slurmrestd.example.org"),
    }[fault]
    server = serve(pair)
    said = refusal(server.url(), trusting(tmp_path, ca))
    assert [word for word in words if word not in said] == [], said
    assert server.tokens == []


def test_a_server_without_tls_at_an_https_url_is_named_as_such(tmp_path: Path, ca: Pair) -> None:
    class Plain(BaseHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            """Quiet."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Plain)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        said = refusal(f"https://127.0.0.1:{http.server_address[1]}", trusting(tmp_path, ca))
    finally:
        http.shutdown()
        http.server_close()
        thread.join(5)
    assert "what answers there speaks no TLS" in said


def test_the_client_certificate_is_shown_to_a_server_that_asks(serve: Serve, ca: Pair, tmp_path: Path) -> None:
    server = serve(issued(ca, "127.0.0.1"), clients=ca)
    mine = issued(ca, client="gates").write(tmp_path, "gates")
    with client_of(server.url(), trusting(tmp_path, ca), *mine) as client:
        client.ping()
    assert "gates" in str(server.peers[0])


@pytest.mark.parametrize("mine", ["none", "of another CA", "expired"])
def test_a_refused_client_certificate_is_told_with_its_setting(serve: Serve, ca: Pair, tmp_path: Path, mine: str) -> None:
    server = serve(issued(ca, "127.0.0.1"), clients=ca)
    given = {
        "none": (),
        "of another CA": issued(authority("somebody else's"), client="gates").write(tmp_path, "gates"),
        "expired": issued(ca, client="gates", days=-1).write(tmp_path, "gates"),
    }[mine]
    said = refusal(server.url(), trusting(tmp_path, ca), *given)
    assert "clientCertFile" in said, said
    assert ("demands a client certificate" if mine == "none" else "refused the client certificate") in said, said
    assert server.tokens == []


@pytest.mark.parametrize(
    ("page", "mine", "words"),
    [
        ("No required SSL certificate was sent", False, "demands a client certificate: set clientCertFile"),
        ("The SSL certificate error", True, "refused the client certificate"),
        ("Request Header Or Cookie Too Large", True, "HTTP 400"),
    ],
)
def test_what_nginx_says_by_a_page_is_told_alike(
    serve: Serve, ca: Pair, tmp_path: Path, page: str, mine: bool, words: str
) -> None:
    """nginx finishes the handshake with any client, and refuses it afterwards (watched on the lab)."""
    server = serve(issued(ca, "127.0.0.1"))
    server.page = f"<html><center>{page}</center></html>".encode()
    given = issued(ca, client="gates").write(tmp_path, "gates") if mine else ()
    with client_of(server.url(), trusting(tmp_path, ca), *given) as client, pytest.raises(SlurmrestError, match=words):
        client.ping()


def test_certificates_that_are_replaced_are_used_from_the_next_call_on(serve: Serve, ca: Pair, tmp_path: Path) -> None:
    """A gate waits for hours with one client: the server's CA and its own certificate may both change meanwhile."""
    later = authority("the next authority")
    server = serve(issued(ca, "127.0.0.1"), clients=ca)
    ca_file = trusting(tmp_path, ca)
    mine = issued(ca, client="old-gate").write(tmp_path, "gate")
    with client_of(server.url(), ca_file, *mine) as client:
        client.ping()
        server._clients = later
        server.offer(issued(later, "127.0.0.1"))
        with pytest.raises(SlurmrestUnreachable, match="signed by none"):
            client.ping()
        trusting(tmp_path, later)
        issued(later, client="new-gate").write(tmp_path, "gate")
        assert client.ping().pings[0].hostname == "ctl"
    assert "new-gate" in str(server.peers[-1])


def test_files_caught_between_two_writes_cost_one_call_and_not_the_client(serve: Serve, ca: Pair, tmp_path: Path) -> None:
    server = serve(issued(ca, "127.0.0.1"), clients=ca)
    ca_file = trusting(tmp_path, ca)
    crt, key = issued(ca, client="gate").write(tmp_path, "gate")
    with client_of(server.url(), ca_file, crt, key) as client:
        client.ping()
        whole = ca_file.read_bytes()
        ca_file.write_bytes(b"")
        with pytest.raises(SlurmrestUnreachable, match=r"ca\.crt"):
            client.ping()
        ca_file.write_bytes(whole)
        crt.write_bytes(issued(ca, client="gate").pem)
        with pytest.raises(SlurmrestUnreachable, match="don't fit"):
            client.ping()
        issued(ca, client="gate").write(tmp_path, "gate")
        assert client.ping().pings


@pytest.mark.parametrize("missing", ["gate.crt", "gate.key", "ca.crt"])
def test_a_file_that_is_not_there_is_named_before_anything_is_sent(
    serve: Serve, ca: Pair, tmp_path: Path, missing: str
) -> None:
    server = serve(issued(ca, "127.0.0.1"), clients=ca)
    ca_file = trusting(tmp_path, ca)
    mine = issued(ca, client="gate").write(tmp_path, "gate")
    (tmp_path / missing).unlink()
    with pytest.raises(SlurmrestUnreachable, match=missing):
        client_of(server.url(), ca_file, *mine)


def test_no_key_stands_in_any_message(serve: Serve, ca: Pair, tmp_path: Path) -> None:
    server = serve(issued(ca, "127.0.0.1"), clients=ca)
    pair = issued(authority("somebody else's"), client="gate")
    said = refusal(server.url(), trusting(tmp_path, ca), *pair.write(tmp_path, "gate"))
    body = pair.key_pem.decode().splitlines()[1]
    assert body not in said
