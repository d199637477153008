"""Where slurmrestd is: at a URL, or behind the Kubernetes API server's service proxy.

The second needs nothing but a kubeconfig: a laptop reaches a slurmrestd that only the cluster's network can see.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from slinky_iac.addresses import in_clear
from slinky_iac.errors import KubeUnreachable, SlurmrestUnreachable
from slinky_iac.kube.connection import KubeTransport
from slinky_iac.kube.kubeconfig import KubeAccess, KubeSource, load
from slinky_iac.kube.sockets import SocketTransport
from slinky_iac.kube.wire import Clock
from slinky_iac.names import SLURMRESTD_PORT, is_dns_label, slurmrestd_address
from slinky_iac.slurmrest.tls import Files, TlsTransport


@dataclass(frozen=True)
class Direct:
    """slurmrestd at ``url`` (``http://host:6820`` or https). ``ca_file``: PEM of who signed its certificate; None: the
    system's. No proxy of the environment is used: tokens of root's worth go straight to the host named."""

    url: str
    ca_file: Path | None = None
    client_cert_file: Path | None = None
    """Our own certificate, for a server that asks for one, and its key: PEM."""
    client_key_file: Path | None = None
    plain_http: bool = False
    """Whether tokens may cross the network to a plain http address."""

    @property
    def takes_tokens(self) -> bool:
        """Whether a token may be sent there."""
        return self.plain_http or not in_clear(self.url)

    @property
    def shown(self) -> str:
        return self.url


@dataclass(frozen=True)
class KubeProxy:
    """The Service of slurmrestd, through the API server. Needs ``get``, ``create`` and ``delete`` on services/proxy.

    The API server takes no TLS between itself and the Service unless ``tls``. It finds a Service's pods by its Endpoints
    object only, so one without a selector (EndpointSlice by hand, ExternalName) can't be reached this way: use Direct.
    """

    kubeconfig: KubeSource = field(default_factory=KubeSource)
    namespace: str = "slurm"
    service: str = "slurm-restapi"
    port: int = SLURMRESTD_PORT
    tls: bool = False

    @property
    def shown(self) -> str:
        return f"Service {self.namespace}/{self.service}:{self.port} through the Kubernetes API server"


Endpoint = Direct | KubeProxy


def direct(url: str, ca: str | None, client_cert: str | None, client_key: str | None, *, plain_http: bool) -> Direct:
    """A :class:`Direct` of texts as settings and states have them; empty is none."""
    ca_file, cert_file, key_file = (Path(name) if name else None for name in (ca, client_cert, client_key))
    return Direct(url, ca_file, cert_file, key_file, plain_http)


def in_kubernetes(kubeconfig: KubeSource, namespace: str, service: str, *, tls: bool) -> KubeProxy:
    """The Service of the stack's slurmrestd, at the port that it has with and without TLS."""
    return KubeProxy(kubeconfig, namespace, *slurmrestd_address(service, tls=tls), tls)


@dataclass(frozen=True)
class Route:
    """An endpoint made usable: the URL that Slurm's own paths are put behind, and the transport."""

    base_url: str
    transport: httpx.BaseTransport
    shown: str


Connect = Callable[[KubeSource], tuple[KubeAccess, httpx.BaseTransport]]
"""Leads to the API server of a KubeProxy. Raises :class:`KubeUnreachable`."""


def route(endpoint: Endpoint, *, clock: Clock, connect: Connect | None = None) -> Route:
    """Make ``endpoint`` usable; opens no connection. ``connect``: None stands for a way of its own.

    :raises SlurmrestUnreachable: a URL, CA file or kubeconfig that can't be used, with what to repair.
    """
    if isinstance(endpoint, Direct):
        return _direct(endpoint)
    for name in (endpoint.namespace, endpoint.service):
        if not is_dns_label(name):
            raise SlurmrestUnreachable(f"{name!r} isn't the name of a namespace or Service (RFC 1123): nothing was sent")
    try:
        access, transport = (connect or _alone(clock))(endpoint.kubeconfig)
    except KubeUnreachable as error:
        raise SlurmrestUnreachable(f"slurmrestd was to be asked as {endpoint.shown}: {error}") from None
    scheme = "https:" if endpoint.tls else ""
    path = f"/api/v1/namespaces/{endpoint.namespace}/services/{scheme}{endpoint.service}:{endpoint.port}/proxy"
    return Route(access.server + path, transport, f"{endpoint.shown} at {access.server} ({access.origin})")


def _alone(clock: Clock) -> Connect:
    def connect(source: KubeSource) -> tuple[KubeAccess, httpx.BaseTransport]:
        access = load(source, env=os.environ, home=Path.home())
        return access, KubeTransport(access, clock=clock)

    return connect


def _direct(endpoint: Direct) -> Route:
    try:
        url = httpx.URL(endpoint.url)
    except (httpx.InvalidURL, UnicodeError):
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
        raise SlurmrestUnreachable(
            "slurmrestd's URL can't be used: it must be http:// or https://, a host, a port and at most a path, "
            "without user, password, query or fragment"
        )
    if url.scheme == "http":
        return Route(str(url), SocketTransport(None, plain_http=endpoint.plain_http), str(url))
    files = Files(endpoint.ca_file, endpoint.client_cert_file, endpoint.client_key_file)
    return Route(str(url), TlsTransport(files, SocketTransport), str(url))
