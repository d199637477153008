"""Pieces of Kubernetes' objects, sound and wrong ones alike: which is which the API server says (tests/integration)."""

from __future__ import annotations

from typing import Any, Final

from tests.stacks import ROOT, read_yaml

FILE: Final = ROOT / "tests" / "cases" / "kubernetes" / "pieces.yaml"
BY_OTHERS: Final = {
    "POD: node affinity Gt of a word": "the scheduler finds no node that fits",
    "CONTAINER: image in capitals": "kubelet: InvalidImageName",
    "CONTAINER: image by a short digest": "kubelet: InvalidImageName",
    "CONTAINER: capabilities with CAP_": "the container runs without them",
    "POD: sidecar with a probe of a port that it lacks": "kubelet: no probe succeeds",
    "POD: sysctl of the node": "kubelet: SysctlForbidden",
    "VOLUME: nfs of a server with its folder": "kubelet: the mount fails",
    "VOLUME: emptyDir in RAM": "kubelet: unknown storage medium",
    "VOLUME: claim with capitals": "no claim can have this name: the pod waits for it",
    "CLAIM: claim of a snapshot of core by dataSource": "the API server drops it, and the disk comes up empty",
    "MOUNT: mount with a colon": "the API's description of mountPath",
    "MOUNT: mount from nowhere": "kubelet mounts a relative path below /",
}
"""Refused offline though the API server of :data:`slinky_iac.config.kubernetes.types.RELEASE` takes them: who doesn't."""


def pieces() -> list[tuple[str, str, dict[str, Any]]]:
    """Id, kind and value of each."""
    read: dict[str, dict[str, dict[str, Any]]] = read_yaml(FILE.read_text())
    return [(f"{kind}: {name}", kind, value) for kind, named in read.items() for name, value in named.items()]


def whole_pod(kind: str, value: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Metadata and spec of the smallest pod with the piece."""
    container: dict[str, Any] = {"name": "daemon", "image": "registry.example.org/daemon:1"}
    if kind == "CONTAINER":
        container |= value
    spec: dict[str, Any] = {"containers": [container], **(value if kind == "POD" else {})}
    if kind in {"VOLUME", "MOUNT"}:
        spec["volumes"] = [{"name": "v", **(value if kind == "VOLUME" else {"emptyDir": {}})}]
        container["volumeMounts"] = [{"name": "v", **({"mountPath": "/h"} if kind == "VOLUME" else value)}]
    return (value if kind == "META" else {}), spec
