"""A real server on loopback that misbehaves in every way we thought of: what comes out is always an error of ours."""

from __future__ import annotations

import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slinky_iac.errors import SlinkyError, SlurmrestGarbage, SlurmrestUnreachable
from slinky_iac.kube.wire import Clock, Retry, Timeouts
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.drains import Outcome
from slinky_iac.slurmrest.endpoints import Direct
from slinky_iac.slurmrest.lists import NodesAnswer
from slinky_iac.slurmrest.objects import Node
from tests.made.rows import job, node
from tests.unit.examples import examples
from tests.unit.slurmrest.fake import KEY, FakeSlurm, answer, error

Reply = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """Replies with ``reply``; pings are always answered well, so that faults hit the call under test."""

    def __init__(self) -> None:
        self.reply: Reply = lambda handler: None
        self.slurm = FakeSlurm()
        self.seen: list[str] = []
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                length = int(self.headers.get("content-length", "0"))
                self.rfile.read(length)
                outer.seen.append(f"{self.command} {self.path}")
                if self.path.endswith("/ping/"):
                    up = {"hostname": "ctl", "responding": True, "primary": True, "mode": "primary"}
                    send(self, 200, answer(pings=[up]).content)
                    return
                outer.reply(self)

            do_GET = do_POST = do_DELETE = handle_one

            def log_message(self, *arguments: object) -> None:
                """Nothing: pytest's output is for failures."""

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, request: object, client_address: object) -> None:
                """Clients that give up are what these tests are about."""

        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def close(self) -> None:
        self.released.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join(5)


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, kind: str = "application/json") -> None:
    handler.send_response(status)
    handler.send_header("content-type", kind)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture(scope="module")
def served() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def server(served: Server) -> Server:
    served.seen.clear()
    served.released = threading.Event()
    return served


@contextmanager
def client_of(url: str, *, tries: int = 2, read_s: float = 0.3, budget_s: float = 20.0) -> Iterator[SlurmrestClient]:
    with SlurmrestClient(
        Direct(url, plain_http=True),
        [KEY],
        clock=Clock(sleep=lambda seconds: None),
        timeouts=Timeouts(connect_s=1, read_s=read_s, write_s=1),
        retry=Retry(tries=tries),
        budget_s=budget_s,
    ) as client:
        yield client


def looked_at(*names: str) -> NodesAnswer:
    """A look from before the network broke."""
    slurm = FakeSlurm().add(*(node(n) for n in names))
    found = slurm.client().nodes()
    assert found is not None
    return found


def test_nobody_listens() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with client_of(url, tries=3) as client, pytest.raises(SlurmrestUnreachable, match=r"refused.*3 tries"):
            client.nodes()


def test_a_name_that_does_not_exist() -> None:
    with (
        client_of("http://slurmrestd.invalid:6820") as client,
        pytest.raises(SlurmrestUnreachable, match="the name isn't known here"),
    ):
        client.ping()


def test_a_server_that_hangs_is_left_in_time_and_asked_again(server: Server) -> None:
    server.reply = lambda handler: (server.released.wait(10), None)[1]
    start = time.monotonic()
    with (
        client_of(server.url, read_s=0.1) as client,
        pytest.raises(SlurmrestUnreachable, match=r"no answer in time.*2 tries"),
    ):
        client.diag()
    server.released.set()
    assert time.monotonic() - start < 5
    assert sum("/diag/" in line for line in server.seen) == 2


def test_an_answer_that_drips_is_left_when_the_whole_calls_time_is_over(server: Server) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "1000000")
        handler.end_headers()
        while not server.released.wait(0.02):
            handler.wfile.write(b" ")

    server.reply = drip
    start = time.monotonic()
    late = r"(call is|time was) over"
    with client_of(server.url, budget_s=0.2) as client, pytest.raises(SlurmrestUnreachable, match=late):
        client.nodes()
    server.released.set()
    assert time.monotonic() - start < 5


