"""Where slurmctld is: two classes with the same attributes. All other code asks for these, never which class it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

from slinky_iac import names
from slinky_iac.addresses import Target
from slinky_iac.config.networks import NetworkPolicies
from slinky_iac.config.sections import Cluster, PodSettings
from slinky_iac.parts.slurmctld.settings import Controller, ExternalSlurmctld

_NO_FILES: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True)
class InsideSlurmctld:
    """slurmctld in a pod that slurm-operator makes, with the slurm.conf that the operator and the stack write."""

    section: Controller
    cluster: Cluster

    where: ClassVar[str] = "in Kubernetes"
    hosts: ClassVar[tuple[ExternalSlurmctld, ...]] = ()
    """Hosts outside that run it: the primary, then its backups in the order in which they take over."""
    port: ClassVar[int] = names.SLURMCTLD_PORT
    """The port on which it listens."""
    owns_conf: ClassVar[bool] = True
    """Whether its slurm.conf is the operator's and the stack's alone: what neither writes isn't there."""
    reads_one_key: ClassVar[bool] = True
    """Whether it knows one key, read when it starts, so that a key changes in a planned stop only."""

    @property
    def pods(self) -> tuple[PodSettings, ...]:
        """Settings of the pods that run it."""
        return (self.section.pod,)

    @property
    def services(self) -> tuple[str, ...]:
        """The operator's Services that lead to it."""
        return (names.controller_service(self.cluster.resource_name),)

    @property
    def image(self) -> str:
        """The image that the stack's file names for it; empty where it names none."""
        return self.cluster.images.slurmctld or ""

    @property
    def extra_conf(self) -> Mapping[str, str]:
        """Parameters of slurm.conf that the stack's file adds."""
        return self.section.extra_conf

    @property
    def config_files(self) -> Mapping[str, str]:
        """Files beside slurm.conf that the stack makes, by name."""
        return self.section.config_files

    @property
    def prolog(self) -> Mapping[str, str]:
        """Prolog scripts that the stack makes, by name."""
        return self.section.prolog

    @property
    def epilog(self) -> Mapping[str, str]:
        """Epilog scripts that the stack makes, by name."""
        return self.section.epilog

    @property
    def tries_files(self) -> bool:
        """Whether previews and updates try new files on daemons that nothing depends on, before they are written."""
        return self.section.trial.enabled

    @property
    def trial_namespace(self) -> str | None:
        """Where these daemons' pods are made; None: in the cluster's own namespace."""
        return self.section.trial.namespace

    @property
    def persistence(self) -> str:
        """Where the stack keeps the queue, in words that a change of shows as a change."""
        kept = self.section.persistence
        if not kept.enabled:
            return "off"
        return f"claim {kept.existing_claim}" if kept.existing_claim else "own claim"

    @property
    def keeps_queue(self) -> bool:
        """Whether the queue is in a volume of the stack's."""
        return self.section.persistence.enabled

    @property
    def forgets_queue(self) -> bool:
        """Whether a restart of its pod forgets every job."""
        return not self.section.persistence.enabled

    @property
    def join(self) -> Target:
        """Where hosts outside, and pods of other namespaces, fetch their configuration. It is never a node port: slurm.conf
        names SlurmctldPort, so that daemons that have fetched it connect to that port, whichever they fetched it from."""
        return Target(names.controller_fqdn(self.cluster.resource_name, self.cluster.namespace), self.port)

    @property
    def joins(self) -> tuple[Target, ...]:
        """The same, of all hosts that may run it, in the order in which they are asked."""
        return (self.join,)

    @property
    def is_balanced(self) -> bool:
        """Whether a load balancer of Kubernetes gives it an address."""
        return self.section.service.type == "LoadBalancer"

    @property
    def is_at_node_ports(self) -> bool:
        """Whether hosts outside reach it at a port of each Kubernetes node."""
        return self.section.service.type == "NodePort"

    @property
    def node_port(self) -> int | None:
        """That port, where the stack's file names it."""
        return self.section.service.node_port

    def is_closed(self, networks: NetworkPolicies) -> bool:
        """Whether NetworkPolicies keep pods of other namespaces from its port, those that read its metrics too."""
        return networks.enabled and not networks.clients.slurmctld


@dataclass(frozen=True)
class OutsideSlurmctld:
    """slurmctld on a host whose admin writes its slurm.conf: what the stack's file says of a pod has no effect."""

    host: ExternalSlurmctld

    where: ClassVar[str] = "outside"
    pods: ClassVar[tuple[PodSettings, ...]] = ()
    services: ClassVar[tuple[str, ...]] = ()
    image: ClassVar[str] = ""
    extra_conf: ClassVar[Mapping[str, str]] = _NO_FILES
    config_files: ClassVar[Mapping[str, str]] = _NO_FILES
    prolog: ClassVar[Mapping[str, str]] = _NO_FILES
    epilog: ClassVar[Mapping[str, str]] = _NO_FILES
    tries_files: ClassVar[bool] = False
    trial_namespace: ClassVar[str | None] = None
    persistence: ClassVar[str] = "outside"
    keeps_queue: ClassVar[bool] = False
    forgets_queue: ClassVar[bool] = False
    owns_conf: ClassVar[bool] = False
    reads_one_key: ClassVar[bool] = False
    is_balanced: ClassVar[bool] = False
    is_at_node_ports: ClassVar[bool] = False
    node_port: ClassVar[int | None] = None

    @property
    def hosts(self) -> tuple[ExternalSlurmctld, ...]:
        """The primary's host, then those of its backups."""
        backups = (self.host.model_copy(update={"host": backup}) for backup in self.host.backups)
        return (self.host, *backups)

    @property
    def port(self) -> int:
        """SlurmctldPort of the host."""
        return self.host.port

    @property
    def join(self) -> Target:
        """The primary's host."""
        return self.joins[0]

    @property
    def joins(self) -> tuple[Target, ...]:
        """Every host. A backup that waits sends who asks it on (``backup.c``), so the primary is first."""
        return tuple(Target(host.host, host.port) for host in self.hosts)

    def is_closed(self, networks: NetworkPolicies) -> bool:  # noqa: ARG002
        """Never: NetworkPolicies hold for pods."""
        return False


Slurmctld = InsideSlurmctld | OutsideSlurmctld


def slurmctld_of(section: Controller, cluster: Cluster) -> Slurmctld:
    """The one that a stack's sections mean. This is the only place that chooses."""
    return InsideSlurmctld(section, cluster) if section.external is None else OutsideSlurmctld(section.external)
