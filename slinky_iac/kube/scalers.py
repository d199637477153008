"""Autoscalers of NodeSets: KEDA's ScaledObjects and the HorizontalPodAutoscalers that act for them.

Sources: KEDA 2.17 ``apis/keda/v1alpha1``, Kubernetes autoscaling/v2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from slinky_iac.errors import KubeNotFound
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.objects import Condition, Listed, ObjectMeta, Wire, WrittenMeta
from slinky_iac.kube.requests import place
from slinky_iac.names import ANNOTATION_PAUSED_BY, GROUP

KEDA_HPA = "keda-hpa-"
"""Beginning of the name of the HorizontalPodAutoscaler that KEDA makes; the ScaledObject's name follows."""
KEDA_PAUSED = "autoscaling.keda.sh/paused"
"""Annotation of KEDA: while it is ``true``, KEDA scales nothing and removes the HorizontalPodAutoscaler that it made."""
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


class _ScaledObjectSpec(Wire, frozen=True):
    scale_target_ref: ScaleTarget
    max_replica_count: int | None = None


class Conditions(Wire, frozen=True):
    """A status, as far as it is read here."""

    conditions: tuple[Condition, ...] = ()

    def says(self, condition: str, status: str = "True") -> Condition | None:
        """The condition, where its status is that one."""
        return next((each for each in self.conditions if (each.type, each.status) == (condition, status)), None)


class ScaledObject(Wire, frozen=True):
    """A ScaledObject (keda.sh/v1alpha1)."""

    metadata: WrittenMeta
    spec: _ScaledObjectSpec
    status: Conditions = Conditions()

    @property
    def paused(self) -> bool:
        """Whether KEDA is asked to do nothing; any value but false asks so."""
        return self.metadata.annotations.get(KEDA_PAUSED, "false") != "false"


class Autoscaler(Scaler, frozen=True):
    """A HorizontalPodAutoscaler (autoscaling/v2)."""

    status: Conditions = Conditions()

    @property
    def trouble(self) -> str:
        """Why it can't act, in Kubernetes' words: its metric gave no answer; ``""`` where it can."""
        failed = self.status.says("ScalingActive", "False")
        return failed.message if failed else ""


def scaled_object(kube: KubeClient, namespace: str, name: str) -> ScaledObject:
    """A ScaledObject. :raises KubeNotFound: it isn't there, or KEDA isn't."""
    return kube.asked(_place(SCALED_OBJECT, namespace, name), ScaledObject, f"ScaledObject {namespace}/{name}")


def autoscalers(kube: KubeClient, namespace: str, nodeset: str) -> tuple[Autoscaler, ...]:
    """HorizontalPodAutoscalers that write a NodeSet's replicas."""
    path, what = _place(HPA, namespace), f"HorizontalPodAutoscalers of {namespace}"
    return tuple(each for each in kube.listed(path, Listed[Autoscaler], what) if each.scales(nodeset))


def all_scalers(kube: KubeClient, namespace: str) -> tuple[tuple[str, Scaler], ...]:
    """All autoscalers of a namespace, by ``kind/name``: HPAs, and ScaledObjects where KEDA is installed.

    :raises KubeForbidden: they can't be seen, which isn't the same as none.
    """
    found: list[tuple[str, Scaler]] = []
    for kind in APIS:
        try:
            listed = kube.listed(_place(kind, namespace), Listed[Scaler], f"{kind}s of {namespace}")
        except KubeNotFound:
            if kind == HPA:
                raise
            continue
        found += [(f"{kind}/{each.metadata.name}", each) for each in listed]
    return tuple(found)


def writing(found: Iterable[tuple[str, Scaler]], nodeset: str, own: str = "") -> tuple[str, ...]:
    """Names of those that write a NodeSet's replicas, besides the ScaledObject ``own`` and what KEDA makes of it."""
    ours = {f"{SCALED_OBJECT}/{own}", f"{HPA}/{KEDA_HPA}{own}"} if own else set[str]()
    return tuple(name for name, each in found if each.scales(nodeset) and name not in ours)


def writers(kube: KubeClient, namespace: str, nodeset: str, own: str = "") -> tuple[str, ...]:
    """The same of the namespace, as it is now. Raises as :func:`all_scalers`."""
    return writing(all_scalers(kube, namespace), nodeset, own)


@dataclass(frozen=True)
class Scaling:
    """How an autoscaler of KEDA's is, for people."""

    there: bool = True
    paused: bool = False
    paused_by: str = ""
    """Our mark; ``""`` where a person has paused it."""
    falls_back: bool = False
    """A metric gave no answer several times, so the number stays as it is."""
    trouble: str = ""
    """Why the last look at its metrics failed, in Kubernetes' words."""


def scaling(kube: KubeClient, namespace: str, name: str, nodeset: str) -> Scaling:
    """How the ScaledObject of a NodeSet is."""
    try:
        found = scaled_object(kube, namespace, name)
    except KubeNotFound:
        return Scaling(there=False)
    troubles = (each.trouble for each in autoscalers(kube, namespace, nodeset))
    return Scaling(
        paused=found.paused,
        paused_by=found.metadata.annotations.get(ANNOTATION_PAUSED_BY, ""),
        falls_back=bool(found.status.says("Fallback") or found.status.says("Ready", "False")),
        trouble=next((each for each in troubles if each), ""),
    )


def write(
    kube: KubeClient,
    namespace: str,
    state: ScaledObject,
    annotations: Mapping[str, str | None],
    max_replicas: int | None = None,
) -> None:
    """Set (or with None remove) annotations on exactly the ScaledObject that was looked at, and its maximum.

    :raises KubeConflict: it was changed or replaced since: look again.
    """
    spec = {} if max_replicas is None else {"spec": {"maxReplicaCount": max_replicas}}
    name = state.metadata.name
    what = f"ScaledObject {namespace}/{name}"
    kube.patch(
        _place(SCALED_OBJECT, namespace, name),
        state.metadata,
        {"metadata": {"annotations": dict(annotations)}, **spec},
        what,
    )


def _place(kind: str, namespace: str, name: str | None = None) -> str:
    return place(kind, namespace, name, api=APIS[kind])
