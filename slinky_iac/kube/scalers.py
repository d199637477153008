"""Autoscalers of NodeSets: KEDA's ScaledObjects and the HorizontalPodAutoscalers that act for them.

Sources: KEDA 2.17 ``apis/keda/v1alpha1``, Kubernetes autoscaling/v2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from slinky_iac.errors import KubeNotFound
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.objects import Condition, Listed, Wire, WrittenMeta
from slinky_iac.kube.requests import place
from slinky_iac.kube.resources import Scaler, ScaleTarget
from slinky_iac.names import ANNOTATION_PAUSED_BY, GROUP, KEDA_HPA, KEDA_PAUSED


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
    return kube.asked(place("ScaledObject", namespace, name), ScaledObject, f"ScaledObject {namespace}/{name}")


def autoscalers(kube: KubeClient, namespace: str, nodeset: str) -> tuple[Autoscaler, ...]:
    """HorizontalPodAutoscalers that write a NodeSet's replicas."""
    path, what = place("HorizontalPodAutoscaler", namespace), f"HorizontalPodAutoscalers of {namespace}"
    return tuple(each for each in kube.listed(path, Listed[Autoscaler], what) if each.scales(nodeset, GROUP))


def rivals(found: Iterable[str], own: str) -> tuple[str, ...]:
    """Autoscalers of a NodeSet, ``kind/name``, besides the ScaledObject ``own`` and what KEDA makes of it."""
    ours = {f"ScaledObject/{own}", f"HorizontalPodAutoscaler/{KEDA_HPA}{own}"}
    return tuple(each for each in found if each not in ours)


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
        place("ScaledObject", namespace, name),
        state.metadata,
        {"metadata": {"annotations": dict(annotations)}, **spec},
        what,
    )
