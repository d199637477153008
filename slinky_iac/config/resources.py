"""Pieces that several sections have: CPU and memory of containers that run no jobs, and entries of others' Secrets."""

from __future__ import annotations

from slinky_iac.config.base import Section
from slinky_iac.config.fields import DnsLabel, EntryName, Memory, Quantity
from slinky_iac.keys.catalogue import SecretEntry


class Requests(Section):
    """What the scheduler sets aside for a container."""

    cpus: Quantity | None = None
    """CPUs; by default the limit."""
    memory: Memory | None = None
    """Memory; by default the limit."""


class ContainerResources(Section):
    """CPU and memory of a container that runs no jobs: Slurm doesn't count it, so requests may be below the limits."""

    cpus: Quantity | None = None
    """Limit of CPUs. None by default: a daemon that is throttled answers late."""
    memory: Memory | None = None
    """Limit of memory, beyond which the container is killed and restarted."""
    requests: Requests = Requests()
    """What is set aside for it."""


class SecretReference(Section):
    """An entry of a Secret. The Secret is in the namespace of the pods that read it, and others make it (an operator of
    databases, External Secrets, Vault)."""

    secret: DnsLabel
    """Name of the Secret."""
    key: EntryName | None = None
    """Entry of it; by default that of the file that is meant: slurm.key, jwt_hs256.key, munge.key, sssd.conf, and password
    for a database."""

    def entry(self, default: str) -> SecretEntry:
        """The place that is meant; ``default``: the entry where none is named."""
        return SecretEntry(self.secret, self.key or default)
