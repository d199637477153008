"""What all short-lived pods have in common: the label by which they are found, and how one is swept, read and deleted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeError, KubeNotFound
from slinky_iac.kube.objects import PodStatus
from slinky_iac.kube.pods import ShortMeta, ShortPod, ShortPodClient
from slinky_iac.names import LABEL_SHORT_POD

SELECTOR: Final = f"{LABEL_SHORT_POD}=look"
LOOK_EVERY_S: Final = 0.5
HOPELESS: Final = ("ErrImageNeverPull", "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CreateContainerError")
"""What Kubernetes says of a pod that no waiting helps."""
ELSEWHERE: Final = "default"
"""Namespace of the pods while the cluster's own isn't there yet: every Kubernetes cluster has it."""


def swept(kube: ShortPodClient, config: StackConfig, namespace: str | None) -> str:
    """The namespace for new pods: ``namespace``, where it is None the cluster's own. Pods that a killed run left there are
    removed: they have ended. One that still runs is another run's. Raises :class:`KubeError`."""
    if namespace is None:
        namespace = config.cluster.namespace if kube.namespace_exists(config.cluster.namespace) else ELSEWHERE
    for pod in kube.short_pods(namespace, SELECTOR):
        if pod.ended:
            kube.delete_pod(namespace, pod.metadata.name)
    return namespace


def look(kube: ShortPodClient, namespace: str, name: str) -> ShortPod:
    """One look at a pod; one that somebody deleted has failed."""
    try:
        return kube.short_pod(namespace, name)
    except KubeNotFound:
        return ShortPod(ShortMeta(name), status=PodStatus(phase="Failed", message="somebody deleted it"))


def has_no_hope(pod: ShortPod) -> bool:
    """Whether waiting longer for it helps nothing."""
    return any(word in pod.trouble for word in HOPELESS)


def delete(kube: ShortPodClient, namespace: str, pods: Iterable[str]) -> None:
    """Delete all, also when somebody presses Ctrl-C once more meanwhile; what can't be deleted ends within minutes."""
    interrupted: BaseException | None = None
    for pod in pods:
        try:
            kube.delete_pod(namespace, pod)
        except KubeError:
            continue
        except BaseException as error:
            interrupted = error
            kube.delete_pod(namespace, pod)
    if interrupted is not None:
        raise interrupted
