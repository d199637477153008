"""Every hop between the parts of a cluster, what crosses it, and what guards it in this stack. Data from the configuration.

Sources: auth/slurm signs (``auth_slurm.c``, ``cred_slurm.c``) and encrypts nothing; slurm-operator asks slurmrestd at
``http://<restapi>-restapi.<namespace>:6820`` (``slurmclient_sync.go``, 1.0 to 1.2.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from slinky_iac import names
from slinky_iac.config.stack import StackConfig

Guard = Literal["encrypted", "signed", "plain", "outside"]
"""``encrypted``: nobody on the way reads or changes it. ``signed``: nobody changes the sender, anybody reads. ``plain``:
anybody on the way reads, and may answer in its place. ``outside``: no setting of this stack says."""


@dataclass(frozen=True)
class Hop:
    """One hop."""

    name: str
    ends: str
    """From where to where."""
    crosses: str
    """What a listener would get."""
    guard: Guard
    how: str
    change: str
    """What would guard it better; empty where nothing is to be done."""


_NO_TLS = "no TLS is asked for; MariaDB Connector/C 3.4 and newer use it all the same where the server has it, older don't"
_NETWORK = "encrypt the network between the two: WireGuard in the CNI, IPsec or WireGuard between the sites"


def hops(config: StackConfig) -> tuple[Hop, ...]:
    """All hops of a stack."""
    if config.keys.auth == "auth/munge":
        return (_daemons("munge encrypts its own credential and nothing beside it"),)
    found = (_to_slurmrestd(config), _operator(config), _daemons("auth/slurm signs and doesn't encrypt; no TLSType is set"))
    return (*found, *_database(config), *_users(config))


def _to_slurmrestd(config: StackConfig) -> Hop:
    crosses = "tokens that act as SlurmUser, and everybody's jobs"
    url = config.slurmrest.url
    if url is not None:
        plain = urlsplit(url).scheme != "https"
        how = "plain HTTP" if plain else "HTTPS, the certificate is checked"
        change = "put TLS before slurmrestd and set slurmrest.url to https://" if plain else ""
        return Hop(
            "gates-slurmrestd", "gates and commands to slurmrestd", crosses, "plain" if plain else "encrypted", how, change
        )
    ends = "API server to slurmrestd's pod, for gates and commands"
    if config.restapi.tls is not None:
        how = "TLS; the API server doesn't check the pod's certificate, so it guards against listeners"
        return Hop("gates-slurmrestd", ends, crosses, "encrypted", how, "")
    return Hop("gates-slurmrestd", ends, crosses, "plain", "plain HTTP on the pod network", "set restapi.tls")


def _operator(config: StackConfig) -> Hop:
    service = f"{names.restapi_service(config.cluster.resource_name)}.{config.cluster.namespace}:{names.SLURMRESTD_PORT}"
    how = f"the operator asks http://{service}; no setting of it changes that"
    change = f"{_NETWORK}; let a NetworkPolicy admit the operator and the API server only"
    return Hop("operator-slurmrestd", "slurm-operator to slurmrestd", "the operator's tokens", "plain", how, change)


def _daemons(how: str) -> Hop:
    crosses = "job scripts, environments and what jobs print"
    return Hop("slurm-daemons", "slurmctld, slurmd, slurmdbd, srun and sackd", crosses, "signed", how, _NETWORK)


def _database(config: StackConfig) -> Iterator[Hop]:
    if not config.accounting.enabled:
        return
    ends, crosses = "slurmdbd to its database", "the database's password in a hash, all accounting"
    if config.accounting.external is not None:
        how = "slurmdbd.conf outside decides (StorageParameters=SSL_CA=...)"
        yield Hop("slurmdbd-database", ends, crosses, "outside", how, "see StorageParameters in slurmdbd.conf on its host")
    elif config.accounting.database is not None:
        tls = config.accounting.database.tls is not None
        change = "" if tls else "set accounting.database.tls"
        yield Hop("slurmdbd-database", ends, crosses, "encrypted" if tls else "plain", "TLS" if tls else _NO_TLS, change)


def _users(config: StackConfig) -> Iterator[Hop]:
    outside = config.external.slurmrestd
    if outside is not None:
        plain = urlsplit(outside.url).scheme != "https"
        change = "put a proxy with TLS before it and set external.slurmrestd.url to https://" if plain else ""
        how = "plain HTTP" if plain else "HTTPS"
        guard: Guard = "plain" if plain else "encrypted"
        yield Hop("users-slurmrestd", "users of REST to the slurmrestd outside", "your users' tokens", guard, how, change)
