"""Kubernetes' and slurm-operator's objects as the API server writes them, frozen, by their own names (``pod.metadata``);
what this program derives is a property. Fields without a default must be there; others not read here are ignored.
Sources: slurm-operator ``*_types.go``, ``well_known.go``, ``utils.go``, ``slurmcontrol.go`` (pod conditions)."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, Final, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct

from slinky_iac import causes, names
from slinky_iac.decoders import decoder
from slinky_iac.errors import KubeError
from slinky_iac.kube.annotations import read_cost, read_flag
from slinky_iac.text import one_line

REVISION_LABEL: Final = "controller.kubernetes.io/hash"  # set by the operator, as Kubernetes' ControllerRevisionHashLabel
LONGEST_HOSTNAME: Final = 63  # kubelet cuts a pod's name to this where it becomes its host name
Read = TypeVar("Read")
Item = TypeVar("Item")
Text = Annotated[str, Meta(min_length=1)]
Moment = Annotated[datetime, Meta(tz=True)]


class Wire(Struct, frozen=True, rename="camel"):
    """Base of what is read: types are never bent to fit, and unknown fields are ignored."""


class ListMeta(Wire, frozen=True):
    """metadata of a page."""

    continue_: str = msgspec.field(default="", name="continue")


class Listed(Wire, Generic[Item], frozen=True):
    """Objects of one kind, or one page of them."""

    items: tuple[Item, ...]
    metadata: ListMeta = ListMeta()


class PartlyListed(Wire, Generic[Item], frozen=True):
    """The metadata of objects, or one page of it; without a single one the API server says null."""

    items: tuple[Item, ...] | None
    metadata: ListMeta = ListMeta()


def read(body: bytes, kind: type[Read], what: str) -> Read:
    """``body`` as ``kind``. Raises :class:`KubeError` (never quoting the body) where it is something else."""
    try:
        return decoder(kind).decode(body)
    except (ValueError, RecursionError) as error:
        own = isinstance(error, msgspec.MsgspecError)
        said = causes.of_page(body) or (one_line(str(error)) if own else causes.of_shape(error))
        raise KubeError(
            f"{what}: the answer isn't what Kubernetes documents ({said}): nothing concluded from it", status=200
        ) from None


def seconds(moment: datetime | None) -> int | None:
    """Seconds since 1970."""
    return None if moment is None else int(moment.timestamp())


class _OwnerReference(Wire, frozen=True):
    uid: str
    controller: bool = False


class ManagedFields(Wire, frozen=True):
    """Who set which fields, when last, and through which part (``status``, ``scale``; empty: the object itself)."""

    manager: str = ""
    time: Moment | None = None
    subresource: str = ""
    fields_v1: dict[str, Any] = {}


class ObjectMeta(Wire, frozen=True, kw_only=True):
    """metadata of any object."""

    name: Text
    uid: Text
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: Moment | None = None
    deletion_timestamp: str | None = None
    generation: int = 0

    @property
    def created(self) -> int | None:
        """When it was made, in seconds since 1970."""
        return seconds(self.creation_timestamp)


class PartialObjectMetadata(Wire, frozen=True):
    """An object of any kind: what it is called, which one it is, and who made it; never what it holds."""

    metadata: ObjectMeta


class WrittenMeta(ObjectMeta, frozen=True, kw_only=True):
    """metadata of an object that is written to, exactly as it was looked at."""

    resource_version: Text
    creation_timestamp: Moment
    owner_references: tuple[_OwnerReference, ...] = ()


class Condition(Wire, frozen=True):
    """One of a pod's conditions."""

    type: str
    status: str
    message: str = ""
    last_transition_time: Moment | None = None


class Waiting(Wire, frozen=True):
    """Why a container doesn't run yet."""

    reason: str = ""
    message: str = ""


class _Terminated(Wire, frozen=True):
    reason: str = ""
    message: str = ""
    exit_code: int = 0


class _ContainerState(Wire, frozen=True):
    waiting: Waiting | None = None
    terminated: _Terminated | None = None


class _ContainerStatus(Wire, frozen=True):
    name: str = ""
    state: _ContainerState = _ContainerState()


class PodSpec(Wire, frozen=True):
    """Where a pod runs, and under which name."""

    node_name: str = ""
    """Kubernetes node; empty while unscheduled."""
    hostname: str = ""
    host_network: bool = False
    affinity: dict[str, Any] | None = None

    def host_name(self, pod: str) -> str:
        """What a process in the pod of this name sees as its host's name; ``""`` on the host network while unscheduled."""
        return self.node_name if self.host_network else self.hostname or pod[:LONGEST_HOSTNAME]


