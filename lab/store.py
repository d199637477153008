"""External Secrets on a lab that is up: its CRDs and its controllers, a process that ends with the test that asked for it.

What it copies comes from Secrets of another namespace, as from a vault. It runs beside the API server, as its administrator.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import go, obtain, paths, supervise, tools
from lab.errors import LabError
from lab.obtain import Say

NAME = "external-secrets"
CRDS = "config/crds/bases"
OFF = (
    "--enable-cluster-external-secret-reconciler=false",
    "--enable-cluster-push-secret-reconciler=false",
    "--enable-cluster-store-reconciler=false",
    "--enable-push-secret-reconciler=false",
    "--enable-generator-state=false",
)
"""What makes no Secret here."""
METRICS = "127.0.0.1:18080"


def program(*, say: Say = print) -> Path:
    """External Secrets; built if it is not in CACHE."""
    return obtain.ensure((tools.STORE,), say=say)[NAME]


@contextmanager
def running(*, say: Say = print) -> Iterator[None]:
    """It runs inside of this; its CRDs, and with them all that it made as owner, are gone after it."""
    binary, crds = program(say=say), _crds()
    _kubectl("apply", "--server-side", *crds)
    try:
        _kubectl("wait", "--for=condition=Established", "--timeout=60s", *crds)
        argv = [str(binary), f"--metrics-addr={METRICS}", *OFF]
        supervise.start(NAME, argv, env={"KUBECONFIG": str(paths.KUBECONFIG)}, restarts=True)
        yield
    finally:
        supervise.stop(NAME)
        _kubectl("delete", "--ignore-not-found", *crds)


def _crds() -> list[str]:
    trimmed = tools.STORE.trimmed
    assert trimmed is not None
    folder = go.module(trimmed.module, trimmed.version, trimmed.checksum, go=go.ensure()) / CRDS
    return [f"--filename={file}" for file in sorted(folder.glob("*external-secrets.io_*.yaml"))]


def _kubectl(*arguments: str) -> None:
    argv = ["kubectl", f"--kubeconfig={paths.KUBECONFIG}", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"`kubectl {arguments[0]}` of External Secrets' CRDs failed: {done.stderr.strip()[-500:]}")
