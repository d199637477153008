"""Where slurmdbd is: three classes with the same attributes. All other code asks for these, never which class it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

from slinky_iac import names
from slinky_iac.addresses import Target
from slinky_iac.config.sections import Cluster, PodSettings
from slinky_iac.parts.slurmdbd.settings import Accounting, Database, ExternalSlurmdbd

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True)
class NoSlurmdbd:
    """A cluster without accounting."""

    hosts: ClassVar[tuple[ExternalSlurmdbd, ...]] = ()
    """Hosts outside that run it."""
    pods: ClassVar[tuple[PodSettings, ...]] = ()
    """Settings of the pods that run it."""
    ports: ClassVar[tuple[int, ...]] = ()
    """Ports on which it listens."""
    databases: ClassVar[tuple[Database, ...]] = ()
    """Databases that the stack gives it."""
    extra_conf: ClassVar[Mapping[str, str]] = _NOTHING
    """Parameters of slurmdbd.conf that the stack's file adds."""
    addresses: ClassVar[tuple[Target, ...]] = ()
    """Where clients outside the cluster's namespace find it."""
    join: ClassVar[tuple[Target, ...]] = ()
    """Where daemons on hosts outside find it, as the operator's slurm.conf names it."""


@dataclass(frozen=True)
class InsideSlurmdbd:
    """slurmdbd in a pod that slurm-operator makes."""

    section: Accounting
    cluster: Cluster

    hosts: ClassVar[tuple[ExternalSlurmdbd, ...]] = ()
    ports: ClassVar[tuple[int, ...]] = (names.SLURMDBD_PORT,)

    @property
    def pods(self) -> tuple[PodSettings, ...]:
        """Its pod's settings."""
        return (self.section.pod,)

    @property
    def databases(self) -> tuple[Database, ...]:
        """Its database; none where the stack's file has none, which rules refuse."""
        return () if self.section.database is None else (self.section.database,)

    @property
    def extra_conf(self) -> Mapping[str, str]:
        """Parameters of slurmdbd.conf that the stack's file adds."""
        return self.section.extra_conf

    @property
    def addresses(self) -> tuple[Target, ...]:
        """The operator's Service."""
        service = f"{names.accounting_service(self.cluster.resource_name)}.{self.cluster.namespace}"
        return (Target(service, names.SLURMDBD_PORT),)

    @property
    def join(self) -> tuple[Target, ...]:
        """The Service's short name, which the operator writes into slurm.conf."""
        return (Target(names.accounting_service(self.cluster.resource_name), names.SLURMDBD_PORT),)


@dataclass(frozen=True)
class OutsideSlurmdbd:
    """slurmdbd on a host, with a database of its own."""

    host: ExternalSlurmdbd

    pods: ClassVar[tuple[PodSettings, ...]] = ()
    databases: ClassVar[tuple[Database, ...]] = ()
    extra_conf: ClassVar[Mapping[str, str]] = _NOTHING

    @property
    def hosts(self) -> tuple[ExternalSlurmdbd, ...]:
        """The host."""
        return (self.host,)

    @property
    def ports(self) -> tuple[int, ...]:
        """DbdPort of the host."""
        return (self.host.port,)

    @property
    def addresses(self) -> tuple[Target, ...]:
        """The host itself."""
        return (Target(self.host.host, self.host.port),)

    @property
    def join(self) -> tuple[Target, ...]:
        """The host itself."""
        return self.addresses


Slurmdbd = NoSlurmdbd | InsideSlurmdbd | OutsideSlurmdbd


def slurmdbd_of(section: Accounting, cluster: Cluster) -> Slurmdbd:
    """The one that a stack's sections mean. This is the only place that chooses."""
    if not section.enabled:
        return NoSlurmdbd()
    return InsideSlurmdbd(section, cluster) if section.external is None else OutsideSlurmdbd(section.external)
