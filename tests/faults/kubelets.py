"""A kubelet of the lab with other settings: pods get CPUs of their own, or may swap."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from lab import paths, supervise
from lab.kubernetes.cluster import LAB as KUBERNETES

SWAP = {
    "failSwapOn": False,
    "memorySwap": {"swapBehavior": "LimitedSwap"},
    "cgroupsPerQOS": False,
    "enforceNodeAllocatable": [],
}
"""Without cgroups of its own: those of version 2 may have no controllers here."""
UNIFIED = Path("/sys/fs/cgroup/unified")
IN_VERSION_2 = ("unshare", "--mount", "sh", "-ec", f'mount --bind {UNIFIED} /sys/fs/cgroup; exec "$@"', "sh")
"""Begins a program that finds cgroups of version 2 on a machine that has both versions: with version 1 a kubelet refuses to
start where pods may swap."""
STATIC = {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "500m"}, "topologyManagerPolicy": "best-effort"}
"""On a machine of two CPUs one is kept for what has none of its own, and pods may still ask for 1.5: a worker's pod has a
small container beside slurmd."""


def own_cpus(name: str) -> dict[str, dict[str, str]]:
    """CPUs that the kubelet of this node has given containers of their own: by the pod's UID, then by container."""
    state = json.loads((_folder(name) / "kubelet" / "cpu_manager_state").read_text())
    return dict(state.get("entries") or {})


def _folder(name: str) -> Path:
    (node,) = (each for each in KUBERNETES.nodes if each.name == name)
    return KUBERNETES.home.node(node)


def static_cpus(name: str) -> AbstractContextManager[None]:
    """Inside of it the kubelet of this node has the static CPU manager policy."""
    return configured(name, STATIC)


def limited_swap(name: str) -> AbstractContextManager[None]:
    """Inside of it the kubelet of this node lets pods swap."""
    return configured(name, SWAP, IN_VERSION_2 if UNIFIED.is_dir() else ())


@contextmanager
def configured(name: str, settings: dict[str, Any], begin: Sequence[str] = ()) -> Iterator[None]:
    """Inside of it the kubelet of this node has these settings, and what its CPU manager knew is gone. ``begin``: the
    command in the node that starts it."""
    folder = _folder(name)
    config, state = folder / "kubelet.json", folder / "kubelet" / "cpu_manager_state"
    process = f"{name}-kubelet"
    argv = _argv(process)
    try:
        supervise.stop(process)
        config.write_text(json.dumps(json.loads(config.read_text()) | settings))
        state.unlink(missing_ok=True)
        node = argv.index("--") + 1
        supervise.start(process, [*argv[:node], *begin, *argv[node:]])
        yield
    finally:
        supervise.stop(process)
        state.unlink(missing_ok=True)
        subprocess.run([paths.REPO / "lab" / "lab", "up", "--only", "kubernetes"], check=True, timeout=300)


def _argv(process: str) -> list[str]:
    pid = json.loads((paths.RUN / f"{process}.json").read_text())["pid"]
    return [part.decode() for part in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") if part]
