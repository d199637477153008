"""The key of a client certificate reaches TLS by no file: a SIGKILL at any moment leaves nothing on a disk."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from slinky_iac.errors import KubeUnreachable
from slinky_iac.kube.connection import tls_context
from tests.pki import authority, issued
from tests.stacks import ROOT

WATCH = """
import sys
from pathlib import Path
from slinky_iac.kube.connection import tls_context
cert, key = (Path(name).read_bytes() for name in sys.argv[1:3])
made = []
def watch(event, arguments):
    if event in {"os.mkdir", "os.rename", "os.link", "os.symlink"} or (
        event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    ) or (event == "open" and arguments[2] is not None and arguments[2] & 0o103):
        made.append((event, arguments[:2]))
sys.addaudithook(watch)
for _ in range(50):
    tls_context(ca=None, insecure=True, cert=cert, key=key, where="the test")
print(made)
"""
LOOP = """
import sys
from pathlib import Path
from slinky_iac.kube.connection import tls_context
cert, key = (Path(name).read_bytes() for name in sys.argv[1:3])
print("ready", flush=True)
while True:
    tls_context(ca=None, insecure=True, cert=cert, key=key, where="the test")
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    cert, key = issued(authority(), client="gate").write(tmp_path, "client")
    return str(cert), str(key)


def command(program: str, files: tuple[str, str]) -> list[str]:
    return [sys.executable, "-c", program, *files]


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def test_no_file_and_no_folder_is_made_for_a_client_key(files: tuple[str, str], tmp_path: Path) -> None:
    done = subprocess.run(command(WATCH, files), env=environment(tmp_path), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_sigkill_leaves_nothing_behind(files: tuple[str, str], tmp_path: Path) -> None:
    own = tmp_path / "tmp"
    own.mkdir()
    for _ in range(4):
        with subprocess.Popen(command(LOOP, files), env=environment(own), stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGKILL)
    assert list(own.iterdir()) == []


def test_no_descriptor_stays_open() -> None:
    pair = issued(authority(), client="gate")
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(20):
        tls_context(ca=None, insecure=True, cert=pair.pem, key=pair.key_pem, where="the test")
        with pytest.raises(KubeUnreachable, match="client certificate and key don't fit together"):
            tls_context(ca=None, insecure=True, cert=pair.pem, key=b"no key", where="the test")
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_long_chain_is_read_and_what_no_chain_is_so_long_as_is_refused() -> None:
    ca = authority()
    pair = issued(ca, client="gate")
    context = tls_context(ca=None, insecure=True, cert=pair.pem + 20 * ca.pem, key=pair.key_pem, where="the test")
    assert isinstance(context, ssl.SSLContext)
    with pytest.raises(KubeUnreachable, match="client certificate and key don't fit together"):
        tls_context(ca=None, insecure=True, cert=pair.pem + b"x" * (1 << 20), key=pair.key_pem, where="the test")
