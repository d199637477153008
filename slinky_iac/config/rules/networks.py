"""Rules about networkPolicies: a policy that doesn't know a client cuts it off, so each client must be known before."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

from slinky_iac.blueprint.flows import (
    addresses_of,
    flows,
    limited,
    meets_a_policy,
    on_host_network,
    outside_hosts,
    parts,
    through_services,
)
from slinky_iac.config.fields import is_address
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.rules.kubernetes import ignored_fields
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.names import Part

_PATH: Final = "networkPolicies"
_PARTS: Final[tuple[Part, ...]] = ("slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login")
_OPEN: Final = ("slurmd", "login")
"""Parts that may connect to all but ``egress.blocked``."""
_CUT: Final = "Slurm's commands would fail there"
_HOST_NETWORK: Final[tuple[tuple[Part, str], ...]] = (
    ("slurmrestd", "restapi.pod.hostNetwork"),
    ("slurmd", "nodesets.*.pod.hostNetwork"),
    ("login", "logins.*.pod.hostNetwork"),
)


def unused(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Settings of policies that are off."""
    policies = config.network_policies
    if not policies.enabled:
        fields = ("api_server", "nodes", "addresses", "clients", "egress")
        yield from ignored_fields(_PATH, policies, fields, "networkPolicies.enabled is false")


