"""The way to Kubernetes, and pieces of its objects."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from slinky_iac.kube.kubeconfig import KubeAccess, KubeUser
from slinky_iac.kube.resources import Secret
from tests.made.wire import read


def kube_access(**user: Any) -> KubeAccess:
    """An API server and who one is there, by the fields of :class:`KubeUser`."""
    return KubeAccess(
        server="https://api:6443",
        ca=None,
        insecure=True,
        tls_server_name=None,
        proxy_url=None,
        namespace="slurm",
        user=KubeUser(**user),
        origin="the test",
    )


def moment(seconds: int | None) -> str | None:
    """Seconds since 1970 as Kubernetes writes them."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def meta(name: str, *, created: int = 0, deleting: bool = False, **more: Any) -> dict[str, Any]:
    """metadata of an object that is written to."""
    gone = {"deletionTimestamp": moment(created)} if deleting else {}
    return {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "creationTimestamp": moment(created), **gone, **more}


def secret(data: Mapping[str, bytes], created: int, written: int | None = None) -> Secret:
    """A Secret, all of whose entries were last written at the same moment."""
    owned: dict[str, Any] = {"time": moment(written), "fieldsV1": {"f:data": {f"f:{entry}": {} for entry in data}}}
    meta = {"creationTimestamp": moment(created), "managedFields": [] if written is None else [owned]}
    return read(Secret, {"metadata": meta, "data": dict(data)})
