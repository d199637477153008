"""A Kubernetes API server in memory, behind real HTTP: objects that a test gives, a slurmrestd, and what was asked."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

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
    page: int = 0
    """Most items of a list in one answer, whatever was asked for; 0: all."""
    delay_s: float = 0.0
    """Seconds that each answer takes."""
    written: list[tuple[str, str]] = field(default_factory=list)
    """Method and path of each write, as it was answered."""
    most_at_once: int = 0
    """Most requests that were under way at one moment."""
    under_way: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

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

    def _answer(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        path = urlsplit(url).path
        _, proxied, rest = url.partition("/proxy/")
        if self.token and headers.get("authorization") != f"Bearer {self.token}":
            return 401, status(401)
        if self.down:
            return 503, status(503)
        if proxied and self.slurm is not None:
            given = {name: value for name, value in headers.items() if name.lower() not in ("authorization", "host")}
            said = self.slurm(httpx.Request(method, f"http://slurmrestd/{rest}", headers=given, content=body))
            return said.status_code, said.content
        found = self.objects.get(path)
        if found is None:
            return 404, status(404)
        if method != "GET":
            return self._write(method, path, found, json.loads(body))
        return 200, json.dumps(self._paged(found, parse_qs(urlsplit(url).query)) if "items" in found else found).encode()

    def _paged(self, found: Json, asked: Mapping[str, list[str]]) -> Json:
        begin = int(asked.get("continue", ["0"])[0])
        end = begin + (self.page or int(asked.get("limit", [str(len(found["items"]))])[0]))
        proceed = {"continue": str(end)} if end < len(found["items"]) else {}
        return {**found, "metadata": proceed, "items": found["items"][begin:end]}

    def _write(self, method: str, path: str, found: Json, change: Json) -> tuple[int, bytes]:
        """A merge patch of annotations or a deletion, of the version that the writer has seen."""
        meta = found["metadata"]
        asked = change["preconditions"] if method == "DELETE" else change["metadata"]
        if any(asked[name] != meta[name] for name in ("uid", "resourceVersion")):
            return 409, status(409)
        if method == "DELETE":
            del self.objects[path]
            return 200, json.dumps(found).encode()
        annotations = meta.setdefault("annotations", {}) | asked.get("annotations", {})
        meta["annotations"] = {name: text for name, text in annotations.items() if text is not None}
        meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)
        return 200, json.dumps(found).encode()

    def _served(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        with self._lock:
            self.asked.append(urlsplit(url).path)
            self.under_way += 1
            self.most_at_once = max(self.most_at_once, self.under_way)
        time.sleep(self.delay_s)
        with self._lock:
            try:
                return self._answer(method, url, body, headers)
            finally:
                self.under_way -= 1
                if method != "GET":
                    self.written.append((method, urlsplit(url).path))

    def __enter__(self) -> ApiServer:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                self.reply(*outer._served(self.command, self.path, body, dict(self.headers.items())))

            do_PATCH = do_POST = do_DELETE = do_GET

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
