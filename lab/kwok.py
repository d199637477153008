"""kwok on a lab that is up: kubelets of Kubernetes nodes without a machine, which end with what asked for them.

``python -m lab.kwok COMMAND…`` runs a command beside it. It runs beside the API server, as its administrator, and keeps
only the nodes with its annotation; the lab's own kubelets keep theirs.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab import go, obtain, paths, supervise, tools
from lab.kubernetes import layout
from lab.obtain import Say

NAME = "kwok"
MODULE = "sigs.k8s.io/kwok"
CHECKSUM = "h1:OTIOTwgROqPMovcTwxICx2eYQ4AwLpSx5EpjbDKF4SQ="
STAGES = (
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-delete.yaml",
)
"""What happens to a node and to a pod of it: the release's own, pods as fast as can be."""
POD_NET = "10.87.0.0/16"
"""Addresses that it gives pods; nothing is behind them."""
ANNOTATION = "kwok.x-k8s.io/node=fake"


def program(*, say: Say = print) -> Path:
    """kwok; built if it is not in CACHE."""
    return obtain.ensure((tools.FAKE_KUBELETS,), say=say)[NAME]


@contextmanager
def running(*, say: Say = print) -> Iterator[None]:
    """It runs inside of this. Nodes that were made for it are their maker's to delete."""
    binary = program(say=say)
    folder = go.module(MODULE, tools.KWOK, CHECKSUM, go=go.ensure()) / "kustomize/stage"
    argv = [
        str(binary), f"--kubeconfig={paths.KUBECONFIG}", f"--manage-nodes-with-annotation-selector={ANNOTATION}",
        "--manage-all-nodes=false", f"--cidr={POD_NET}", f"--node-ip={layout.GATEWAY}", "--node-lease-duration-seconds=40",
        *(f"--config={folder / stage}" for stage in STAGES),
    ]  # fmt: skip
    supervise.start(NAME, argv, restarts=True)
    try:
        yield
    finally:
        supervise.stop(NAME)


def main(argv: Sequence[str]) -> int:
    """Run a command beside kwok; its exit status."""
    with running():
        return subprocess.run(list(argv), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
