"""A Kubernetes and a Slurm behind one port, for gates that the real engine runs: NodeSets ``a`` and ``b`` of two pods each,
every pod a node with a job that ends when the test says so.

The operator is prompt: pods show what Slurm has at once, and the dearest pods are gone with a lower number.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import httpx

from slinky_iac import names
from tests.made.rows import Json, job, node, number, run
from tests.unit.slurmrest.fake import KEY, FakeSlurm, answer

NODESETS = ("a", "b")
LONG = 7 * 86_400
"""Seconds until the kept jobs' end; the others end an hour earlier and so are waited for."""
PROPS: Mapping[str, Any] = {
    "schema": 1,
    "stack": "test",
    "controller": "hpc",
    "owner": "stack",
    "operatorVersion": "1.1.0",
    "cluster": "lab",
    "urn": "",
    "namespace": "slurm",
    "restapiService": "hpc-restapi",
    "jwtSecret": "jwt",
    "jwtEntry": "jwt.key",
    "policy": {"deadline_s": 120, "bound_s": 300, "poll_s": 1, "register_deadline_s": 30},
}


def kubeconfig(folder: Path, url: str) -> str:
    """The path of a kubeconfig that leads to a world at ``url``."""
    cluster = {"name": "w", "cluster": {"server": url}}
    context = {"name": "w", "context": {"cluster": "w", "user": "w"}}
    user = {"name": "w", "user": {"token": "a-token-of-the-world"}}
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "w", "clusters": [cluster], "contexts": [context]}
    (folder / "kubeconfig").write_text(json.dumps(config | {"users": [user]}))
    return str(folder / "kubeconfig")


class AtWork(FakeSlurm):
    """A Slurm at work, whose moments are now: what holds a node is judged by the clock."""

    def listed(self, only_changes: bool) -> httpx.Response:
        """Another node is never the same twice: a cluster at work."""
        self.nodes["metal-1"] = node("metal-1", alloc_cpus=len(self.asked))
        return answer(nodes=list(self.nodes.values()), last_update=number(self.last_update))


