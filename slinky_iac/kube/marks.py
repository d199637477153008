"""Which object is it, and who made it: the metadata of objects of any kind, never what they hold.

Each raises :class:`slinky_iac.errors.KubeNotFound` where the object isn't there.
"""

from __future__ import annotations

from collections.abc import Mapping

from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.objects import ManagedFields, ObjectMeta, PartialObjectMetadata, PartlyListed, Wire
from slinky_iac.kube.requests import label_of, place
from slinky_iac.names import API_VERSION

METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_OF_ALL = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""Accept headers of questions whose answers hold no object's contents (Kubernetes, "API Concepts")."""


class ClaimedMeta(ObjectMeta, frozen=True, kw_only=True):
    """metadata with who has set what."""

    managed_fields: tuple[ManagedFields, ...] = ()

    def setters(self, part: str, key: str = "") -> frozenset[str]:
        """Field managers that own a part of metadata, or a ``key`` in it."""
        claims = ((claim.manager, claim.fields_v1.get("f:metadata")) for claim in self.managed_fields)
        parts = ((manager, fields.get(f"f:{part}")) for manager, fields in claims if isinstance(fields, dict))
        return frozenset(manager for manager, owned in parts if isinstance(owned, dict) and (not key or f"f:{key}" in owned))

    @property
    def of_spec(self) -> frozenset[str]:
        """Field managers that own something of the spec, but for what they set through another part (an autoscaler)."""
        return frozenset(claim.manager for claim in self._of_spec)

    @property
    def of_number(self) -> frozenset[str]:
        """Of these the ones that own nothing of the spec but ``replicas``."""
        return self.of_spec - {claim.manager for claim in self._of_spec if claim.fields_v1["f:spec"] != {"f:replicas": {}}}

    @property
    def _of_spec(self) -> tuple[ManagedFields, ...]:
        return tuple(claim for claim in self.managed_fields if "f:spec" in claim.fields_v1 and not claim.subresource)


class Claimed(Wire, frozen=True):
    """An object with who has set what."""

    metadata: ClaimedMeta


def namespace(kube: KubeClient, name: str) -> ObjectMeta:
    """A Namespace."""
    return _one(kube, f"/api/v1/namespaces/{label_of(name)}", f"Namespace {name}")


def custom(kube: KubeClient, space: str, plural: str, name: str) -> ClaimedMeta:
    """A resource of the operator's, such as of ``restapis``, with who has set what."""
    path = f"/apis/{API_VERSION}/namespaces/{label_of(space)}/{plural}/{label_of(name)}"
    return kube.asked(path, Claimed, f"{plural} {space}/{name}", headers={"accept": METADATA_ONLY}).metadata


def definition(kube: KubeClient, name: str) -> ObjectMeta:
    """A CustomResourceDefinition."""
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{label_of(name)}"
    return _one(kube, path, f"CRD {name}")


def secret(kube: KubeClient, space: str, name: str) -> ObjectMeta:
    """A Secret."""
    return _one(kube, place("Secret", space, name), f"Secret {space}/{name}")


def secrets(kube: KubeClient, space: str, labels: Mapping[str, str]) -> tuple[ObjectMeta, ...]:
    """Secrets with these labels, of which there may be none."""
    params = {"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())}
    return _all(kube, "Secret", space, params)


def pods(kube: KubeClient, space: str, selector: str) -> tuple[ObjectMeta, ...]:
    """Pods that a label selector chooses."""
    return _all(kube, "Pod", space, {"labelSelector": selector})


def is_makers(kube: KubeClient, space: str, pod: str, annotation: str) -> bool:
    """Whether the client that made a pod has also set an annotation on it, and no other client has. slurm-operator makes the
    pods of NodeSets. False where the pod is gone, or field managers don't say it."""
    params, headers = {"fieldSelector": f"metadata.name={label_of(pod)}"}, {"accept": METADATA_OF_ALL}
    claimed_pods = kube.listed(place("Pod", space), PartlyListed[Claimed], f"Pod {space}/{pod}", params, headers)
    metas = [claimed_pod.metadata for claimed_pod in claimed_pods]
    makers = [(metadata.setters("ownerReferences"), metadata.setters("annotations", annotation)) for metadata in metas]
    return any(len(made) == 1 and made == wrote for made, wrote in makers)


def _all(kube: KubeClient, kind: str, space: str, params: dict[str, str]) -> tuple[ObjectMeta, ...]:
    headers, what = {"accept": METADATA_OF_ALL}, f"{kind}s of {space}"
    resources = kube.listed(place(kind, space), PartlyListed[PartialObjectMetadata], what, params, headers)
    return tuple(resource.metadata for resource in resources)


def _one(kube: KubeClient, path: str, what: str) -> ObjectMeta:
    return kube.asked(path, PartialObjectMetadata, what, headers={"accept": METADATA_ONLY}).metadata
