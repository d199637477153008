"""Host names of a login set's pods: what Slurm calls the host where a job was asked for."""

from __future__ import annotations

from slinky_iac.kube.client import PAGE, KubeClient, label_of
from slinky_iac.kube.objects import PodList
from slinky_iac.names import LABEL_INSTANCE

LONGEST_HOSTNAME = 63
"""kubelet cuts a pod's name to this where it becomes its host name."""


def login_hosts(kube: KubeClient, namespace: str, loginset: str) -> tuple[str, ...]:
    """Of the first page of pods, ending ones included."""
    params = {"labelSelector": f"app.kubernetes.io/name=login,{LABEL_INSTANCE}={loginset}", "limit": str(PAGE)}
    path = f"/api/v1/namespaces/{label_of(namespace)}/pods"
    found = kube.asked(path, PodList, f"pods of LoginSet {namespace}/{loginset}", params)
    return tuple(
        each.spec.node_name if each.spec.host_network else each.spec.hostname or each.metadata.name[:LONGEST_HOSTNAME]
        for each in found.items
    )
