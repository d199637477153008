"""Which pods mount a Secret: client pods are made by hubs, charts and people, and no label of ours is on them."""

from __future__ import annotations

from slinky_iac.errors import KubeError
from slinky_iac.kube.client import PAGE, KubeClient, label_of
from slinky_iac.kube.objects import ListMeta, Pod, PodSpec, Wire


class SecretVolume(Wire, frozen=True):
    """A volume's Secret."""

    secret_name: str = ""


class Volume(Wire, frozen=True):
    """A volume of a pod; of any kind but a Secret nothing is read."""

    secret: SecretVolume | None = None


class MountingSpec(PodSpec, frozen=True):
    """A pod's spec with its volumes."""

    volumes: tuple[Volume, ...] = ()


class MountingPod(Pod, frozen=True, dict=True):
    """A pod with its volumes."""

    spec: MountingSpec


class MountingPodList(Wire, frozen=True):
    """One page of pods."""

    items: tuple[MountingPod, ...]
    metadata: ListMeta = ListMeta()


def pods_with_secret(kube: KubeClient, namespace: str, secret: str) -> tuple[MountingPod, ...]:
    """All pods of a namespace that mount a Secret by a volume, by name. Raises :class:`KubeError` where pages come and go
    faster than they can be read."""
    path, found, proceed = f"/api/v1/namespaces/{label_of(namespace)}/pods", list[MountingPod](), ""
    for _ in range(100):
        params = {"limit": str(PAGE)} | ({"continue": proceed} if proceed else {})
        page = kube.asked(path, MountingPodList, f"pods of {namespace}", params)
        found += [pod for pod in page.items if any(v.secret and v.secret.secret_name == secret for v in pod.spec.volumes)]
        proceed = page.metadata.continue_
        if not proceed:
            return tuple(sorted(found, key=lambda pod: pod.name))
    raise KubeError(f"pods of {namespace}: more than 100 pages; nothing concluded from them", status=200)
