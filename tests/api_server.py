"""A Kubernetes API server in memory, behind real HTTP: objects that a test gives, a slurmrestd, and what was asked."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

Json = dict[str, Any]


def _meta(name: str, created: str, **more: Any) -> Json:
    return {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "creationTimestamp": created} | more


def status(code: int) -> bytes:
    """The API server's own words of a refusal."""
    return json.dumps({"kind": "Status", "message": "no", "code": code}).encode()


@dataclass
class ApiServer:
    """Answers on loopback while it is entered. ``down``: every answer is 503."""

    objects: dict[str, Json] = field(default_factory=dict)
    """By path; a list's path gives its items."""
    asked: list[str] = field(default_factory=list)
    down: bool = False
    slurm: Callable[[httpx.Request], httpx.Response] | None = None
    """What answers behind the service proxy."""
    token: str = ""
    """The one bearer token that is taken; empty: any, and none."""

    def put(self, name: str, entries: Mapping[str, bytes], at: str, created: str = "2026-01-01T00:00:00Z") -> None:
        """A Secret of namespace ``slurm``, its entries written at ``at``."""
        manager = {"manager": "store", "time": at, "fieldsV1": {"f:data": {f"f:{entry}": {} for entry in entries}}}
        self.objects[f"/api/v1/namespaces/slurm/secrets/{name}"] = {
            "metadata": _meta(name, created, managedFields=[manager]),
            "data": {entry: base64.b64encode(raw).decode() for entry, raw in entries.items()},
        }

    def remove(self, name: str) -> None:
        """Take a Secret away."""
        del self.objects[f"/api/v1/namespaces/slurm/secrets/{name}"]

    def pods(self, **created: str) -> None:
        """Pods by name, with the time at which each was made."""
        items = [{"metadata": _meta(name.replace("_", "-"), at)} for name, at in created.items()]
        self.objects["/api/v1/namespaces/slurm/pods"] = {"items": items}

    def kubeconfig(self, folder: Path, user: Json | None = None) -> str:
        """Path of a kubeconfig that leads here."""
        found = {
            "current-context": "one",
            "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self._http.server_address[1]}"}}],
            "users": [{"name": "u", "user": user or {}}],
        }
        file = folder / "kubeconfig"
        file.write_text(json.dumps(found))
        return str(file)

    def __enter__(self) -> ApiServer:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = urlsplit(self.path).path
                outer.asked.append(path)
                _, proxied, rest = self.path.partition("/proxy/")
                if outer.token and self.headers.get("authorization") != f"Bearer {outer.token}":
                    self.reply(401, status(401))
                elif outer.down:
                    self.reply(503, status(503))
                elif proxied and outer.slurm is not None:
                    given = {name: value for name, value in self.headers.items() if name.lower() != "authorization"}
                    said = outer.slurm(httpx.Request("GET", f"http://slurmrestd/{rest}", headers=given))
                    self.reply(said.status_code, said.content)
                else:
                    found = outer.objects.get(path)
                    self.reply(404 if found is None else 200, status(404) if found is None else json.dumps(found).encode())

            def reply(self, code: int, body: bytes) -> None:
                self.send_response(code)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nothing: pytest's output is for failures."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
