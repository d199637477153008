"""What the API server says about NodeSets, their pods and who else scales them, as plain frozen values.

Sources: slurm-operator ``api/v1beta1/*_types.go``, ``well_known.go``; ``internal/controller/nodeset/utils/utils.go``
(node names). :mod:`slinky_iac.kube.raw` reads them. Times are seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class Pod:
    """One pod of a NodeSet."""

    name: str
    uid: str
    node_name: str
    """Kubernetes node; empty while unscheduled."""
    hostname: str
    """``spec.hostname``, empty where unset."""
    host_network: bool
    phase: str
    ready: bool
    terminating: bool
    annotations: Mapping[str, str]
    index: int | None
    """Ordinal; None in DaemonSet mode."""
    slurm_states: frozenset[str]
    """Slurm states that the operator's last look saw, upper case: ``{"IDLE", "DRAIN"}``."""
    slurm_reason: str
    """Message of the drain condition: the reason as the operator saw it."""
    created: int
    ready_since: int | None
    resource_version: str
    ready_changed: int | None = None
    """Last change of the Ready condition, to either side: how long a pod has been *un*ready, too."""
    revision: str = ""
    """Which NodeSet revision made it: equal to the NodeSet's ``hash`` where the pod is up to date."""
    trouble: str = ""
    """Why it doesn't run, in Kubernetes' words; empty where nothing is wrong, or nothing was said."""

    @property
    def slurm_node(self) -> str:
        """The Slurm node that this pod's slurmd registers as (operator's utils.go, GetNodeName)."""
        if self.host_network:
            return self.node_name
        return self.hostname or self.name

    @property
    def scheduled(self) -> bool:
        return self.node_name != ""


@dataclass(frozen=True)
class Ref:
    """A reference to another custom resource; ``namespace`` is empty in the operator's newer schemas."""

    name: str
    namespace: str = ""


@dataclass(frozen=True)
class NodeSetState:
    """A NodeSet: what is asked, what the operator has seen, what Slurm says about its nodes."""

    name: str
    uid: str
    resource_version: str
    generation: int
    observed_generation: int
    deleting: bool
    replicas_spec: int
    replicas_status: int
    updated: int
    ready: int
    available: int
    hash: str
    slurm_idle: int
    slurm_allocated: int
    slurm_down: int
    slurm_drain: int
    controller_ref: Ref
    update_strategy: str
    scaling_mode: str
    selector: str
    annotations: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    own_partition: bool = False
    """Whether slurmctld in Kubernetes has a partition for it, which goes with it."""

    @property
    def settled(self) -> bool:
        """The operator has seen the last change, and no rollout or scaling is under way."""
        return (
            not self.deleting
            and self.observed_generation == self.generation
            and self.replicas_status == self.replicas_spec == self.updated
        )


@dataclass(frozen=True)
class ControllerState:
    """A Controller: Slurm's own control daemon, in the cluster or outside it."""

    name: str
    uid: str
    cluster_name: str
    external: bool
    host: str
    port: int
    deleting: bool
    extra_conf: str = ""
    """The tail of slurm.conf that it was given."""


@dataclass(frozen=True)
class RestApiState:
    """A RestApi: without one, the operator deletes busy pods at once (facts/slurm-operator.md#restapi)."""

    name: str
    uid: str
    controller_ref: Ref
    replicas_spec: int
    deleting: bool


@dataclass(frozen=True)
class Scaler:
    """Something else that writes a NodeSet's replicas."""

    kind: str
    """``HorizontalPodAutoscaler`` or ``ScaledObject``."""
    name: str
    minimum: int
    maximum: int
    paused: bool


@dataclass(frozen=True)
class SecretState:
    """A Secret. Times are seconds since 1970, None where the API server doesn't say."""

    data: Mapping[str, bytes] = field(repr=False)
    made: int | None
    written: Mapping[str, int | None]
    """By entry, the last change of whoever owns it: an entry that is changed in place is at least as old."""


@dataclass(frozen=True)
class Marks:
    """What any object says of itself and of who made it."""

    name: str
    uid: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    created: int | None = None
    """When it was made, in seconds since 1970."""
