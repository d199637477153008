"""The wire format of the few Kubernetes objects a drain needs, and its reading into :mod:`slinky_iac.kube.models`.

Fields that the operator relies on are checked, others ignored (slurm-operator ``api/v1beta1/*_types.go``;
``slurmcontrol.go`` for the pod conditions).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from slinky_iac.errors import KubeError
from slinky_iac.kube.models import ControllerState, NodeSetState, Pod, Ref, RestApiState, Scaler
from slinky_iac.names import LABEL_POD_INDEX

CONDITION_PREFIX = "SlurmNodeState"
"""NOTE: pod conditions set by the operator: ``SlurmNodeStateDrain`` and the like, from its own (cached) look at Slurm."""
REVISION_LABEL = "controller.kubernetes.io/hash"
"""NOTE: set by the operator (its copy of Kubernetes' history package, ControllerRevisionHashLabel)."""


class _Raw(BaseModel):
    model_config = ConfigDict(
        extra="ignore", hide_input_in_errors=True, strict=True, populate_by_name=True, defer_build=True
    )


class _Owner(_Raw):
    kind: str
    name: str
    uid: str
    controller: bool = False


class _Meta(_Raw):
    name: str = Field(min_length=1)
    namespace: str = ""
    uid: str = Field(min_length=1)
    resource_version: str = Field(min_length=1, alias="resourceVersion")
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    created: AwareDatetime = Field(alias="creationTimestamp")
    deleted: str | None = Field(None, alias="deletionTimestamp")
    owners: list[_Owner] = Field([], alias="ownerReferences")


class _Condition(_Raw):
    type: str
    status: str
    message: str = ""
    since: AwareDatetime | None = Field(None, alias="lastTransitionTime")


class _PodSpec(_Raw):
    node_name: str = Field("", alias="nodeName")
    hostname: str = ""
    host_network: bool = Field(default=False, alias="hostNetwork")


class _Waiting(_Raw):
    reason: str = ""
    message: str = ""


class _Ended(_Raw):
    reason: str = ""
    exit_code: int = Field(0, alias="exitCode")


class _ContainerState(_Raw):
    waiting: _Waiting | None = None
    terminated: _Ended | None = None


class _ContainerStatus(_Raw):
    name: str
    state: _ContainerState = _ContainerState()


class _PodStatus(_Raw):
    phase: str = "Unknown"
    conditions: list[_Condition] = []
    init_containers: list[_ContainerStatus] = Field([], alias="initContainerStatuses")
    containers: list[_ContainerStatus] = Field([], alias="containerStatuses")


class _Pod(_Raw):
    metadata: _Meta
    spec: _PodSpec
    status: _PodStatus = _PodStatus()


class _ListMeta(_Raw):
    proceed: str = Field("", alias="continue")


class PodList(_Raw):
    """One page of pods."""

    metadata: _ListMeta = _ListMeta()
    items: list[_Pod]


class _Ref(_Raw):
    name: str = ""
    namespace: str = ""


class _Strategy(_Raw):
    type: str = "RollingUpdate"


class _Partition(_Raw):
    enabled: bool = False


class _NodeSetSpec(_Raw):
    replicas: int = 1
    controller_ref: _Ref = Field(alias="controllerRef")
    strategy: _Strategy = Field(_Strategy(), alias="updateStrategy")
    scaling_mode: str = Field("StatefulSet", alias="scalingMode")
    partition: _Partition = _Partition()


class _NodeSetStatus(_Raw):
    replicas: int = 0
    updated: int = Field(0, alias="updatedReplicas")
    ready: int = Field(0, alias="readyReplicas")
    available: int = Field(0, alias="availableReplicas")
    observed: int = Field(0, alias="observedGeneration")
    hash: str = Field("", alias="nodeSetHash")
    selector: str = ""
    idle: int = Field(0, alias="slurmIdle")
    allocated: int = Field(0, alias="slurmAllocated")
    down: int = Field(0, alias="slurmDown")
    drain: int = Field(0, alias="slurmDrain")


class NodeSetBody(_Raw):
    """A NodeSet as the API server gives it."""

    metadata: _Meta
    spec: _NodeSetSpec
    status: _NodeSetStatus = _NodeSetStatus()

    def value(self) -> NodeSetState:
        meta, spec, status = self.metadata, self.spec, self.status
        return NodeSetState(
            name=meta.name,
            uid=meta.uid,
            resource_version=meta.resource_version,
            generation=meta.generation,
            observed_generation=status.observed,
            deleting=meta.deleted is not None,
            replicas_spec=spec.replicas,
            replicas_status=status.replicas,
            updated=status.updated,
            ready=status.ready,
            available=status.available,
            hash=status.hash,
            slurm_idle=status.idle,
            slurm_allocated=status.allocated,
            slurm_down=status.down,
            slurm_drain=status.drain,
            controller_ref=Ref(spec.controller_ref.name, spec.controller_ref.namespace),
            update_strategy=spec.strategy.type,
            scaling_mode=spec.scaling_mode,
            selector=status.selector,
            annotations=MappingProxyType(meta.annotations),
            own_partition=spec.partition.enabled,
        )


class _External(_Raw):
    host: str = ""
    port: int = 0


class _ControllerSpec(_Raw):
    cluster_name: str = Field("", alias="clusterName")
    external: bool = False
    external_config: _External = Field(_External(), alias="externalConfig")
    extra_conf: str = Field("", alias="extraConf")


class ControllerBody(_Raw):
    """A Controller as the API server gives it."""

    metadata: _Meta
    spec: _ControllerSpec

    def value(self) -> ControllerState:
        meta, spec = self.metadata, self.spec
        return ControllerState(
            name=meta.name,
            uid=meta.uid,
            cluster_name=spec.cluster_name,
            external=spec.external,
            host=spec.external_config.host,
            port=spec.external_config.port,
            deleting=meta.deleted is not None,
            extra_conf=spec.extra_conf,
        )


class ControllerList(_Raw):
    """All Controllers."""

    items: list[ControllerBody]


class _RestApiSpec(_Raw):
    replicas: int = 1
    controller_ref: _Ref = Field(alias="controllerRef")


class RestApiBody(_Raw):
    """A RestApi as the API server gives it."""

    metadata: _Meta
    spec: _RestApiSpec

    def value(self) -> RestApiState:
        ref = self.spec.controller_ref
        return RestApiState(
            name=self.metadata.name,
            uid=self.metadata.uid,
            controller_ref=Ref(ref.name, ref.namespace),
            replicas_spec=self.spec.replicas,
            deleting=self.metadata.deleted is not None,
        )


class VersionBody(_Raw):
    """GET /version: what the API server is."""

    git_version: str = Field("", alias="gitVersion")


class RestApiList(_Raw):
    """All RestApis of a namespace."""

    items: list[RestApiBody]


class _DeploymentStatus(_Raw):
    available: int = Field(0, alias="availableReplicas")


class _Image(_Raw):
    image: str = ""


class _PodOfDeployment(_Raw):
    containers: list[_Image] = []


class _Template(_Raw):
    spec: _PodOfDeployment = _PodOfDeployment()


class _DeploymentSpec(_Raw):
    template: _Template = _Template()


class DeploymentBody(_Raw):
    """Only what tells whether a Deployment serves, and from which images."""

    spec: _DeploymentSpec = _DeploymentSpec()
    status: _DeploymentStatus = _DeploymentStatus()


class _Target(_Raw):
    api_version: str = Field("", alias="apiVersion")
    kind: str = "Deployment"
    name: str


class _ScalerSpec(_Raw):
    target: _Target = Field(alias="scaleTargetRef")
    minimum: int | None = Field(None, alias="minReplicas")
    maximum: int | None = Field(None, alias="maxReplicas")
    keda_minimum: int | None = Field(None, alias="minReplicaCount")
    keda_idle: int | None = Field(None, alias="idleReplicaCount")
    keda_maximum: int | None = Field(None, alias="maxReplicaCount")


class _Scaler(_Raw):
    metadata: _Meta
    spec: _ScalerSpec


class ScalerList(_Raw):
    """HorizontalPodAutoscalers (autoscaling/v2) or ScaledObjects (keda.sh/v1alpha1) of a namespace."""

    items: list[_Scaler]

    def of_nodeset(self, nodeset: str, group: str, kind: str) -> tuple[Scaler, ...]:
        return tuple(
            _scaler(item, kind)
            for item in self.items
            if item.spec.target.kind == "NodeSet"
            and item.spec.target.name == nodeset
            and item.spec.target.api_version.partition("/")[0] == group
        )


def _scaler(item: _Scaler, kind: str) -> Scaler:
    spec, annotations = item.spec, item.metadata.annotations
    keda = kind == "ScaledObject"
    low = spec.keda_minimum if keda else spec.minimum
    high = spec.keda_maximum if keda else spec.maximum
    lows = [n for n in ((0 if keda else 1) if low is None else low, spec.keda_idle) if n is not None]
    paused = annotations.get("autoscaling.keda.sh/paused", "").lower() == "true"
    paused = paused or "autoscaling.keda.sh/paused-replicas" in annotations
    return Scaler(kind, item.metadata.name, min(lows), 100 if high is None else high, paused=paused)


Body = TypeVar("Body", bound=BaseModel)


def read(body: bytes, model: type[Body], what: str) -> Body:
    """``body`` as ``model``. Raises :class:`KubeError` (never quoting the body) where it is something else."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(p) for p in e['loc'])}: {e['msg']}"
            for e in error.errors(include_input=False, include_url=False, include_context=False)[:3]
        )
        raise KubeError(
            f"{what}: the answer isn't what Kubernetes documents ({faults[:300]}): nothing concluded from it", status=200
        ) from None


def pods_owned(page: PodList, owner_uid: str) -> tuple[Pod, ...]:
    """The pods on ``page`` that the NodeSet with ``owner_uid`` controls; same labels alone don't make a pod its own."""
    return tuple(_pod(raw) for raw in page.items if any(o.controller and o.uid == owner_uid for o in raw.metadata.owners))


def _pod(raw: _Pod) -> Pod:
    meta, spec = raw.metadata, raw.spec
    on = [c for c in raw.status.conditions if c.status == "True"]
    ready = next((c for c in on if c.type == "Ready"), None)
    slurm = {c.type.removeprefix(CONDITION_PREFIX): c for c in on if c.type.startswith(CONDITION_PREFIX)}
    drain = slurm.get("Drain")
    ordinal = meta.labels.get(LABEL_POD_INDEX, meta.name.rpartition("-")[2])
    return Pod(
        name=meta.name,
        uid=meta.uid,
        node_name=spec.node_name,
        hostname=spec.hostname,
        host_network=spec.host_network,
        phase=raw.status.phase,
        ready=ready is not None,
        terminating=meta.deleted is not None,
        annotations=MappingProxyType(meta.annotations),
        index=int(ordinal) if ordinal.isascii() and ordinal.isdigit() and len(ordinal) < 10 else None,
        slurm_states=frozenset(_slurm_name(s) for s in slurm),
        slurm_reason=drain.message if drain is not None else "",
        created=int(meta.created.timestamp()),
        ready_since=int(ready.since.timestamp()) if ready is not None and ready.since is not None else None,
        resource_version=meta.resource_version,
        ready_changed=_changed(raw.status.conditions),
        revision=meta.labels.get(REVISION_LABEL, ""),
        trouble=_trouble(raw.status),
    )


def _trouble(status: _PodStatus) -> str:
    """Why a pod doesn't run, in Kubernetes' words: containers that wait or ended in error, else no node."""
    found = []
    for each in (*status.init_containers, *status.containers):
        waiting, ended = each.state.waiting, each.state.terminated
        if waiting is not None and waiting.reason not in ("", "ContainerCreating", "PodInitializing"):
            found.append(f"{each.name}: {waiting.reason}{f' ({waiting.message[:200]})' if waiting.message else ''}")
        elif ended is not None and ended.exit_code:
            found.append(f"{each.name}: {ended.reason or 'ended'} with exit code {ended.exit_code}")
    unscheduled = [c.message for c in status.conditions if c.type == "PodScheduled" and c.status == "False"]
    return "; ".join([*found, *(text[:200] for text in unscheduled if text)])


def _changed(conditions: list[_Condition]) -> int | None:
    moments = [c.since for c in conditions if c.type == "Ready" and c.since is not None]
    return int(moments[0].timestamp()) if moments else None


def _slurm_name(camel: str) -> str:
    """``NotResponding`` as Slurm writes it: ``NOT_RESPONDING``."""
    return "".join(f"_{c}" if c.isupper() and at else c.upper() for at, c in enumerate(camel))
