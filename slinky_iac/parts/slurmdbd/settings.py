"""The section accounting: no slurmdbd, one in Kubernetes with its database, or an outside host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from slinky_iac import names
from slinky_iac.config.base import Section
from slinky_iac.config.fields import DatabaseUser, DnsLabel, Host, PartitionConf, Port
from slinky_iac.config.raw import Raw
from slinky_iac.config.resources import ContainerResources, SecretReference
from slinky_iac.config.sections import ExternalHost, PodSettings, Service


class ExternalSlurmdbd(ExternalHost):
    """slurmdbd outside Kubernetes."""

    port: Port = names.SLURMDBD_PORT
    """DbdPort."""


class DatabaseTls(Section):
    """TLS from slurmdbd to its database."""

    ca_secret: DnsLabel
    """Secret whose entry ca.crt has the certificate authority of the server."""
    client_secret: DnsLabel | None = None
    """Secret of type kubernetes.io/tls with the client certificate that the server asks of its user (REQUIRE X509)."""


class Database(Section):
    """The MariaDB or MySQL server of an in-cluster slurmdbd. It needs DDL rights on its database."""

    secrets: ClassVar[Mapping[str, str]] = {
        "databasePassword": "password of `accounting.database.username`; needed with `accounting.database`",
    }

    host: Host
    """Host name of the server."""
    port: Port = 3306
    """Port of the server."""
    name: str = Field(default="slurm_acct_db", pattern=r"^[0-9A-Za-z_$][0-9A-Za-z_$-]{0,63}$")
    """Database. slurmdbd makes one that is missing, unless its name has a '-': make that one yourself."""
    # acct_get_db_name of common_as.c takes no '.' and '/'; _create_db of mysql_common.c writes the name without quotes.
    username: DatabaseUser = "slurm"
    """User. The password is the secret configuration value databasePassword, or that of `passwordFrom`."""
    password_from: SecretReference | None = None
    """A Secret that has the password, in the place of databasePassword: mariadb-operator's, for instance. slurmdbd's pod
    waits until it is there. Its value must be readable in slurmdbd.conf: no space, quote, '#' or '\\'."""
    tls: DatabaseTls | None = None
    """TLS to the server; none by default: what slurmdbd asks and stores is then readable on the way."""


class Accounting(Section):
    """slurmdbd: none, in Kubernetes with its database, or an outside host (`external`)."""

    enabled: bool = True
    """Whether the cluster has accounting at all."""
    external: ExternalSlurmdbd | None = None
    """The outside slurmdbd."""
    database: Database | None = None
    """Database of an in-cluster slurmdbd."""
    extra_conf: PartitionConf = Field(default_factory=dict)
    """More slurmdbd.conf parameters (in Kubernetes only)."""
    service: Service = Service()
    """Service of slurmdbd (in Kubernetes only)."""
    resources: ContainerResources | None = None
    """CPU and memory of slurmdbd (in Kubernetes only)."""
    pod: PodSettings = PodSettings()
    """Placement (in Kubernetes only)."""
    raw: Raw = Raw()
    """Raw pieces of its pod, container and Service, for what has no setting (in Kubernetes only)."""
