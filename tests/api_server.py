"""A Kubernetes API server in memory, behind real HTTP: Secrets and pods that a test gives, and what was asked of it."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]


def _meta(name: str, created: str, **more: Any) -> Json:
    return {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "creationTimestamp": created} | more


@dataclass
class ApiServer:
    """Answers on loopback while it is entered. ``down``: every answer is 503."""

    objects: dict[str, Json] = field(default_factory=dict)
    """By path; a list's path gives its items."""
    asked: list[str] = field(default_factory=list)
    down: bool = False

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

    def kubeconfig(self, folder: Path) -> str:
        """Path of a kubeconfig that leads here."""
        found = {
            "current-context": "one",
            "contexts": [{"name": "one", "context": {"cluster": "c"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self._http.server_address[1]}"}}],
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
                found = None if outer.down else outer.objects.get(path)
                code = 503 if outer.down else 404 if found is None else 200
                body = json.dumps(found or {"kind": "Status", "message": "no", "code": code}).encode()
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
