"""A destroy with a hostile API server: the gate's deletion ends in time, writes nothing, and shows no credential.

No program runs then: the address is the state's, and whoever answers there is believed as little as anywhere else.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.drain import scale
from slinky_iac.drain.session import open_session
from slinky_iac.drain.settings import DrainPolicy, GateSettings, plain_policy
from slinky_iac.errors import SlinkyError
from tests.unit.drain.test_fields import BASE
from tests.unit.slurmrest.test_deadlines import EVIL, serving

TOKEN = "the-token-of-an-administrator"
BUDGET_S = 0.3
Say = Callable[[socket.socket, threading.Event], None]
NODESET = {
    "apiVersion": "slinky.slurm.net/v1beta1",
    "kind": "NodeSet",
    "metadata": {"name": "hpc-worker-gpu", "namespace": "slurm", "uid": "u", "resourceVersion": "1", "generation": 1},
    "spec": {"replicas": 1, "controllerRef": {"name": "hpc"}},
    "status": {"replicas": 1},
}
WRONG: dict[str, Any] = {
    "a list": {"kind": "NodeSetList", "items": [NODESET]},
    "a status that says all is well": {"kind": "Status", "status": "Success"},
    "another kind": NODESET | {"kind": "Pod"},
    "another name": NODESET | {"metadata": {**NODESET["metadata"], "name": "hpc-worker-cpu"}},
    "no number": NODESET | {"spec": {}},
    "a number as a text": NODESET | {"spec": {"replicas": "none"}},
    "a number below zero": NODESET | {"spec": {"replicas": -1}},
    "nothing": None,
    "a text": "gone",
    "numbers that are none": NODESET | {"spec": {"replicas": 1e300}},
}
"""Answers of 200 to the question for one NodeSet."""


def kubeconfig(folder: Path, url: str) -> str:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
        "clusters": [{"name": "one", "cluster": {"server": url}}],
        "users": [{"name": "one", "user": {"token": TOKEN}}],
    }
    (folder / "kubeconfig").write_text(json.dumps(config))
    return str(folder / "kubeconfig")


def deletion(settings: GateSettings) -> str:
    """Delete as the engine has the gate's class do; what it then says."""
    session = open_session(settings.reach, "urn:x", budget_s=BUDGET_S, tries=2, report=lambda *_, **__: None)
    with session as opened, pytest.raises(SlinkyError) as error:
        scale.tear_down(opened, settings)
    return f"{error.value!r} {error.value}"


def destroyed(folder: Path, say: Say) -> tuple[str, list[bytes], float]:
    """What the deletion says, what it asked for, and how long it took."""
    asked: list[bytes] = []

    def heard(connection: socket.socket, over: threading.Event) -> None:
        asked.append(b"answered")
        say(connection, over)

    with serving(heard) as url:
        settings = GateSettings.from_props({**BASE, "kubeconfig": kubeconfig(folder, url)})
        began = time.monotonic()
        said = deletion(settings)
        return said, asked, time.monotonic() - began


@pytest.mark.parametrize("say", EVIL.values(), ids=EVIL)
def test_a_deletion_ends_in_time_whatever_is_sent(say: Say, tmp_path: Path) -> None:
    said, asked, took = destroyed(tmp_path, say)
    assert asked
    assert took < BUDGET_S + 10  # not without end; a busy machine is slow
    assert TOKEN not in said


def answering(code: int, body: bytes, kind: str = "application/json") -> tuple[ThreadingHTTPServer, list[str]]:
    """A server that answers every question so, and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            asked.append(self.command)
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self.send_response(code)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _answer

        def log_message(self, *_: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler), asked


PAGES = {
    "a page that isn't there": (404, b"<html>Not Found</html>", "text/html"),
    "a proxy's page": (200, b"<html>log in, please: the-token-of-an-administrator</html>", "text/html"),
    "an error with our token": (
        500,
        b'{"kind":"Status","message":"Bearer the-token-of-an-administrator"}',
        "application/json",
    ),
    "nobody": (401, b"{}", "application/json"),
    "deep": (200, b"[" * 100_000, "application/json"),
}
CASES = {name: (200, json.dumps(value).encode(), "application/json") for name, value in WRONG.items()} | PAGES


@pytest.mark.parametrize("case", CASES)
def test_a_deletion_takes_no_wrong_answer_for_a_nodeset_that_is_gone(case: str, tmp_path: Path) -> None:
    server, asked = answering(*CASES[case])
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_address[1]}"
            policy = plain_policy(DrainPolicy(deadline_s=1, poll_s=1))
            settings = GateSettings.from_props({**BASE, "policy": policy, "kubeconfig": kubeconfig(tmp_path, url)})
            began = time.monotonic()
            said = deletion(settings)
            assert time.monotonic() - began < 20
        finally:
            server.shutdown()
            thread.join()
    assert TOKEN not in said
    assert set(asked) <= {"GET"}, "nothing is written or deleted, also where the deadline comes before the first question"
