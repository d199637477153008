"""What writes numbers of pods, of this stack or of others: HorizontalPodAutoscalers and KEDA's ScaledObjects.

Sources: KEDA 2.17 ``apis/keda/v1alpha1``, Kubernetes autoscaling/v2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from slinky_iac.errors import KubeNotFound
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.objects import Listed, ObjectMeta, Wire
from slinky_iac.kube.requests import place
from slinky_iac.names import GROUP

KEDA_HPA = "keda-hpa-"
"""Beginning of the name of the HorizontalPodAutoscaler that KEDA makes; the ScaledObject's name follows."""
HPA: Final = "HorizontalPodAutoscaler"
SCALED_OBJECT: Final = "ScaledObject"
APIS: Final = {HPA: "/apis/autoscaling/v2", SCALED_OBJECT: "/apis/keda.sh/v1alpha1"}
"""Where kinds of autoscalers are served. Every Kubernetes has the first; KEDA may be missing."""


class ScaleTarget(Wire, frozen=True):
    """The object that an autoscaler scales."""

    name: str
    kind: str = "Deployment"
    api_version: str = ""


class _ScalerSpec(Wire, frozen=True):
    scale_target_ref: ScaleTarget


class Scaler(Wire, frozen=True):
    """A HorizontalPodAutoscaler or a ScaledObject, as far as both are alike."""

    metadata: ObjectMeta
    spec: _ScalerSpec

    def scales(self, nodeset: str) -> bool:
        """Whether it writes the number of pods of this NodeSet."""
        target = self.spec.scale_target_ref
        return (target.kind, target.name, target.api_version.partition("/")[0]) == ("NodeSet", nodeset, GROUP)


def all_scalers(kube: KubeClient, namespace: str) -> tuple[tuple[str, Scaler], ...]:
    """All autoscalers of a namespace, by ``kind/name``: HPAs, and ScaledObjects where KEDA is installed.

    :raises KubeForbidden: they can't be seen, which isn't the same as none.
    """
    scalers: list[tuple[str, Scaler]] = []
    for kind in APIS:
        try:
            listed = kube.listed(place_of(kind, namespace), Listed[Scaler], f"{kind}s of {namespace}")
        except KubeNotFound:
            if kind == HPA:
                raise
            continue
        scalers += [(f"{kind}/{scaler.metadata.name}", scaler) for scaler in listed]
    return tuple(scalers)


def writing(scalers: Iterable[tuple[str, Scaler]], nodeset: str, own: str = "") -> tuple[str, ...]:
    """Names of those that write a NodeSet's replicas, besides the ScaledObject ``own`` and what KEDA makes of it."""
    ours = {f"{SCALED_OBJECT}/{own}", f"{HPA}/{KEDA_HPA}{own}"} if own else set[str]()
    return tuple(name for name, scaler in scalers if scaler.scales(nodeset) and name not in ours)


def writers(kube: KubeClient, namespace: str, nodeset: str, own: str = "") -> tuple[str, ...]:
    """The same of the namespace, as it is now. Raises as :func:`all_scalers`."""
    return writing(all_scalers(kube, namespace), nodeset, own)


def place_of(kind: str, namespace: str, name: str | None = None) -> str:
    """Where the API server has autoscalers of a kind, or one of them."""
    return place(kind, namespace, name, api=APIS[kind])
