"""How slurmrestd in Kubernetes is asked: two classes with the same attributes. All other code asks for these, never which
class it is. slurm-operator asks port 6820 in plain HTTP in either case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from slinky_iac import names
from slinky_iac.config.sections import Cluster, Service
from slinky_iac.parts.slurmrestd.settings import RestApi, RestApiTls

_OF_NODES: Final = "ClusterIP"
"""The only type of a Service that opens no port beyond Kubernetes' own network."""


@dataclass(frozen=True)
class PlainSlurmrestd:
    """slurmrestd without TLS."""

    section: RestApi
    cluster: Cluster

    scheme: ClassVar[str | None] = None
    """Scheme by which the API server's service proxy asks it; None: plain HTTP."""
    ports: ClassVar[tuple[int, ...]] = (names.SLURMRESTD_PORT,)
    """Ports on which its pods listen."""
    files_change: ClassVar[bool] = False
    """Whether Secrets or ConfigMaps of its pods are changed while they run."""
    guard: ClassVar[tuple[str, str]] = ("plain HTTP on the pod network", "set restapi.tls")
    """How the way from the API server to its pods is guarded, and what would guard it better (or an empty text)."""

    @property
    def address(self) -> tuple[str, int]:
        """Service and port at which gates, commands and users ask it."""
        return names.slurmrestd_address(names.restapi_service(self.cluster.resource_name), tls=False)

    @property
    def url(self) -> str:
        """The same as a URL, for pods."""
        return f"http://{_host(self.address, self.cluster)}"

    @property
    def proxied(self) -> str:
        """Its name as an object of services/proxy."""
        return f"{self.address[0]}:{self.address[1]}"

    @property
    def open_ports(self) -> tuple[int, ...]:
        """Ports that its Services open beyond Kubernetes' own network."""
        return _opened(self.section.service, names.SLURMRESTD_PORT)


@dataclass(frozen=True)
class TlsSlurmrestd:
    """slurmrestd with a proxy in its pods, at which TLS ends."""

    section: RestApi
    tls: RestApiTls
    cluster: Cluster

    scheme: ClassVar[str | None] = "https"
    ports: ClassVar[tuple[int, ...]] = (names.SLURMRESTD_PORT, names.SLURMRESTD_TLS_PORT)
    files_change: ClassVar[bool] = True
    guard: ClassVar[tuple[str, str]] = (
        "TLS; the API server doesn't check the pod's certificate, so it guards against listeners",
        "",
    )

    @property
    def address(self) -> tuple[str, int]:
        """The proxy's Service and port."""
        return names.slurmrestd_address(names.restapi_service(self.cluster.resource_name), tls=True)

    @property
    def url(self) -> str:
        """The same as a URL, for pods."""
        return f"https://{_host(self.address, self.cluster)}"

    @property
    def proxied(self) -> str:
        """Its name as an object of services/proxy, which has the scheme."""
        return f"https:{self.address[0]}:{self.address[1]}"

    @property
    def open_ports(self) -> tuple[int, ...]:
        """Ports that the Services of slurmrestd and of the proxy open beyond Kubernetes' own network."""
        plain = _opened(self.section.service, names.SLURMRESTD_PORT)
        return plain + _opened(self.tls.service, names.SLURMRESTD_TLS_PORT)


def _host(address: tuple[str, int], cluster: Cluster) -> str:
    return f"{address[0]}.{cluster.namespace}:{address[1]}"


def _opened(service: Service, port: int) -> tuple[int, ...]:
    return () if service.type == _OF_NODES else (port,)


Slurmrestd = PlainSlurmrestd | TlsSlurmrestd


def slurmrestd_of(section: RestApi, cluster: Cluster) -> Slurmrestd:
    """The one that a stack's sections mean. This is the only place that chooses."""
    return PlainSlurmrestd(section, cluster) if section.tls is None else TlsSlurmrestd(section, section.tls, cluster)
