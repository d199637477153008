"""The section networkPolicies: who may connect to the pods of a stack, beside those that the stack knows."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from slinky_iac.config.base import Section
from slinky_iac.config.fields import DnsLabel
from slinky_iac.config.shown import Refused


def _network(value: str) -> str:
    """As the API server takes it for an ipBlock: an address is a network of one."""
    try:
        return str(ip_network(value))
    except ValueError:
        raise Refused(
            value, "; a network is an address, or one with its length and no bits beyond it, for example 192.0.2.0/24"
        ) from None


Network = Annotated[str, AfterValidator(_network)]
"""Addresses in CIDR notation."""


class Peer(Section):
    """Somebody who may connect: a network, or pods."""

    cidr: Network | None = None
    """Addresses as pods see them, e.g. 192.0.2.0/24."""
    namespace: DnsLabel | None = None
    """Pods of this namespace; by default of the cluster's own."""
    pods: dict[str, str] = Field(default_factory=dict)
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
    """Clients of sshd in login pods (22). By default everybody: sshd asks who they are."""
    operator: tuple[Peer, ...] = ()
    """Clients of slurm-operator's pods, e.g. Prometheus. Asked where this stack installs the operator."""


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
