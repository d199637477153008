"""Where the daemons of a cluster take connections: those outside, and the Services that lead to those in Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slinky_iac import names
from slinky_iac.config.fields import address_of
from slinky_iac.config.stack import StackConfig

SLURMREST = "slurmrest.url"
"""The setting of the slurmrestd that this program itself asks."""
USERS = "external.slurmrestd.url"
"""The setting of a slurmrestd that is its users' alone."""


@dataclass(frozen=True)
class Place:
    """One daemon: the setting that names it, and where it should listen."""

    path: str
    daemon: str
    host: str
    port: int

    @property
    def is_service(self) -> bool:
        """A Service that the stack makes, under its section's name; a daemon outside has a setting's, ``section.field``."""
        return "." not in self.path

    @property
    def part(self) -> str:
        """The daemon behind it."""
        return self.daemon.partition("'")[0]


def outside_places(config: StackConfig) -> Iterator[Place]:
    """The outside daemons that all others need. slurmd hosts are left to Slurm, which knows them better than a desk does."""
    yield from (Place("controller.external", "slurmctld", daemon.host, daemon.port) for daemon in config.slurmctld.hosts)
    yield from (Place("accounting.external", "slurmdbd", daemon.host, daemon.port) for daemon in config.slurmdbd.hosts)
    for path, url in ((SLURMREST, config.slurmrest.url), (USERS, config.external.users_url)):
        host, port = address_of(url or "")
        if host:
            yield Place(path, "slurmrestd", host, port)


def registers_outside(config: StackConfig) -> bool:
    """Whether slurmctld's pod registers with a slurmdbd outside, which writes down the address that it sees."""
    return config.slurmctld.owns_conf and bool(config.slurmdbd.hosts)


def service_places(config: StackConfig) -> Iterator[Place]:
    """The Services that lead to daemons, under the names and ports that the operator writes."""
    base, namespace = config.cluster.resource_name, config.cluster.namespace
    for service in config.slurmctld.services:
        yield Place("controller", "slurmctld", f"{service}.{namespace}", names.SLURMCTLD_PORT)
    if config.accounting.enabled:
        service = f"{names.accounting_service(base)}.{namespace}"
        yield Place("accounting", "slurmdbd's Service", service, names.SLURMDBD_PORT)
    yield Place("restapi", "slurmrestd's Service", f"{names.restapi_service(base)}.{namespace}", names.SLURMRESTD_PORT)
