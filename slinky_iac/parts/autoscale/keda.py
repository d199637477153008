"""KEDA's ScaledObjects, and the HorizontalPodAutoscalers that act for them.

Sources: KEDA 2.17 ``apis/keda/v1alpha1``, Kubernetes autoscaling/v2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from slinky_iac.drain.own_writers import WriterState
from slinky_iac.errors import KubeNotFound
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.objects import Condition, Listed, Wire, WrittenMeta
from slinky_iac.kube.scalers import HPA, SCALED_OBJECT, Scaler, ScaleTarget, place_of
from slinky_iac.names import ANNOTATION_PAUSED_BY

PAUSED: Final = "autoscaling.keda.sh/paused"
"""Annotation of KEDA: while it is ``true``, KEDA scales nothing and removes the HorizontalPodAutoscaler that it made."""


class _ScaledObjectSpec(Wire, frozen=True):
    scale_target_ref: ScaleTarget
    max_replica_count: int | None = None


class Conditions(Wire, frozen=True):
    """A status, as far as it is read here."""

    conditions: tuple[Condition, ...] = ()

    def says(self, condition: str, status: str = "True") -> Condition | None:
        """The condition, where its status is that one."""
        return next((known for known in self.conditions if (known.type, known.status) == (condition, status)), None)


class ScaledObject(Wire, frozen=True):
    """A ScaledObject (keda.sh/v1alpha1)."""

    metadata: WrittenMeta
    spec: _ScaledObjectSpec
    status: Conditions = Conditions()

    @property
    def paused(self) -> bool:
        """Whether KEDA is asked to do nothing; any value but false asks so."""
        return self.metadata.annotations.get(PAUSED, "false") != "false"


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
    return kube.asked(place_of(SCALED_OBJECT, namespace, name), ScaledObject, f"ScaledObject {namespace}/{name}")


def autoscalers(kube: KubeClient, namespace: str, nodeset: str) -> tuple[Autoscaler, ...]:
    """HorizontalPodAutoscalers that write a NodeSet's replicas."""
    path, what = place_of(HPA, namespace), f"HorizontalPodAutoscalers of {namespace}"
    return tuple(autoscaler for autoscaler in kube.listed(path, Listed[Autoscaler], what) if autoscaler.scales(nodeset))


def state_of(kube: KubeClient, namespace: str, name: str, nodeset: str) -> WriterState:
    """How the ScaledObject of a NodeSet is."""
    try:
        scaler = scaled_object(kube, namespace, name)
    except KubeNotFound:
        return WriterState(paused=False, said=("its ScaledObject is missing: `pulumi up --refresh` makes it again",))
    troubles = (autoscaler.trouble for autoscaler in autoscalers(kube, namespace, nodeset))
    trouble = next((sentence for sentence in troubles if sentence), "")
    if scaler.paused:
        paused_by = scaler.metadata.annotations.get(ANNOTATION_PAUSED_BY, "")
        whose = f"gate {paused_by.partition(' ')[0]}" if paused_by else "a person"
        return WriterState(paused=True, said=(f"KEDA is paused by {whose}",))
    # A metric gave no answer several times, or the last look at its metrics failed, in Kubernetes' words.
    if trouble or scaler.status.says("Fallback") or scaler.status.says("Ready", "False"):
        why = f": {trouble}" if trouble else ""
        return WriterState(paused=False, said=(f"KEDA gets no metric, so the number stays{why}",))
    return WriterState(paused=False)


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
        place_of(SCALED_OBJECT, namespace, name),
        state.metadata,
        {"metadata": {"annotations": dict(annotations)}, **spec},
        what,
    )
