"""Services inside Kubernetes that lead to daemons outside, under the names and ports that the operator writes.

The operator writes ``AccountingStorageHost=<accounting>-accounting``, port 6819, whatever the Accounting's
``externalConfig`` says, and ``SlurmctldPort=6817`` for every outside slurmctld (controller_config.go, up to 1.2.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from slinky_iac import names
from slinky_iac.addresses import Target, host_port, listed
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.node_demand import METRICS_PATH
from slinky_iac.specs.objects import Object
from slinky_iac.specs.shared import Spec


@dataclass(frozen=True)
class Endpoint:
    """A Service that leads to an outside daemon.

    ``service`` is the Service's spec; ``slice`` the EndpointSlice's body without metadata, or None for an ExternalName.
    """

    name: str
    service: Spec
    slice: Spec | None


def endpoint(name: str, port_name: str, port: int, external: Target) -> Endpoint:
    """The Service ``name`` whose ``port`` leads to ``outside``: an ExternalName for a DNS name (which can't change the
    port), a selector-less Service with an EndpointSlice for an address."""
    try:
        family = ip_address(external.host).version
    except ValueError:
        if external.port != port:
            raise ValueError(f"{name}: a DNS name can't be led from port {port} to {external.port}") from None
        service: Spec = {"type": "ExternalName", "externalName": external.host}
        return Endpoint(name, service | {"ports": [_port(port_name, port)]}, None)
    slice_: Spec = {
        "addressType": f"IPv{family}",
        "endpoints": [{"addresses": [external.host], "conditions": {"ready": True}}],
        "ports": [{"name": port_name, "port": external.port, "protocol": "TCP"}],
    }
    # Headless, the name would resolve to the outside address with the outside port; the port change needs a ClusterIP.
    return Endpoint(name, {"type": "ClusterIP", "ports": [_port(port_name, port, external.port)]}, slice_)


def _port(name: str, port: int, target: int | None = None) -> Spec:
    return {"name": name, "port": port, "targetPort": target or port, "protocol": "TCP"}


def endpoint_objects(own_endpoint: Endpoint, labels: Mapping[str, str] | None = None) -> Iterator[Object]:
    """The Service, and its EndpointSlice where it has one. ``labels``: those of the Service."""
    yield Object(
        logical=own_endpoint.name,
        api_version="v1",
        kind="Service",
        name=own_endpoint.name,
        body={"spec": own_endpoint.service},
        labels=labels or {},
        # Without endpoints of its own at first, an awaited Service would never become ready.
        annotations={"pulumi.com/skipAwait": "true"},
    )
    if own_endpoint.slice is not None:
        yield Object(
            logical=f"{own_endpoint.name}-outside",
            api_version="discovery.k8s.io/v1",
            kind="EndpointSlice",
            name=f"{own_endpoint.name}-outside",
            body=own_endpoint.slice,
            labels={"kubernetes.io/service-name": own_endpoint.name},
            after=own_endpoint.name,
        )


def slurmdbd_endpoint(config: ClusterConfig) -> Endpoint | None:
    """The Service under the name that the operator writes for slurmdbd, where slurmdbd is outside."""
    name = names.accounting_service(config.cluster.resource_name)
    targets = (Target(host.host, host.port) for host in config.slurmdbd.hosts)
    return next((endpoint(name, "slurmdbd", names.SLURMDBD_PORT, target) for target in targets), None)


def slurmctld_endpoint(config: ClusterConfig) -> Endpoint | None:
    """The Service that leads 6817 to an outside slurmctld on another port; None where none is needed. With backups
    slurmrestd has a slurm.conf of the stack's, which names their port."""
    name = names.slurmctld_shim_service(config.cluster.resource_name)
    targets = config.slurmctld.joins if config.slurmctld.hosts and not has_backups(config) else ()
    others = (target for target in targets if target.port != names.SLURMCTLD_PORT)
    return next((endpoint(name, "slurmctld", names.SLURMCTLD_PORT, target) for target in others), None)


def has_backups(config: ClusterConfig) -> bool:
    """Whether slurmctld has backups outside: the operator knows one host of it (``ExternalConfig``, 1.0 to 1.2.1)."""
    return len(config.slurmctld.hosts) > 1


def conf_server_env(config: ClusterConfig) -> tuple[Spec, ...]:
    """The variable by which slurmd and sackd in pods ask every slurmctld for their configuration, and not only the one that
    the operator writes behind ``--conf-server``, over which it takes precedence (``fetch_config.c``)."""
    if not has_backups(config):
        return ()
    return ({"name": "SLURM_CONF_SERVER", "value": listed(config.slurmctld.joins)},)


def slurmctld_target(config: ClusterConfig) -> Target | None:
    """What the Controller's ``externalConfig`` says: the outside host itself, or the shim that leads to its port."""
    shim = slurmctld_endpoint(config)
    if shim is not None:
        return Target(f"{shim.name}.{config.cluster.namespace}", names.SLURMCTLD_PORT)
    return next((Target(host.host, host.port) for host in config.slurmctld.hosts), None)


def metrics_url(config: ClusterConfig, path: str = METRICS_PATH) -> str:
    """Where pods read slurmctld's metrics, of partitions unless ``path`` is another."""
    target = slurmctld_target(config)
    if target is None:
        host = f"{names.controller_service(config.cluster.resource_name)}.{config.cluster.namespace}.svc"
        return f"http://{host}:{names.SLURMCTLD_PORT}{path}"
    return f"http://{host_port(target.host, target.port)}{path}"
