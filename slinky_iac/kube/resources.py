"""Other objects of Kubernetes and its operators, as far as they are asked for here; see :mod:`slinky_iac.kube.objects`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from slinky_iac.decoders import decoder
from slinky_iac.kube.objects import ManagedFields, Moment, Wire, WrittenMeta, seconds

ADMISSION: Final = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
"""Where each kind is served."""


class SecretMeta(Wire, frozen=True):
    """When a Secret and its entries were written."""

    creation_timestamp: Moment | None = None
    managed_fields: tuple[ManagedFields, ...] = ()


class SecretAge(Wire, frozen=True):
    """A Secret, without its entries."""

    metadata: SecretMeta = SecretMeta()


class Secret(Wire, frozen=True):
    """A Secret. Its entries are in no message, nor in ``repr``."""

    metadata: SecretMeta = SecretMeta()
    data: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"Secret({sorted(self.data)})"

    @property
    def created(self) -> int | None:
        """When it was made, in seconds since 1970; None where the API server doesn't say."""
        return seconds(self.metadata.creation_timestamp)

    def written(self, entry: str) -> int | None:
        """When the owner of ``entry`` last changed anything of its own in the Secret: the entry is at least as old.

        Field managers say so (Kubernetes, "Server-Side Apply", ``managedFields[].time``); None where none owns the entry.
        """
        times = [
            int(claim.time.timestamp())
            for claim in self.metadata.managed_fields
            if claim.time is not None and f"f:{entry}" in (claim.fields_v1.get("f:data") or {})
        ]
        return max(times, default=None)


class ConfigMap(Wire, frozen=True):
    """A ConfigMap's texts, by entry."""

    data: dict[str, str] = {}


class OwnConfigMap(ConfigMap, frozen=True, kw_only=True):
    """One of ours, exactly as it was looked at."""

    metadata: WrittenMeta


def config_map(name: str, data: Mapping[str, str]) -> dict[str, Any]:
    """A ConfigMap of ours, to be applied."""
    meta = {"name": name, "labels": {"app.kubernetes.io/managed-by": "slinky-iac"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": dict(data)}


class _LoadBalancerIngress(Wire, frozen=True):
    """Where a load balancer takes connections; empty for one that gave a name."""

    ip: str = ""


class _LoadBalancer(Wire, frozen=True):
    ingress: tuple[_LoadBalancerIngress, ...] = ()


class _ServiceStatus(Wire, frozen=True):
    load_balancer: _LoadBalancer = _LoadBalancer()


class _Named(Wire, frozen=True):
    name: str = ""


class _ServicePort(Wire, frozen=True):
    node_port: int | None = None


class _ServiceSpec(Wire, frozen=True):
    type: str = "ClusterIP"
    ports: tuple[_ServicePort, ...] = ()


class Service(Wire, frozen=True):
    """A Service."""

    metadata: _Named = _Named()
    spec: _ServiceSpec = _ServiceSpec()
    status: _ServiceStatus = _ServiceStatus()

    @property
    def address(self) -> str | None:
        """The first IP address that a load balancer gave it, None where there is none (yet)."""
        return next((ingress.ip for ingress in self.status.load_balancer.ingress if ingress.ip), None)

    @property
    def node_port(self) -> int | None:
        """Where each Kubernetes node takes connections to its first port, None where none does."""
        return next((port.node_port for port in self.spec.ports[:1]), None)


class _Container(Wire, frozen=True):
    image: str = ""


class _TemplateSpec(Wire, frozen=True):
    containers: tuple[_Container, ...] = ()


class _Template(Wire, frozen=True):
    spec: _TemplateSpec = _TemplateSpec()


class _DeploymentSpec(Wire, frozen=True):
    template: _Template = _Template()


class _DeploymentStatus(Wire, frozen=True):
    available_replicas: int = 0


class Deployment(Wire, frozen=True):
    """Only what tells whether it serves, and from which images."""

    spec: _DeploymentSpec = _DeploymentSpec()
    status: _DeploymentStatus = _DeploymentStatus()


class AnyObject(Wire, frozen=True):
    """An object of which nothing but its metadata is read."""

    metadata: WrittenMeta


class ControllerSpec(Wire, frozen=True):
    """What is asked of a Controller."""

    extra_conf: str = ""
    """The tail of slurm.conf that it was given."""


class Controller(Wire, frozen=True):
    """slurm-operator's Controller."""

    metadata: WrittenMeta
    spec: ControllerSpec


class Admission(Wire, frozen=True):
    """A ValidatingAdmissionPolicy or its binding: the spec as it is, to be compared whole."""

    spec: dict[str, Any]


class _ApiResource(Wire, frozen=True):
    name: str


class ApiResourceList(Wire, frozen=True):
    """The resources of one version of an API group."""

    resources: tuple[_ApiResource, ...]


class ApiGroupList(Wire, frozen=True):
    """All API groups."""

    groups: tuple[_ApiResource, ...]


class Version(Wire, frozen=True):
    """GET /version: what the API server is."""

    git_version: str = ""


class Status(Wire, frozen=True):
    """Kubernetes' own error."""

    kind: str = ""
    message: str = ""


def status_of(content: bytes) -> Status:
    """The error in an answer; an empty one where it isn't Kubernetes' own."""
    try:
        return decoder(Status).decode(content)
    except (ValueError, RecursionError):
        return Status()
