"""A living release: objects with the fields that the chart sets, as the API server gives them, and Helm's record."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

from slinky_iac.commands.adopt.model import Live
from tests.api_server import ApiServer

Json = dict[str, Any]
HELM = {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/part-of": "slurm", "helm.sh/chart": "slurm-1.2.1"}
VALUES: Json = {
    "clusterName": "atlas",
    "nodesets": {"gpu": {"replicas": 2, "slurmd": {"env": [{"name": "SITE_MODE", "value": "hunter2hunter2"}]}}},
}
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
    return tuple(Live(kind=kind, name=name, spec=spec, **{"labels": HELM, **more}) for kind, name, spec in specs)


def served(server: ApiServer, values: Json, *, status: str = "deployed", packed: bytes | None = None) -> None:
    """Let an API server have the release, of which an older revision is superseded."""
    at, secrets = "2026-01-01T00:00:00Z", []
    for number, state, held in ((9, "superseded", record({})), (10, status, packed or record(values))):
        name = f"sh.helm.release.v1.slurm.v{number}"
        server.put(name, {"release": held}, at)
        labels = {"owner": "helm", "name": "slurm", "version": str(number), "status": state}
        secrets.append({"metadata": {"name": name, "uid": name, "labels": labels}})
    server.objects["/api/v1/namespaces/slurm/secrets"] = {"items": secrets}
    kinds: dict[str, list[Json]] = {"controllers": [], "restapis": [], "nodesets": [], "accountings": []}
    for each in living():
        meta = {"name": each.name, "uid": each.name, "labels": dict(each.labels)}
        kinds[f"{each.kind.lower()}s"].append({"metadata": meta, "spec": each.spec})
    server.objects["/apis/autoscaling/v2/namespaces/slurm/horizontalpodautoscalers"] = {"items": []}
    for plural, items in kinds.items():
        server.objects[f"/apis/slinky.slurm.net/v1beta1/namespaces/slurm/{plural}"] = {"items": items}


def command(server: ApiServer, folder: Path, *more: str) -> list[str]:
    """The command line for that API server."""
    return ["adopt", "--kubeconfig", server.kubeconfig(folder), "--out", str(folder / "Pulumi.prod.yaml"), *more]