def test_a_connection_cut_in_the_middle_of_the_body(server: Server) -> None:
    def cut(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"nodes": [')
        handler.close_connection = True

    server.reply = cut
    with client_of(server.url) as client, pytest.raises(SlurmrestUnreachable, match="peer closed connection"):
        client.nodes()


def test_a_lost_answer_to_an_update_is_not_repeated_but_looked_after(server: Server) -> None:
    """The POST was carried out, its answer was lost: one POST, one look, and the outcome is what the look shows."""
    seen = looked_at("g-0", "g-1")
    reason = "slinky-iac:dev/gpu: x"

    def lose(handler: BaseHTTPRequestHandler) -> None:
        if handler.command == "POST":
            handler.close_connection = True
        else:
            rows = [node("g-0", "IDLE", "DRAIN", reason=reason), node("g-1")]
            send(handler, 200, answer(nodes=rows, last_update={"number": 1}).content)

    server.reply = lose
    with client_of(server.url) as client:
        result = client.drain(["g-0", "g-1"], reason, seen=seen)
    assert result.names(Outcome.DONE) == ("g-0",)
    assert result.names(Outcome.UNKNOWN) == ("g-1",)
    assert sum(line.startswith("POST") for line in server.seen) == 1


def test_when_the_look_afterwards_fails_too_everything_is_unknown(server: Server) -> None:
    server.reply = lambda handler: setattr(handler, "close_connection", True)
    with client_of(server.url) as client:
        result = client.drain(["g-0"], "slinky-iac:dev/gpu: x", seen=looked_at("g-0"))
    assert result.names(Outcome.UNKNOWN) == ("g-0",)
    assert len(result.errors) == 2


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxys_error_page_is_trouble_that_passes(server: Server, status: int) -> None:
    server.reply = lambda handler: send(handler, status, b"<html><h1>Bad Gateway</h1></html>", "text/html")
    with client_of(server.url) as client, pytest.raises(SlurmrestUnreachable, match="proxy"):
        client.nodes()
    assert sum("/nodes/" in line for line in server.seen) == 2


def test_trouble_that_passed_is_forgotten(server: Server) -> None:
    replies = [lambda h: send(h, 502, answer(502, [error(1800)]).content)] * 2
    good = answer(nodes=[node("g-0")], last_update={"number": 1}).content
    server.reply = lambda handler: replies.pop()(handler) if replies else send(handler, 200, good)
    with client_of(server.url, tries=3) as client:
        found = client.nodes()
    assert found is not None
    assert [n.name for n in found.nodes] == ["g-0"]


def test_what_slurm_said_is_told_although_it_fell_silent_later(server: Server) -> None:
    """slurmrestd waits ten seconds for slurmctld before it says who is missing; the next try then finds no time."""
    down = [answer(502, [error(1800, "Unable to contact slurm controller")]).content]

    def reply(handler: BaseHTTPRequestHandler) -> None:
        if down:
            send(handler, 502, down.pop())
        else:
            server.released.wait(10)

    server.reply = reply
    with client_of(server.url, budget_s=0.6) as client, pytest.raises(SlurmrestUnreachable, match="can't reach slurmctld"):
        client.nodes()
    server.released.set()


@pytest.mark.parametrize("status", [301, 302, 307])
def test_a_redirect_is_not_followed_and_takes_no_token_along(server: Server, status: int) -> None:
    def redirect(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("location", f"{server.url}/elsewhere")
        handler.send_header("content-length", "0")
        handler.end_headers()

    server.reply = redirect
    with client_of(server.url) as client, pytest.raises(SlurmrestGarbage, match="redirect"):
        client.nodes()
    assert not any("elsewhere" in line for line in server.seen)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "isn't what Slurm documents"),
        (b"not json", "isn't what Slurm documents"),
        (b"<html>a captive portal</html>", "isn't what Slurm documents"),
        (b"[" * 100_000, "isn't what Slurm documents"),
        (b'{"nodes": null, "errors": [], "last_update": {}}', "nodes"),
        (b'{"nodes": [], "last_update": {}}', "errors"),
        (b'{"nodes": [{}], "errors": [], "last_update": {}}', "without a readable name"),
        (b"\xff\xfe\x00", "isn't what Slurm documents"),
        (b'{"nodes": [], "errors": [], "last_update": {"number": 1' + b"0" * 5000 + b"}}", "out of range"),
    ],
)
def test_garbage_with_status_200_is_no_answer(server: Server, body: bytes, said: str) -> None:
    server.reply = lambda handler: send(handler, 200, body)
    with client_of(server.url) as client, pytest.raises(SlurmrestGarbage, match=said):
        client.nodes(allow_none=True)


