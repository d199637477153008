"""A living release: objects with the fields that the chart sets, as the API server gives them, and Helm's record."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from slinky_iac.commands.adopt.model import Live
from tests.api_server import ApiServer, status

Json = dict[str, Any]
HELM = {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/part-of": "slurm", "helm.sh/chart": "slurm-1.2.1"}
VALUES: Json = {
    "clusterName": "atlas",
    "nodesets": {"gpu": {"replicas": 2, "slurmd": {"env": [{"name": "SITE_MODE", "value": "hunter2hunter2"}]}}},
}
RECORDS = "/api/v1/namespaces/slurm/secrets"
MADE: Json = {"creationTimestamp": "2026-01-01T00:00:00Z"}
MARKS: Json = {"f:meta.helm.sh/release-name": {}, "f:meta.helm.sh/release-namespace": {}}
CLAIMS: list[Json] = [
    {"manager": "helm", "operation": "Update", "fieldsV1": {"f:metadata": {"f:annotations": MARKS}, "f:spec": {}}},
    {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
    {"manager": "slurm-operator", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}},
]
"""Who has set what of a living object: Helm, a person, the operator."""
REPOSITORY = "ghcr.io/slinkyproject"


def record(values: Json, chart: str = "slurm", version: str = "1.2.1") -> bytes:
    """What entry ``release`` of Helm's Secret holds."""
    body = {"name": "slurm", "config": values, "chart": {"metadata": {"name": chart, "version": version}}}
    return base64.b64encode(gzip.compress(json.dumps(body).encode()))


def container(image: str) -> Json:
    """A container as the chart gives it."""
    return {"image": f"{REPOSITORY}/{image}:26.05-site", "imagePullPolicy": "IfNotPresent", "resources": {}, "args": []}


def template(**more: Any) -> Json:
    """A pod template as the chart gives it."""
    spec = {"nodeSelector": {"kubernetes.io/os": "linux"}, "tolerations": [], "initContainers": [], "priorityClassName": ""}
    return {"metadata": {"labels": dict(HELM)}, "spec": {**spec, **more}}


LOGFILE = {"image": "docker.io/library/alpine:latest", "imagePullPolicy": "IfNotPresent", "resources": {}}
CONTROLLER: Json = {
    "clusterName": "atlas",
    "slurmKeyRef": {"name": "slurm-auth-slurm", "key": "slurm.key"},
    "jwtKeyRef": {"name": "slurm-auth-jwt", "key": "jwt.key"},
    "slurmctld": container("slurmctld"),
    "reconfigure": container("slurmctld"),
    "inplaceReconfigure": False,
    "logfile": LOGFILE,
    "persistence": {"enabled": True, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "4Gi"}}},
    "template": template(),
}
RESTAPI: Json = {
    "controllerRef": {"name": "slurm"},
    "replicas": 1,
    "slurmrestd": container("slurmrestd"),
    "template": template(),
}
NODESET: Json = {
    "controllerRef": {"name": "slurm"},
    "replicas": 2,
    "scalingMode": "StatefulSet",
    "slurmd": {**container("slurmd"), "env": [{"name": "SITE_MODE", "value": "hunter2hunter2"}]},
    "logfile": LOGFILE,
    "partition": {"enabled": False},
    "template": template(hostname="gpu-"),
    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%"}},
}


def living(**more: Any) -> tuple[Live, ...]:
    """Controller, RestApi and the NodeSet ``gpu``; ``more``: annotations, labels or managers of each."""
    specs = (("Controller", "slurm", CONTROLLER), ("RestApi", "slurm", RESTAPI), ("NodeSet", "slurm-worker-gpu", NODESET))
    return tuple(
        Live(kind=kind, name=name, uid=uid(number), spec=spec, **{"labels": HELM, **more})
        for number, (kind, name, spec) in enumerate(specs)
    )


def uid(number: int) -> str:
    """The UID of one of them."""
    return f"00000000-0000-4000-8000-{number:012}"


class Release(ApiServer):
    """One that merges labels and claims, selects Secrets by labels, and can go away in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self.patched: list[str] = []
        """Paths of the writes that were answered."""
        self.breaks_after: int | None = None
        """Writes that are answered; None: all."""
        self.conflicts = 0
        """Writes that are refused first, since somebody else has changed the object."""

    def _answer(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        path, asked = urlsplit(url).path, parse_qs(urlsplit(url).query)
        if method == "PATCH":
            if self.breaks_after is not None and len(self.patched) >= self.breaks_after:
                return 503, status(503)
            if self.conflicts:
                self.conflicts -= 1
                return 409, status(409)
            meta, change = self.objects[path]["metadata"], json.loads(body)["metadata"]
            answer = super()._answer(method, url, body, headers)
            meta["labels"] = {**meta["labels"], **change.get("labels", {})}
            meta["managedFields"] = change.get("managedFields", meta.get("managedFields", []))
            self.patched.append(path)
            return answer
        if path == RECORDS:
            wanted = [each.split("=") for each in asked["labelSelector"][0].split(",")]
            items = self.objects[path]["items"]
            kept = [each for each in items if all(each["metadata"]["labels"].get(key) == value for key, value in wanted)]
            return 200, json.dumps({"items": kept}).encode()
        return super()._answer(method, url, body, headers)


def served(server: ApiServer, values: Json, *, state: str = "deployed", packed: bytes | None = None) -> None:
    """Let an API server have the release, of which an older revision is superseded."""
    at, secrets = "2026-01-01T00:00:00Z", []
    for number, was, held in ((9, "superseded", record({})), (10, state, packed or record(values))):
        name = f"sh.helm.release.v1.slurm.v{number}"
        server.put(name, {"release": held}, at)
        labels = {"owner": "helm", "name": "slurm", "version": str(number), "status": was}
        meta = {"name": name, "uid": name, "labels": labels, "resourceVersion": "1", **MADE}
        server.objects[f"{RECORDS}/{name}"]["metadata"] = meta
        secrets.append({"metadata": meta})
    server.objects[RECORDS] = {"items": secrets}
    kinds: dict[str, list[Json]] = {"controllers": [], "restapis": [], "nodesets": [], "accountings": []}
    for each in living():
        meta = {"name": each.name, "uid": each.uid, "labels": dict(each.labels), "resourceVersion": "7", **MADE}
        meta["managedFields"] = CLAIMS
        server.objects[f"/apis/slinky.slurm.net/v1beta1/namespaces/slurm/{each.kind.lower()}s/{each.name}"] = {
            "metadata": meta
        }
        kinds[f"{each.kind.lower()}s"].append({"metadata": meta, "spec": each.spec})
    server.objects["/apis/autoscaling/v2/namespaces/slurm/horizontalpodautoscalers"] = {"items": []}
    for plural, items in kinds.items():
        server.objects[f"/apis/slinky.slurm.net/v1beta1/namespaces/slurm/{plural}"] = {"items": items}


def command(server: ApiServer, folder: Path, *more: str) -> list[str]:
    """The command line for that API server."""
    return ["adopt", "--kubeconfig", server.kubeconfig(folder), "--out", str(folder / "Pulumi.prod.yaml"), *more]
