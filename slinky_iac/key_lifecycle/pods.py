"""slurm.jwks as slurmd's pods see it. kubelet brings a changed Secret into running pods, in its own time."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from typing import Final

from slinky_iac import names
from slinky_iac.cluster.connection import Connection
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeConflict, KubeNotFound, RotationError, SlurmrestError
from slinky_iac.kube.connection import for_children
from slinky_iac.kube.models import Pod

FILE: Final = f"{names.SLURM_JWKS_FOLDER}/{names.SLURM_JWKS_FILE}"
ANNOTATION: Final = "slinky-iac/slurm-jwks"
"""Set by us on slurmd's pods: kubelet looks at a pod's volumes when the pod changes, else once a minute or so."""
Run = Callable[..., "subprocess.CompletedProcess[str]"]
_SILENT: Final = frozenset({"DOWN", "NOT_RESPONDING", "POWERED_DOWN", "POWERING_DOWN", "FUTURE"})


def _of_nodesets(session: Connection, config: StackConfig) -> tuple[Pod, ...]:
    found: list[Pod] = []
    for nodeset in config.nodesets:
        state = session.nodeset(names.nodeset_resource(config.cluster.resource_name, nodeset))
        if state is not None:
            found += session.kube.pods_of(config.cluster.namespace, state)
    return tuple(found)


def unmanaged_nodes(session: Connection, config: StackConfig) -> tuple[str, ...] | None:
    """Nodes that answer slurmctld and are neither pods of this stack nor hosts that it names: no step brings them a key.

    None where slurmctld can't be asked, as before the first `pulumi up`: then it is unknown whether there are any.
    """
    try:
        answer = session.slurm.nodes(allow_none=True)
    except (SlurmrestError, KubeNotFound):
        return None
    pods = [pod.slurm_node for pod in _of_nodesets(session, config)]
    own = {*pods, *(name.partition(".")[0] for name in pods), *(host.name for host in config.external.slurmd_hosts)}
    nodes = answer.nodes if answer is not None else ()
    return tuple(sorted(node.name for node in nodes if node.name not in own and not node.state & _SILENT))


def slurmd_pods(session: Connection, config: StackConfig) -> tuple[Pod, ...]:
    """Running pods of all NodeSets; one that starts now begins with the Secret as it is now."""
    return tuple(pod for pod in _of_nodesets(session, config) if pod.phase == "Running" and not pod.terminating)


def digests(session: Connection, config: StackConfig, run: Run = subprocess.run) -> dict[str, str | None]:
    """SHA-256 of slurm.jwks in each pod, by pod; None where it isn't there or the pod can't be asked."""
    return {pod.name: _digest(config, pod.name, run) for pod in slurmd_pods(session, config)}


def _digest(config: StackConfig, pod: str, run: Run) -> str | None:
    access = config.kubernetes
    way = [*(["--kubeconfig", access.kubeconfig] if access.kubeconfig else [])]
    way += ["--context", access.context] if access.context else []
    command = ["kubectl", *way, "exec", "-n", config.cluster.namespace, pod, "-c", "slurmd", "--", "sha256sum", FILE]
    try:
        done = run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env=for_children(os.environ),
        )
    except OSError as error:
        raise RotationError(
            f"kubectl can't be run ({type(error).__name__}): without it nobody can tell whether a pod has the new"
            " slurm.jwks, and one that hasn't would be lost at the change. Install it beside pulumi; nothing was changed"
        ) from None
    except subprocess.TimeoutExpired:
        return None
    words = done.stdout.split()
    return words[0] if done.returncode == 0 and words else None


def nudge(session: Connection, config: StackConfig, files: Mapping[str, str | None], wanted: str) -> None:
    """Change an annotation of the pods that don't have the file yet, so that kubelet looks at once."""
    for pod in slurmd_pods(session, config):
        if files.get(pod.name) != wanted and pod.annotations.get(ANNOTATION) != wanted[:16]:
            try:
                session.kube.annotate_pod(config.cluster.namespace, pod, {ANNOTATION: wanted[:16]})
            except (KubeConflict, KubeNotFound):
                continue  # changed or gone since we looked: the next look tells
