"""Which object is it, and who made it: the metadata of objects of any kind, never what they hold.

Each raises :class:`slinky_iac.errors.KubeNotFound` where the object isn't there.
"""

from __future__ import annotations

from collections.abc import Mapping

from slinky_iac.kube.client import PAGE, KubeClient, label_of
from slinky_iac.kube.objects import ManagedFields, ObjectMeta, PartialObjectMetadata, PartialObjectMetadataList, Wire
from slinky_iac.names import API_VERSION

METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_OF_ALL = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""Accept headers of questions whose answers hold no object's contents (Kubernetes, "API Concepts")."""


class ClaimedMeta(ObjectMeta, frozen=True, kw_only=True):
    """metadata with who has set what."""

    managed_fields: tuple[ManagedFields, ...] = ()

    def setters(self, part: str, key: str = "") -> frozenset[str]:
        """Field managers that own a part of metadata, or a ``key`` in it."""
        claims = ((each.manager, each.fields_v1.get("f:metadata")) for each in self.managed_fields)
        parts = ((manager, fields.get(f"f:{part}")) for manager, fields in claims if isinstance(fields, dict))
        return frozenset(manager for manager, found in parts if isinstance(found, dict) and (not key or f"f:{key}" in found))


class Claimed(Wire, frozen=True):
    """An object with who has set what."""

    metadata: ClaimedMeta


class ClaimedList(Wire, frozen=True):
    """None where there is none."""

    items: tuple[Claimed, ...] | None


def namespace(kube: KubeClient, name: str) -> ObjectMeta:
    """A Namespace."""
    return _one(kube, f"/api/v1/namespaces/{label_of(name)}", f"Namespace {name}")


def custom(kube: KubeClient, space: str, plural: str, name: str) -> ObjectMeta:
    """A resource of the operator's, such as of ``restapis``."""
    path = f"/apis/{API_VERSION}/namespaces/{label_of(space)}/{plural}/{label_of(name)}"
    return _one(kube, path, f"{plural} {space}/{name}")


def definition(kube: KubeClient, name: str) -> ObjectMeta:
    """A CustomResourceDefinition."""
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{label_of(name)}"
    return _one(kube, path, f"CRD {name}")


def secret(kube: KubeClient, space: str, name: str) -> ObjectMeta:
    """A Secret."""
    return _one(kube, f"/api/v1/namespaces/{label_of(space)}/secrets/{label_of(name)}", f"Secret {space}/{name}")


def secrets(kube: KubeClient, space: str, labels: Mapping[str, str]) -> tuple[ObjectMeta, ...]:
    """Secrets with these labels, of which there may be none."""
    params = {"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items()), "limit": str(PAGE)}
    path, headers = f"/api/v1/namespaces/{label_of(space)}/secrets", {"accept": METADATA_OF_ALL}
    found = kube.asked(path, PartialObjectMetadataList, f"Secrets of {space}", params=params, headers=headers)
    return tuple(each.metadata for each in found.items or ())


def pods(kube: KubeClient, space: str, selector: str) -> tuple[ObjectMeta, ...]:
    """Pods that a label selector chooses; the first page of them."""
    params, headers = {"labelSelector": selector, "limit": str(PAGE)}, {"accept": METADATA_OF_ALL}
    found = kube.asked(
        f"/api/v1/namespaces/{label_of(space)}/pods", PartialObjectMetadataList, f"Pods of {space}", params, headers
    )
    return tuple(each.metadata for each in found.items or ())


def is_makers(kube: KubeClient, space: str, pod: str, annotation: str) -> bool:
    """Whether the client that made a pod has also set an annotation on it, and no other client has. slurm-operator makes the
    pods of NodeSets. False where the pod is gone, or field managers don't say it."""
    path, params = f"/api/v1/namespaces/{label_of(space)}/pods", {"fieldSelector": f"metadata.name={label_of(pod)}"}
    found = kube.asked(path, ClaimedList, f"Pod {space}/{pod}", params, {"accept": METADATA_OF_ALL})
    makers = [
        (each.metadata.setters("ownerReferences"), each.metadata.setters("annotations", annotation))
        for each in found.items or ()
    ]
    return any(len(made) == 1 and made == wrote for made, wrote in makers)


def _one(kube: KubeClient, path: str, what: str) -> ObjectMeta:
    return kube.asked(path, PartialObjectMetadata, what, headers={"accept": METADATA_ONLY}).metadata
