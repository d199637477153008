"""The section networkPolicies: who may connect to the pods of a stack, beside those that the stack knows."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from slinky_iac.config.base import Section
from slinky_iac.config.fields import DnsLabel
from slinky_iac.config.labels import Labels
from slinky_iac.config.shown import Refused


def _network(value: str) -> str:
    """As the API server takes it for an ipBlock: an address is a network of one."""
    try:
        return str(ip_network(value))
    except ValueError:
        said = "; a network is an address, or one with its length: 192.0.2.0/24, not 192.0.2.5/24: host bits must be 0"
        raise Refused(value, said) from None


Network = Annotated[str, AfterValidator(_network)]
"""Addresses in CIDR notation."""


class Peer(Section):
    """Somebody who may connect: a network, or pods."""

    cidr: Network | None = None
    """Addresses as pods see them, e.g. 192.0.2.0/24."""
    namespace: DnsLabel | None = None
    """Pods of this namespace; by default of the cluster's own."""
    pods: Labels = Field(default_factory=dict)
    """Labels of these pods; all pods of `namespace` where none is given."""

    @model_validator(mode="after")
    def _one_kind(self) -> Peer:
        has_pods = self.namespace is not None or bool(self.pods)
        if (self.cidr is not None) == has_pods:
            raise ValueError("give either cidr, or namespace and pods (one or both)")
        return self


class Clients(Section):
    """Who else may connect, by the daemon that is connected to. The parts of the cluster needn't be named."""

    slurmctld: tuple[Peer, ...] = ()
    """Clients of slurmctld in Kubernetes (6817), e.g. Prometheus with controller.metrics."""
    slurmdbd: tuple[Peer, ...] = ()
    """Clients of slurmdbd in Kubernetes (6819), e.g. slurmctld of another cluster."""
    slurmrestd: tuple[Peer, ...] = ()
    """Clients of slurmrestd (6820, and 6843 with restapi.tls), e.g. JupyterHub, an Ingress, the desks of slurmrest.url."""
    slurmd: tuple[Peer, ...] = ()
    """Clients of slurmd's pods, on every TCP port, e.g. Prometheus."""
    login: tuple[Peer, ...] = ()
    """Clients of sshd in login pods (22). By default everyone: sshd authenticates them."""
    operator: tuple[Peer, ...] = ()
    """Clients of slurm-operator's pods, e.g. Prometheus. Asked where this stack installs the operator."""


METADATA = ("169.254.169.254/32", "fd00:ec2::254/128")
"""Where clouds answer each pod that asks for its node's credentials."""


class Egress(Section):
    """What pods of the stack may connect to themselves. By default that isn't limited."""

    parts: tuple[Literal["slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login"], ...] = ()
    """Parts whose pods are limited. slurmctld, slurmdbd and slurmrestd may connect to the parts of the cluster that they
    need, to DNS, and to what is named here. Jobs (slurmd) and users (login) may connect to everything but `blocked`.
    Nodes that slurmctld may not connect to are set DOWN, and their jobs are lost: name all of them before slurmctld."""
    blocked: tuple[Network, ...] = METADATA
    """What pods of slurmd and login may not connect to. By default the metadata addresses of clouds, which give each pod the
    rights of its node."""
    dns: tuple[Peer, ...] = ()
    """Who answers DNS, on ports 53 and 5353. By default everybody, since some clusters answer on the node."""
    database: tuple[Peer, ...] = ()
    """The database of slurmdbd, on its port. By default the address in accounting.database.host; needed for a name."""
    slurmctld: tuple[Peer, ...] = ()
    """What else slurmctld connects to, on every port, e.g. another stack's nodes, or hosts that its scripts ask."""
    slurmdbd: tuple[Peer, ...] = ()
    """What else slurmdbd connects to, on every port, e.g. slurmctld of another cluster."""
    slurmrestd: tuple[Peer, ...] = ()
    """What else slurmrestd connects to, on every port."""


class NetworkPolicies(Section):
    """NetworkPolicies for every pod of the stack: each may be connected to by the parts that need it, and by no other
    pod. They hold where the network plugin enforces NetworkPolicies (docs/networks.md says how to see it)."""

    enabled: bool = False
    """Make them. Off by default: a client that the stack doesn't know would be cut off by an upgrade."""
    api_server: tuple[Peer, ...] = ()
    """From where the API server connects to pods; gates reach slurmrestd through it. Control plane nodes, or the pods of
    konnectivity's agent."""
    nodes: tuple[Network, ...] = ()
    """Addresses of Kubernetes nodes as pods see them. Needed for pods on the host network, and for clients that come through
    a Service from outside, since kube-proxy gives their connections a node's address. May be empty where it doesn't."""
    addresses: dict[str, tuple[Network, ...]] = Field(default_factory=dict)
    """Addresses of outside hosts that the stack knows by name only: a policy can't hold a name. By default a host has the
    address that the stack has for it."""
    clients: Clients = Clients()
    """Who else may connect."""
    egress: Egress = Egress()
    """What pods may connect to themselves."""