class PodStatus(Wire, frozen=True):
    """How a pod is."""

    phase: str = "Unknown"
    reason: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] = ()
    init_container_statuses: tuple[_ContainerStatus, ...] = ()
    container_statuses: tuple[_ContainerStatus, ...] = ()
    qos_class: str = ""


class Pod(Wire, frozen=True, dict=True):
    """One pod, terminating and failed ones included (the operator counts them all)."""

    metadata: WrittenMeta
    spec: PodSpec
    status: PodStatus = PodStatus()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def created(self) -> int:
        """When it was made, in seconds since 1970."""
        return int(self.metadata.creation_timestamp.timestamp())

    @property
    def terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def scheduled(self) -> bool:
        """Kubernetes has given it a node."""
        return self.spec.node_name != ""

    @property
    def slurm_node(self) -> str:
        """The Slurm node that this pod's slurmd registers as (operator's utils.go, GetSlurmNodeName)."""
        mode = self.metadata.labels.get(names.LABEL_SCALING_MODE)
        return (mode == "DaemonSet" and self.spec.hostname) or self.spec.host_name(self.name)

    @cached_property
    def ordinal(self) -> int:
        """Its number; -1 for one without, as in DaemonSet mode."""
        text = self.metadata.labels.get(names.LABEL_POD_INDEX, self.name.rpartition("-")[2])
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1

    @cached_property
    def ready(self) -> bool:
        return any(state.type == "Ready" and state.status == "True" for state in self.status.conditions)

    @cached_property
    def healthy(self) -> bool:
        """Scheduled, running and ready: the pods that the operator ranks last (ActivePods.Less steps 1 to 3)."""
        return self.scheduled and self.status.phase == "Running" and self.ready

    @cached_property
    def ready_changed(self) -> int | None:
        """Last change of the Ready condition, to either side: how long a pod has been *un*ready, too."""
        return next((seconds(state.last_transition_time) for state in self.status.conditions if state.type == "Ready"), None)

    @cached_property
    def slurm_states(self) -> frozenset[str]:
        """Its node's states in the operator's own look at Slurm, up to 30 s old."""
        return frozenset(map(_slurm_name, self._operator_saw))

    @property
    def slurm_reason(self) -> str:
        """The drain reason in that look."""
        return self._operator_saw["Drain"].message if "Drain" in self._operator_saw else ""

    @property
    def _operator_saw(self) -> dict[str, Condition]:
        prefix, states = names.CONDITION_PREFIX, (state for state in self.status.conditions if state.status == "True")
        return {state.type.removeprefix(prefix): state for state in states if state.type.startswith(prefix)}

    @property
    def revision(self) -> str:
        """Which template made it: the NodeSet's :attr:`NodeSet.revision` where it is up to date."""
        return self.metadata.labels.get(REVISION_LABEL, "")

    @property
    def gate(self) -> str:
        """Our owner tag as written, ``""`` when absent."""
        return self.metadata.annotations.get(names.ANNOTATION_GATE, "")

    @property
    def cost_text(self) -> str | None:
        """``pod-deletion-cost`` as written, None when absent: what a cancel puts back."""
        return self.metadata.annotations.get(names.ANNOTATION_DELETION_COST)

    @cached_property
    def deletion_cost(self) -> int:
        """``pod-deletion-cost`` as the operator reads it: 0 when absent or no int32."""
        return read_cost(self.cost_text)

    @property
    def cordon(self) -> bool:
        """``pod-cordon`` is true."""
        return read_flag(self.metadata.annotations.get(names.ANNOTATION_POD_CORDON))

    @cached_property
    def deadline(self) -> int | None:
        """``pod-deadline``, by the operator from the jobs' ends; None when absent or unreadable, as for the operator."""
        text = self.metadata.annotations.get(names.ANNOTATION_POD_DEADLINE)
        try:
            moment = datetime.fromisoformat(text or "")
        except ValueError:
            return None
        return seconds(moment) if moment.tzinfo is not None else None

    @property
    def trouble(self) -> str:
        """Why it doesn't run: containers that wait or ended in error, or no node."""
        why = []
        for container in (*self.status.init_container_statuses, *self.status.container_statuses):
            waiting, ended = container.state.waiting, container.state.terminated
            if waiting is not None and waiting.reason not in ("", "ContainerCreating", "PodInitializing"):
                why.append(f"{container.name}: {waiting.reason}{f' ({waiting.message[:200]})' if waiting.message else ''}")
            elif ended is not None and ended.exit_code:
                why.append(f"{container.name}: {ended.reason or 'ended'} with exit code {ended.exit_code}")
        unscheduled = [c.message for c in self.status.conditions if c.type == "PodScheduled" and c.status == "False"]
        return "; ".join([*why, *(text[:200] for text in unscheduled if text)])


