"""How a stack's Kubernetes and slurmrestd are reached: plain data, as a gate's props and a configuration both give it."""

from __future__ import annotations

from dataclasses import dataclass

from slinky_iac.keys.catalogue import JWT
from slinky_iac.names import SLURM_USER


@dataclass(frozen=True)
class Reach:
    """How Kubernetes and slurmrestd are reached from where `pulumi` runs."""

    namespace: str
    restapi_service: str
    """Service of slurmrestd, asked through the API server's service proxy unless there is a ``url``."""
    jwt_secret: str
    """Secret with the key that signs tokens, and its entry."""
    jwt_entry: str
    algorithm: str = JWT.algorithm
    """How that key signs: one of :data:`slinky_iac.keys.registry.SIGNING`."""
    kubeconfig: str | None = None
    context: str | None = None
    url: str | None = None
    ca_file: str | None = None
    client_cert_file: str | None = None
    """Our certificate and its key, where slurmrestd at ``url`` asks for one."""
    client_key_file: str | None = None
    plain_http: bool = False
    """Whether tokens may cross the network to a plain http ``url``."""
    restapi_scheme: str | None = None
    """``https`` where slurmrestd's pods have TLS, which the Service beside ``restapi_service`` leads to."""
    user: str = SLURM_USER
    """Slurm's user that tokens name."""