class World:
    """Both, with the NodeSets as they are now."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.slurm = AtWork(accounts=[], wall=lambda: int(time.time()))
        self.annotations: dict[str, dict[str, str]] = {}
        self.replicas = dict.fromkeys(NODESETS, 2)
        self.generation = dict.fromkeys(NODESETS, 1)
        self.pods = {name: [f"{name}-0", f"{name}-1"] for name in NODESETS}
        self.written: list[tuple[str, int]] = []
        now = int(time.time())
        for nodes in self.pods.values():
            for each in nodes:
                self.slurm.add(node(each, "ALLOCATED"))
                ends = now + (LONG if each.endswith("0") else LONG - 3600)
                self.slurm.add(job(ord(each[0]) * 10 + int(each[-1]), nodes=each, limit=9999, end_time=number(ends)))

    def jobs_asked(self) -> int:
        """Looks at all jobs that slurmctld was asked for."""
        return len(
            [path for method, path, _ in self.slurm.asked if method == "GET" and path.endswith("v0.0.45/jobs/state/")]
        )

    def nodes_asked(self) -> int:
        """Lists of nodes."""
        return len(self.slurm.asked_for("GET", "nodes/"))

    def drained(self, name: str) -> bool:
        """Whether a node is drained."""
        return "DRAIN" in self.slurm.nodes[name]["state"]

    def end_job(self, name: str) -> None:
        """The job of a node ends, and slurmdbd has it."""
        with self.lock:
            number_ = ord(name[0]) * 10 + int(name[-1])
            del self.slurm.jobs[number_]
            row = self.slurm.nodes[name]
            row["state"] = sorted({*row["state"], "IDLE"} - {"ALLOCATED"})
            ended = run(number_, "COMPLETED", nodes=name, end=int(time.time()))
            self.slurm.accounts = [*(self.slurm.accounts or []), ended]

    def handle(self, method: str, path: str, query: str, body: bytes, headers: Mapping[str, str]) -> httpx.Response:
        """One request, one answer."""
        with self.lock:
            if path.startswith(("/slurm/", "/slurmdb/")):
                url = f"http://world{path}{'?' + query if query else ''}"
                return self.slurm.handle(httpx.Request(method, url, content=body, headers=dict(headers)))
            found = self.kubernetes(method, path, query, json.loads(body) if body else {})
            return found or httpx.Response(
                404, json={"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound"}
            )

    def kubernetes(self, method: str, path: str, query: str, body: Json) -> httpx.Response | None:
        kind, _, name = path.rpartition("/")
        if kind.endswith("/nodesets"):
            return self.nodeset(method, name.rpartition("-")[2], body)
        if kind.endswith("/pods"):
            self.annotate(f"pod {name}", body)
            return httpx.Response(200, json={})
        if path.endswith("/pods"):
            wanted = [each for each in NODESETS if f"hpc-worker-{each}" in query] or NODESETS
            items = [self.pod(nodeset, each) for nodeset in wanted for each in self.pods[nodeset]]
            return httpx.Response(200, json={"metadata": {}, "items": items})
        plain = {
            "horizontalpodautoscalers": {"items": []},
            "deployments": {"status": {"availableReplicas": 1}},
            "secrets": {"data": {"jwt.key": base64.b64encode(KEY).decode()}},
        }
        said = next((each for part, each in plain.items() if path.endswith(part) or kind.endswith(part)), None)
        return None if said is None else httpx.Response(200, json=said)

    def annotate(self, what: str, body: Json) -> None:
        for key, value in body.get("metadata", {}).get("annotations", {}).items():
            if value is None:
                self.annotations.setdefault(what, {}).pop(key, None)
            else:
                self.annotations.setdefault(what, {})[key] = value

    def nodeset(self, method: str, name: str, body: Json) -> httpx.Response:
        if method == "PATCH":
            self.annotate(f"nodeset {name}", body)
            wanted = body.get("spec", {}).get("replicas")
            if wanted is not None:
                self.written.append((name, wanted))
                self.replicas[name] = wanted
                self.generation[name] += 1
                cost = names.ANNOTATION_DELETION_COST
                dear = sorted(self.pods[name], key=lambda each: -int(self.annotations.get(f"pod {each}", {}).get(cost, "0")))
                self.pods[name] = sorted(dear[:wanted])
        meta = self.meta(f"hpc-worker-{name}", self.annotations.get(f"nodeset {name}", {}))
        status = {"updatedReplicas": len(self.pods[name]), "observedGeneration": self.generation[name]}
        spec = {"replicas": self.replicas[name], "controllerRef": {"name": "hpc"}}
        return httpx.Response(
            200, json={"metadata": meta | {"generation": self.generation[name]}, "spec": spec, "status": status}
        )

    def pod(self, nodeset: str, name: str) -> Json:
        row = self.slurm.nodes[name]
        states = [
            {"type": f"SlurmNodeState{each.capitalize()}", "status": "True", "message": row["reason"]}
            for each in row["state"]
        ]
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        owner = {"kind": "NodeSet", "name": f"hpc-worker-{nodeset}", "uid": f"hpc-worker-{nodeset}", "controller": True}
        meta = self.meta(name, self.annotations.get(f"pod {name}", {})) | {"ownerReferences": [owner]}
        spec = {"nodeName": "k-1", "hostname": name}
        return {"metadata": meta, "spec": spec, "status": {"phase": "Running", "conditions": [ready, *states]}}

    @staticmethod
    def meta(name: str, annotations: Mapping[str, str]) -> Json:
        made = {"uid": name, "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
        return {"name": name, "annotations": dict(annotations), **made}


Made = TypeVar("Made", bound=World)


@contextmanager
def served(world: Made) -> Iterator[tuple[Made, str]]:
    """A world behind a port of its own, and its URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            path, _, query = self.path.partition("?")
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            found = world.handle(self.command, path, query, body, {k.lower(): v for k, v in self.headers.items()})
            self.send_response(found.status_code)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(found.content)))
            self.end_headers()
            self.wfile.write(found.content)

        do_GET = do_PATCH = do_POST = do_DELETE = answer

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield world, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
