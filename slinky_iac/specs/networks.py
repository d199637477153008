"""NetworkPolicies: which connections the pods of a stack take, and from whom; and what they connect to, where that is asked.

Who talks to whom is :data:`slinky_iac.blueprint.flows.FLOWS`. All else is refused to the pods that a
policy selects. What they connect to themselves is limited by ``networkPolicies.egress`` alone: jobs are their users'
programs, and a policy can't name the hosts that they need (docs/adr/0012-network-policies.md).

Labels are those of the operator's pods (``internal/builder/labels``, 1.0.1 to 1.2.1): NodeSets' pods have their cluster's
name, login pods only their own set's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Final

from slinky_iac import names
from slinky_iac.blueprint.flows import (
    ALL_TCP,
    EVERYTHING,
    SSH,
    End,
    Ports,
    addresses_of,
    flows,
    limited,
    network_of,
    on_host_network,
    outside_hosts,
    parts,
    through_services,
    together,
)
from slinky_iac.config.fields import is_address
from slinky_iac.config.networks import Network, Peer
from slinky_iac.config.stack import StackConfig
from slinky_iac.names import Part
from slinky_iac.specs.shared import Spec, filled

DNS: Final = (53, 5353)
"""CoreDNS's port, and that of OpenShift's DNS pods behind port 53 of their Service."""


@dataclass(frozen=True)
class NetworkPolicy:
    """One NetworkPolicy."""

    part: Part
    name: str
    namespace: str
    spec: Spec


def network_policies(config: StackConfig) -> tuple[NetworkPolicy, ...]:
    """The policies of a stack; none where they are off."""
    if not config.network_policies.enabled:
        return ()
    return tuple(_policy(config, part) for part in parts(config))


def _policy(config: StackConfig, part: Part) -> NetworkPolicy:
    space = config.operator.namespace if part == "operator" else config.cluster.namespace
    spec: Spec = {"podSelector": selector(config, part), "policyTypes": ["Ingress"], "ingress": list(_ingress(config, part))}
    if part in limited(config):
        spec["policyTypes"].append("Egress")
        spec["egress"] = list(_egress(config, part))
    return NetworkPolicy(part, names.network_policy(config.cluster.resource_name, part), space, spec)


def selector(config: StackConfig, part: Part) -> Spec:
    """The pods of a part."""
    base = config.cluster.resource_name
    app = {names.LABEL_NAME: names.OPERATOR_APP if part == "operator" else part}
    match part:
        case "operator":
            return {"matchLabels": app}
        case "slurmd":
            return {"matchLabels": app | {names.LABEL_CLUSTER: base}}
        case "login":
            sets = [names.loginset_resource(base, login) for login in config.logins]
            return {"matchLabels": app, "matchExpressions": [_one_of(names.LABEL_INSTANCE, sets)]}
        case _:
            return {"matchLabels": app | {names.LABEL_INSTANCE: base}}


def _one_of(label: str, values: list[str]) -> Spec:
    return {"key": label, "operator": "In", "values": values}


def _ingress(config: StackConfig, part: Part) -> Iterator[Spec]:
    policies = config.network_policies
    for flow in together(flows(config)):
        if flow.target == part and (peers := _peers(config, flow.source)):
            yield _rule(peers, flow.ports)
    own: Ports = config.slurmrestd.ports if part == "slurmrestd" else _OWN[part]
    if part == "slurmrestd" and policies.api_server:
        yield _rule(_given(policies.api_server), own)
    if ports := through_services(config, part):
        yield _rule([_block(network) for network in policies.nodes], ports)
    clients = getattr(policies.clients, part)
    if clients:
        yield _rule(_given(clients), own)
    elif part == "login":
        yield {"ports": _ports((SSH,))}


def _egress(config: StackConfig, part: Part) -> Iterator[Spec]:
    """What a part connects to: jobs and users to all that isn't blocked, daemons to what they need."""
    egress = config.network_policies.egress
    if part in ("slurmd", "login"):
        yield {"to": [{"namespaceSelector": {}}, *(_all_but(egress.blocked, version) for version in (4, 6))]}
        return
    yield _to([{"podSelector": selector(config, part)}], _OWN[part])  # by its own Service, too
    for flow in together(flows(config)):
        if flow.source == part and (peers := _peers(config, flow.target)):
            yield _to(peers, flow.ports)
    asked = {"ports": [{"protocol": protocol, "port": port} for protocol in ("UDP", "TCP") for port in DNS]}
    yield asked | ({"to": _given(egress.dns)} if egress.dns else {})
    if more := getattr(egress, part):
        yield _to(_given(more), EVERYTHING)


def _all_but(blocked: Iterable[Network], version: int) -> Spec:
    """Every address of one IP version but these."""
    own = [network for network in blocked if ip_network(network).version == version]
    return {"ipBlock": {"cidr": "0.0.0.0/0" if version == 4 else "::/0", **({"except": own} if own else {})}}


_OWN: Final[dict[Part, Ports]] = {
    "slurmctld": (names.SLURMCTLD_PORT,),
    "slurmdbd": (names.SLURMDBD_PORT,),
    "slurmrestd": (names.SLURMRESTD_PORT,),
    "slurmd": ALL_TCP,
    "login": (SSH,),
    "operator": ALL_TCP,
}
"""What other clients of a part are let to."""


def _peers(config: StackConfig, end: End) -> list[Spec]:
    """Where an end of a flow is: its pods, their nodes where they are on the host network, its outside hosts. None for the
    desk, the API server and users, whom the settings name."""
    match end:
        case "operator":
            # The whole namespace: an operator that can't ask slurmrestd treats every node as drained and deletes busy pods.
            pods = [_space(config.operator.namespace)]
        case "clients":
            return [_space(space) for space in sorted({client.namespace for client in config.clients.values()})]
        case "database":
            hosts = [database.host for database in config.slurmdbd.databases if is_address(database.host)]
            return _given(config.network_policies.egress.database) or [_block(network_of(address)) for address in hosts]
        case "desk" | "API server" | "users":
            return []
        case _:
            pods = [{"podSelector": selector(config, end)}] if end in parts(config) else []
    networks = [*(config.network_policies.nodes if on_host_network(config, end) else ())]
    for host in outside_hosts(config, end):
        networks += addresses_of(config, host)
    return pods + [_block(network) for network in dict.fromkeys(networks)]


def _space(name: str) -> Spec:
    return {"namespaceSelector": {"matchLabels": {names.LABEL_NAMESPACE: name}}}


def _given(peers: Iterable[Peer]) -> list[Spec]:
    return [_peer(peer) for peer in peers]


def _peer(peer: Peer) -> Spec:
    if peer.cidr is not None:
        return _block(peer.cidr)
    pods: Spec = {"podSelector": {"matchLabels": dict(peer.pods)}} if peer.pods else {}
    return pods if peer.namespace is None else _space(peer.namespace) | pods


def _block(network: Network) -> Spec:
    return {"ipBlock": {"cidr": network}}


def _rule(peers: list[Spec], ports: Ports) -> Spec:
    return {"from": peers, **filled({"ports": _ports(ports)})}


def _to(peers: list[Spec], ports: Ports) -> Spec:
    return {"to": peers, **filled({"ports": _ports(ports)})}


def _ports(ports: Ports) -> list[Spec]:
    if isinstance(ports, tuple):
        return [{"protocol": "TCP", "port": port} for port in ports]
    return [{"protocol": "TCP"}] if ports == ALL_TCP else []