def networks(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """What policies that are on must know, and where they don't hold."""
    if not config.network_policies.enabled:
        return
    yield from _operator(config)
    yield from _slurmrestd(config)
    yield from _hosts(config)
    yield from _nodes(config)
    yield from _egress(config)


def _operator(config: StackConfig) -> Iterator[Finding]:
    """Without an answer of slurmrestd the operator treats every node as drained: its namespace must be the right one."""
    operator = config.operator
    if not operator.install and "namespace" not in operator.model_fields_set:
        yield at("operator.namespace").error(
            "is needed with networkPolicies.enabled and operator.install: false: an operator in another namespace could not"
            " ask slurmrestd, and would delete pods with jobs on them. Set it to the operator's namespace"
        )
    if not operator.install and operator.namespace == config.cluster.namespace:
        yield at("operator.namespace").error(
            "is the cluster's namespace too: with networkPolicies.enabled every pod in it could connect to slurmrestd. Give"
            " the cluster a namespace of its own"
        )


def _slurmrestd(config: StackConfig) -> Iterator[Finding]:
    policies = config.network_policies
    if config.slurmrest.url is None:
        if not policies.api_server:
            yield at(f"{_PATH}.apiServer").error(
                "is needed: gates reach slurmrestd through the API server, and without it no node could be drained. Give the"
                " addresses that it connects to pods from, or the pods of konnectivity's agent (`slinky docs networks`)"
            )
    elif not (policies.clients.slurmrestd or through_services(config, "slurmrestd")):
        yield at(f"{_PATH}.clients.slurmrestd").error(
            "is needed with slurmrest.url: gates connect to slurmrestd from outside the cluster, and a policy refuses whom"
            " it doesn't name. Give the addresses, or the pods of the Ingress, that their connections come from"
        )


def _hosts(config: StackConfig) -> Iterator[Finding]:
    known = set[str]()
    for part in _PARTS:
        for host in outside_hosts(config, part):
            known.add(host.name)
            if meets_a_policy(config, part) and not addresses_of(config, host):
                yield at(f"{_PATH}.addresses").error(
                    f"has nothing for {name_of(host.name)} ({host.path}), which is known by name only, and a NetworkPolicy"
                    f" needs an address: its connections to pods, or theirs to it, would be refused. Set {_PATH}"
                    f".addresses.{name_of(host.name)} to its addresses; 0.0.0.0/0 opens its ports to everybody"
                )
    for name in config.network_policies.addresses:
        if name not in known:
            yield at(f"{_PATH}.addresses").error(
                f"has {name_of(name)}, which isn't an outside host of this stack: {_some(known)}. Correct or remove it"
            )


def _some(known: set[str]) -> str:
    return f"they are {', '.join(sorted(map(name_of, known)))}" if known else "it has none"


def _nodes(config: StackConfig) -> Iterator[Finding]:
    policies = config.network_policies
    through = [part for part in _PARTS if through_services(config, part)]
    bare = [(part, path) for part, path in _HOST_NETWORK if on_host_network(config, part)]
    for part, path in bare:
        yield at(path).warning(
            f"no NetworkPolicy holds for pods on the host network: {part} is open to everyone who reaches a node. Let the"
            " nodes' firewall guard it, then set slinky-iac:acknowledged: {host-network-unguarded: REASON}",
            id="host-network-unguarded",
        )
    if bare and not policies.nodes:
        yield at(f"{_PATH}.nodes").error(
            f"is needed with {bare[0][1]}: these pods connect from their nodes' addresses, and would be refused. Give the"
            " nodes' networks"
        )
    elif through and "nodes" not in policies.model_fields_set:
        yield at(f"{_PATH}.nodes").error(
            f"is needed: outside clients reach {' and '.join(through)} through a Service, and kube-proxy gives their"
            " connections a node's address. Give the nodes' networks, or [] where connections keep their address"
            " (externalTrafficPolicy: Local, or a network plugin that does so)"
        )


def _egress(config: StackConfig) -> Iterator[Finding]:
    egress, own = config.network_policies.egress, limited(config)
    for part in egress.parts:
        if part not in parts(config):
            said = f"{part} is ignored: no pod of {part} that this stack makes has a policy"
            yield at(f"{_PATH}.egress.parts").warning(said, id="setting-ignored")
    yield from _blocked(config)
    database = config.accounting.database
    if "slurmdbd" in own and database is not None and not egress.database and not is_address(database.host):
        yield at(f"{_PATH}.egress.database").error(
            f"is needed: slurmdbd's connections are limited, and a policy can't hold {name_of(database.host)}, the name in"
            " accounting.database.host. slurmdbd would end, and no job would be accounted. Give the addresses or the pods"
        )


def _blocked(config: StackConfig) -> Iterator[Finding]:
    """Hosts of the cluster among what pods of jobs and users may not connect to: nothing else lets them."""
    blocked = [ip_network(block) for block in config.network_policies.egress.blocked]
    cut: dict[tuple[str, str], dict[Part, None]] = {}
    for flow in flows(config):
        if flow.source not in _OPEN or flow.source not in limited(config) or flow.target not in _PARTS:
            continue
        target: Part = flow.target
        hosts = [
            (f"{name_of(outside_host.name)} ({outside_host.path})", addresses_of(config, outside_host))
            for outside_host in outside_hosts(config, target)
        ]
        if on_host_network(config, target):
            hosts.append((f"nodes with {target} on the host network ({_PATH}.nodes)", config.network_policies.nodes))
        for host, addresses in hosts:
            for network in map(ip_network, addresses):
                if over := next((str(block) for block in blocked if _is_in(network, block)), ""):
                    cut.setdefault((over, host), {})[flow.source] = None
    for (over, host), sources in cut.items():
        follows = "slurmctld sets nodes DOWN that don't answer it, and their jobs are lost" if "slurmd" in sources else _CUT
        yield at(f"{_PATH}.egress.blocked").error(
            f"has {over}, in which {host} is: pods of {' and '.join(sources)} could not connect to it. {follows[0].upper()}"
            f"{follows[1:]}. Give narrower networks without its address"
        )


def _is_in(network: IPv4Network | IPv6Network, other: IPv4Network | IPv6Network) -> bool:
    return network.version == other.version and network.subnet_of(other)  # type: ignore[arg-type]


RULES = (unused,)
OF_DAEMONS = (networks,)
"""Rules of stacks that make daemons; others make clients only."""
