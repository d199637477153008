"""Pieces that several sections have: CPU and memory of containers that run no jobs, and entries of others' Secrets."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from slinky_iac.config.base import Section
from slinky_iac.config.fields import DnsLabel, Quantity


class Requests(Section):
    """What the scheduler sets aside for a container."""

    cpus: Quantity | None = None
    """CPUs; by default the limit."""
    memory: Quantity | None = None
    """Memory; by default the limit."""


class ContainerResources(Section):
    """CPU and memory of a container that runs no jobs: Slurm doesn't count it, so requests may be below the limits."""

    cpus: Quantity | None = None
    """Limit of CPUs. None by default: a daemon that is throttled answers late."""
    memory: Quantity | None = None
    """Limit of memory, beyond which the container is killed and restarted."""
    requests: Requests = Requests()
    """What is set aside for it."""


class SecretReference(Section):
    """An entry of a Secret in the cluster's namespace that others make (an operator of databases, Vault)."""

    secret: DnsLabel
    """Name of the Secret."""
    key: Annotated[str, Field(pattern=r"^[-._a-zA-Z0-9]{1,253}$")] = "password"
    """Entry of it."""