class _UpdateStrategy(Wire, frozen=True):
    type: str = "RollingUpdate"


class OwnPartition(Wire, frozen=True):
    """Whether slurmctld in Kubernetes has a partition for the NodeSet, which goes with it."""

    enabled: bool = False


class _TemplateSpec(Wire, frozen=True):
    host_network: bool = False
    node_selector: dict[str, str] | None = None
    affinity: dict[str, Any] | None = None
    tolerations: list[dict[str, Any]] | None = None


class _Template(Wire, frozen=True):
    spec: _TemplateSpec = _TemplateSpec()


class _NodeSetSpec(Wire, frozen=True):
    replicas: int = 1
    template: _Template = _Template()
    scaling_mode: str = "StatefulSet"
    ordinal_padding: int = 0  # digits of a pod's number: with 3 gpu-007
    update_strategy: _UpdateStrategy = _UpdateStrategy()
    partition: OwnPartition = OwnPartition()


class _NodeSetStatus(Wire, frozen=True):
    replicas: int = 0
    desired: int = 0  # machines that fit, with DaemonSet
    updated_replicas: int = 0
    observed_generation: int = 0
    node_set_hash: str = ""
    selector: str = ""


class NodeSet(Wire, frozen=True):
    """slurm-operator's NodeSet."""

    metadata: WrittenMeta
    spec: _NodeSetSpec
    status: _NodeSetStatus = _NodeSetStatus()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def deleting(self) -> bool:
        """It has a deletion timestamp."""
        return self.metadata.deletion_timestamp is not None

    @property
    def observed(self) -> bool:
        """The operator has seen the last change."""
        return self.metadata.generation == self.status.observed_generation

    @property
    def revision(self) -> str:
        """Which template new pods are made from, of the generation that was observed; ``""`` where not known."""
        return self.status.node_set_hash

    @property
    def on_delete(self) -> bool:
        """Old pods are no sign of a rollout."""
        return self.spec.update_strategy.type == "OnDelete"

    @property
    def on_host_network(self) -> bool:
        """Its new pods register in Slurm under the names of their Kubernetes nodes."""
        return self.spec.template.spec.host_network

    @property
    def has_pods(self) -> bool:
        """The operator counts pods of it."""
        return self.status.replicas > 0

    @property
    def frozen(self) -> str | None:
        """Text of the annotation that forbids changes, None when absent."""
        return self.metadata.annotations.get(names.ANNOTATION_FREEZE)

    @property
    def frozen_in_words(self) -> str:
        """That nothing may change it, and the command that lifts that; ``""`` where it may be changed."""
        key, text = names.ANNOTATION_FREEZE, self.frozen
        lift = f"kubectl annotate nodesets.{names.GROUP} -n {self.metadata.namespace} {self.name} {key}-"
        return (
            "" if text is None else f"{self.name} is frozen by its annotation {key} ({text or 'no text'}); `{lift}` lifts it"
        )

    @property
    def permitted(self) -> bool:
        """A gate has permitted a write or the deletion, and nothing was written since: the fence still lets it through."""
        return names.permit_holds(self.metadata.annotations.get(names.ANNOTATION_PERMIT, ""), self.metadata.generation)

    @property
    def template(self) -> str:
        """Digest of its template as this program rendered it; ``""`` where it isn't noted."""
        return self.metadata.annotations.get(names.ANNOTATION_TEMPLATE, "")

    def rolling(self, pods: int) -> bool:
        """Whether a rolling update is on: fewer up-to-date pods than pods."""
        most = pods if self.spec.scaling_mode == "DaemonSet" else min(pods, self.spec.replicas)
        return not self.on_delete and self.status.updated_replicas < most


def _slurm_name(camel: str) -> str:
    """``NotResponding`` as Slurm writes it: ``NOT_RESPONDING``."""
    return "".join(f"_{c}" if c.isupper() and at else c.upper() for at, c in enumerate(camel))
