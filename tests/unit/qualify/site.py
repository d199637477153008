"""A site to attack: a project's folder, a `pulumi` that writes down how it was called, and an API server on a socket."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from slinky_iac.commands.qualify import cli

PULUMI = """#!/bin/sh
echo "$@" >> "$SEEN"
env | grep -E '^(PULUMI_|SLINKY_|KUBECONFIG)' | sort >> "$SEEN"
[ "$1" = stack ] && echo 'encryptionsalt: v1:abc' > Pulumi.qualify.yaml
wait_for_it() { i=0; while [ $i -lt 600 ]; do sleep 0.05; i=$((i + 1)); done; }
[ -f "$ACTS/$1" ] && . "$ACTS/$1"
exit 0
"""
SETTINGS = """config:
  slinky-iac:cluster:
    name: prod
    slurmVersion: "26.05"
    images: {slurmctld: "site/slurm:26.05", slurmrestd: "site/slurm:26.05", slurmd: "site/slurm:26.05"}
"""
KUBECONFIG = """current-context: test
contexts:
- {{name: test, context: {{cluster: test, user: me}}}}
- {{name: other, context: {{cluster: other, user: me}}}}
clusters:
- {{name: test, cluster: {{server: "{test}"}}}}
- {{name: other, cluster: {{server: "{other}"}}}}
users:
- {{name: me, user: {{}}}}
"""


@contextmanager
def taking(sign: signal.Signals, handler: Callable[..., object] | signal.Handlers) -> Iterator[None]:
    """A signal that is taken so, also where these tests inherit that it is ignored."""
    before = signal.signal(sign, handler)
    yield
    signal.signal(sign, before)


class Site:
    """A project's folder and the user's kubeconfig."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder, self.acts = root, root / "site", root / "acts"
        for each in (self.folder, self.acts, root / "bin"):
            each.mkdir()
        (self.folder / "Pulumi.yaml").write_text("name: prod\nruntime: python\n")
        (self.folder / "__main__.py").write_text("cluster = hybrid_cluster()\n")
        self.config = self.folder / "Pulumi.prod.yaml"
        self.config.write_text(SETTINGS)
        pulumi = root / "bin" / "pulumi"
        pulumi.write_text(PULUMI)
        pulumi.chmod(0o755)

    @property
    def seen(self) -> str:
        """How `pulumi` was called."""
        file = self.root / "seen"
        return file.read_text() if file.exists() else ""

    @property
    def ladders(self) -> Path:
        """The ladder's folder."""
        return self.folder / ".slinky-qualify"

    def kubeconfig(self, *, test: str, other: str = "http://127.0.0.1:1") -> None:
        """Write the user's kubeconfig."""
        (self.root / "kubeconfig").write_text(KUBECONFIG.format(test=test, other=other))

    def act(self, command: str, script: str) -> None:
        """What `pulumi` does when it is called with this command."""
        (self.acts / command).write_text(script)

    def run(self, *arguments: str) -> int:
        """`slinky qualify` of two nodes."""
        parser = argparse.ArgumentParser()
        cli.add_arguments(parser)
        return cli.run(parser.parse_args(["--config", "Pulumi.prod.yaml", "--nodes", "2", *arguments]))


@contextmanager
def listening(handle: Callable[[httpx.Request], httpx.Response]) -> Iterator[str]:
    """The address of a server that answers as ``handle`` does."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            found = handle(httpx.Request(self.command, f"http://api{self.path}", content=body))
            self.send_response(found.status_code)
            self.send_header("content-length", str(len(found.content)))
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(found.content)

        do_GET = do_POST = do_DELETE = do_PATCH = do_PUT = answer

        def log_message(self, *_: object) -> None:
            """Nothing to the test's output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def made(root: Path, monkeypatch: pytest.MonkeyPatch, *, test: str, other: str) -> Site:
    """A site whose kubeconfig has a test cluster, which is the current one, and another."""
    site = Site(root)
    site.kubeconfig(test=test, other=other)
    monkeypatch.setenv("PATH", f"{root / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("SEEN", str(root / "seen"))
    monkeypatch.setenv("ACTS", str(site.acts))
    monkeypatch.setenv("KUBECONFIG", "../kubeconfig")
    monkeypatch.chdir(site.folder)
    return site
