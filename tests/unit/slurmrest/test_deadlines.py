"""The time given for a whole call holds whatever a server sends, and however slowly."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from slinky_iac.errors import SlurmrestUnreachable
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import Direct
from tests.unit.slurmrest.fake import answer

BUDGET_S = 0.4
Say = Callable[[socket.socket, threading.Event], None]


def _drip(start: bytes, again: bytes) -> Say:
    """``start``, and then ``again`` for as long as somebody listens."""

    def say(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(start)
        while not over.wait(0.05):
            connection.sendall(again)

    return say


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
EVIL = {
    "one byte of a header now and then": _drip(HEAD + b"x-long: ", b"a"),
    "headers without end": _drip(HEAD, b"x: y\r\n"),
    "a status line in drops": _drip(b"HTTP/1.1 ", b"2"),
    "interim answers without end": _drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a chunk's extension without end": _drip(HEAD + b"transfer-encoding: chunked\r\n\r\n5;", b"ext=1;"),
    "a chunk's size in drops": _drip(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"0"),
    "a body in drops": _drip(HEAD + b"content-length: 1000000\r\n\r\n", b" "),
    "trailers without end": _drip(HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\n", b"x: y\r\n"),
    "silence": _drip(b"", b""),
}


@contextmanager
def serving(say: Say, ping: bytes | None = None) -> Iterator[str]:
    """A server that says the same on each connection, but answers a ping if the test says how."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def one(connection: socket.socket) -> None:
            with connection:
                try:
                    asked = connection.recv(65536)
                    if ping is not None and b"/ping/ " in asked:
                        connection.sendall(ping)
                    else:
                        say(connection, over)
                except OSError:
                    return

        def serve() -> None:
            while not over.is_set():
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                threading.Thread(target=one, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            over.set()
            listening.shutdown(socket.SHUT_RDWR)  # ends the wait for the next connection at once
            thread.join(5)


@pytest.mark.parametrize("say", EVIL.values(), ids=EVIL)
def test_a_call_to_slurmrestd_ends_in_time(say: Say) -> None:
    with serving(say) as url, SlurmrestClient(Direct(url), [b"a key"], budget_s=BUDGET_S) as client:
        began = time.monotonic()
        with pytest.raises(SlurmrestUnreachable, match="no answer"):
            client.ping()
        assert time.monotonic() - began < BUDGET_S + 1


@pytest.mark.parametrize("name", ["one byte of a header now and then", "a chunk's extension without end", "a body in drops"])
def test_the_long_lists_are_waited_for_as_long_as_the_call_may_take_and_no_longer(name: str) -> None:
    up = answer(pings=[{"hostname": "ctl", "responding": True, "primary": True, "mode": "primary"}]).content
    ping = b"%sconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (HEAD, len(up), up)
    with serving(EVIL[name], ping) as url, SlurmrestClient(Direct(url), [b"a key"], budget_s=30) as client:
        client.ping()
        for ask in (client.nodes, client.jobs):
            began = time.monotonic()
            with pytest.raises(SlurmrestUnreachable, match="no answer"):
                ask(budget_s=BUDGET_S)
            assert time.monotonic() - began < 2