def test_an_answer_too_large_to_hold_is_dropped(server: Server) -> None:
    server.reply = lambda handler: send(handler, 200, b" " * ((1 << 20) + 1))
    with client_of(server.url, tries=1, read_s=2) as client:
        for call in (client.diag, client.nodes, client.jobs):
            with pytest.raises(SlurmrestUnreachable, match=r"over 1048576 bytes|1048576 bytes of it are in no row"):
                call()


def test_compressed_bombs_are_not_opened(server: Server) -> None:
    def gzip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-encoding", "gzip")
        handler.send_header("content-length", "4")
        handler.end_headers()
        handler.wfile.write(b"\x1f\x8b\x08\x00")

    server.reply = gzip
    with client_of(server.url) as client, pytest.raises(SlurmrestUnreachable, match="compressed"):
        client.nodes()


raw_answers = st.one_of(
    st.binary(max_size=300),
    st.builds(
        lambda status, kind, body: (
            b"HTTP/1.1 %d X\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n%s" % (status, kind, len(body), body)
        ),
        st.integers(100, 999),
        st.sampled_from([b"application/json", b"text/html", b"", b"\xff"]),
        st.binary(max_size=200)
        | st.sampled_from(
            [
                answer(nodes=[node("g-0")], last_update={"number": 1}).content,
                answer(jobs=[job(1)], last_update={"number": 1}).content,
                answer(500, [error(2018)]).content,
                b'{"kind":"Status","message":"no endpoints available"}',
                b'{"errors":[{"error_number":1800}]}',
                b"{}",
            ]
        ),
    ),
)


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=raw_answers)
def test_any_bytes_give_a_value_or_an_error_of_ours_and_never_the_token(server: Server, raw: bytes) -> None:
    sent: list[str] = []

    def reply(handler: BaseHTTPRequestHandler) -> None:
        sent.append(handler.headers["X-SLURM-USER-TOKEN"])
        handler.wfile.write(raw)
        handler.close_connection = True

    server.reply = reply
    with client_of(server.url, tries=1, read_s=0.2) as client:
        try:
            found = client.nodes()
            shown = repr(found)
            assert found is not None
            assert all(isinstance(n, Node) for n in found.nodes)
        except SlinkyError as raised:
            shown = "".join(traceback.format_exception(raised)) + repr(raised) + repr(client)
    assert not any(token in shown for token in sent)
    assert KEY.decode("latin-1") not in shown


def test_a_certificate_nobody_vouches_for_and_a_ca_file_that_is_none(server: Server, tmp_path: Path) -> None:
    with (
        client_of(server.url.replace("http:", "https:")) as client,
        pytest.raises(SlurmrestUnreachable, match="no TLS"),
    ):
        client.ping()
    bad = tmp_path / "ca.pem"
    bad.write_text("no PEM")
    for ca in (bad, tmp_path / "absent.pem"):
        with pytest.raises(SlurmrestUnreachable, match=ca.name):
            SlurmrestClient(Direct("https://rest:6820", ca), [KEY])


@pytest.mark.parametrize(
    "url", ["", "rest:6820", "ftp://rest", "http://", "http://u:p@rest", "http://rest?a=b", "http://[::1"]
)
def test_a_url_that_cannot_be_used_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(SlurmrestUnreachable, match="URL can't be used") as refused:
        SlurmrestClient(Direct(url), [KEY])
    assert "u:p" not in str(refused.value)
