"""A hostile identity provider: its key set is fetched over a real socket, as docs/identity.md says, and read by us.

This program asks no provider itself: what a person has fetched is a file of the project, and as little believed.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from slinky_iac.config.reading.values import values_of
from slinky_iac.errors import ConfigError
from tests.stacks import ROOT
from tests.unit.keys.test_provider import jwk, keys, stack
from tests.unit.slurmrest.test_deadlines import EVIL, serving

Say = Callable[[socket.socket, threading.Event], None]
SECRET = "c2VjcmV0LW9mLXRoZS1wcm92aWRlcg"
FETCH = re.findall(r"^curl (.*) -o realm\.json https://", (ROOT / "docs" / "identity.md").read_text(), re.MULTILINE)


def fetched(url: str, folder: Path, *more: str) -> int:
    """Exit code of the page's own command, but that its host is the test's and speaks plain HTTP."""
    (options,) = FETCH
    words = [word for word in options.split() if word not in ("--proto", "=https")]
    command = ["curl", *words, *more, "-o", str(folder / "idp.json"), url]
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode


def body(content: bytes) -> Say:
    def say(connection: socket.socket, _over: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(content) + content)

    return say


def without_end(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2147483648\r\n\r\n")
    while not over.is_set():
        connection.sendall(b" " * 65536)


def test_the_page_bounds_time_and_size_and_takes_https_alone() -> None:
    (options,) = FETCH
    assert "--proto =https" in options
    assert "--max-time" in options
    assert "--max-filesize" in options


@pytest.mark.parametrize("way", ["silence", "a body in drops", "headers without end"])
def test_a_provider_that_never_ends_is_left(way: str, tmp_path: Path) -> None:
    began = time.monotonic()
    with serving(EVIL[way]) as url:
        assert fetched(url, tmp_path, "--max-time", "1") != 0
    assert time.monotonic() - began < 20


def test_a_provider_that_sends_gigabytes_fills_no_disk(tmp_path: Path) -> None:
    with serving(without_end) as url:
        assert fetched(url, tmp_path) != 0
    assert not (tmp_path / "idp.json").exists() or (tmp_path / "idp.json").stat().st_size < 2_000_000


WRONG = {
    "a page": b"<html>log in</html>",
    "keys of all kinds": json.dumps(keys(jwk(), {"kty": "oct", "k": SECRET, "kid": "s"})).encode(),
    "a private key": json.dumps(keys(jwk(d=SECRET))).encode(),
    "many keys": json.dumps(keys(*(jwk(kid=f"k{number}") for number in range(101)))).encode(),
    "a deep document": b'{"keys":' + b"[" * 100_000,
    "a large one": b'{"keys":[' + b" " * 900_000 + b"]}",
    "a number without end": b'{"keys":[{"kty":"RSA","kid":"a","n":' + b"9" * 100_000 + b',"e":"AQAB"}]}',
    "a modulus of megabits": json.dumps(keys(jwk(n="v" * 400_000))).encode(),
    "nothing": b"",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_it_serves_is_refused_in_a_moment_and_never_quoted(wrong: str, tmp_path: Path) -> None:
    own = stack(tmp_path, keys(jwk()))
    with serving(body(WRONG[wrong])) as url:
        assert fetched(url, tmp_path) == 0
    began = time.process_time()
    with pytest.raises(ConfigError) as caught:
        values_of(own, frozenset({"tokenKey"}))
    assert time.process_time() - began < 2
    assert SECRET not in str(caught.value)
    assert "identity.oidc.jwksFile" in str(caught.value)
