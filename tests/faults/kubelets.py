"""A kubelet of the lab that gives pods CPUs of their own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import paths, supervise
from lab.kubernetes.cluster import LAB as KUBERNETES

STATIC = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0", "topologyManagerPolicy": "best-effort"}


def own_cpus(name: str) -> dict[str, dict[str, str]]:
    """CPUs that the kubelet of this node has given containers of their own: by the pod's UID, then by container."""
    state = json.loads((_folder(name) / "kubelet" / "cpu_manager_state").read_text())
    return dict(state.get("entries") or {})


def _folder(name: str) -> Path:
    (node,) = (each for each in KUBERNETES.nodes if each.name == name)
    return KUBERNETES.home.node(node)


@contextmanager
def static_cpus(name: str) -> Iterator[None]:
    """Inside of it the kubelet of this node has the static CPU manager policy."""
    folder = _folder(name)
    config, state = folder / "kubelet.json", folder / "kubelet" / "cpu_manager_state"
    process = f"{name}-kubelet"
    argv = _argv(process)
    try:
        supervise.stop(process)
        config.write_text(json.dumps(json.loads(config.read_text()) | STATIC))
        state.unlink(missing_ok=True)
        supervise.start(process, argv)
        yield
    finally:
        supervise.stop(process)
        state.unlink(missing_ok=True)
        subprocess.run([paths.REPO / "lab" / "lab", "up", "--only", "kubernetes"], check=True, timeout=300)


def _argv(process: str) -> list[str]:
    pid = json.loads((paths.RUN / f"{process}.json").read_text())["pid"]
    return [part.decode() for part in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") if part]
