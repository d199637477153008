"""NetworkPolicies, whole, and by what they let through: each part that must connect may, and a stranger may not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.config.networks import NetworkPolicies
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.workers import External
from slinky_iac.specs.networks import NetworkPolicy, network_policies
from tests.stacks import form, minimal
from tests.strategies import sound_configs

NAME, INSTANCE, CLUSTER = "app.kubernetes.io/name", "app.kubernetes.io/instance", "slinky.slurm.net/cluster"
API_SERVER, NODE, STRANGER, DATABASE = "10.0.0.10", "10.0.1.7", "198.51.100.9", "192.0.2.3"
LIMITED = ("slurmctld", "slurmdbd", "slurmrestd", "slurmd", "login")
BARE: dict[str, Any] = {"enabled": True, "apiServer": [{"cidr": API_SERVER}]}
ON = BARE | {"nodes": ["10.0.1.0/24"]}


def tcp(*ports: int) -> list[dict[str, Any]]:
    return [{"protocol": "TCP", "port": port} for port in ports]


def pods(**labels: str) -> dict[str, Any]:
    keys = {"name": NAME, "instance": INSTANCE, "cluster": CLUSTER}
    return {"matchLabels": {keys[key]: value for key, value in labels.items()}}


def from_pods(**labels: str) -> dict[str, Any]:
    return {"podSelector": pods(**labels)}


def block(cidr: str) -> dict[str, Any]:
    return {"ipBlock": {"cidr": cidr}}


LOGIN = {
    "matchLabels": {NAME: "login"},
    "matchExpressions": [{"key": INSTANCE, "operator": "In", "values": ["slurm-login-main"]}],
}
OPERATOR = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "slinky"}}}


def specs(config: StackConfig) -> dict[str, dict[str, Any]]:
    found = {f"{each.namespace}/{each.name}": each.spec for each in network_policies(config)}
    assert all(spec["policyTypes"] == ["Ingress"] for spec in found.values())
    return {name: {key: value for key, value in spec.items() if key != "policyTypes"} for name, spec in found.items()}


def test_all_in_kubernetes() -> None:
    login = {"main": {"sssdConfFrom": {"secret": "sssd"}}}
    found = specs(form("all-in-kubernetes", logins=login, networkPolicies=BARE))
    slurmd, slurmctld = from_pods(name="slurmd", cluster="slurm"), from_pods(name="slurmctld", instance="slurm")
    slurmrestd, slurmdbd = from_pods(name="slurmrestd", instance="slurm"), from_pods(name="slurmdbd", instance="slurm")
    logins = {"podSelector": LOGIN}
    assert found == {
        "slurm/slurm-slurmctld": {
            "podSelector": pods(name="slurmctld", instance="slurm"),
            "ingress": [
                *({"from": [each], "ports": tcp(6817)} for each in (logins, slurmrestd, slurmdbd)),
                {"from": [slurmd], "ports": [{"protocol": "TCP"}]},
            ],
        },
        "slurm/slurm-slurmdbd": {
            "podSelector": pods(name="slurmdbd", instance="slurm"),
            "ingress": [{"from": [each], "ports": tcp(6819)} for each in (slurmctld, slurmrestd, logins, slurmd)],
        },
        "slurm/slurm-slurmrestd": {
            "podSelector": pods(name="slurmrestd", instance="slurm"),
            "ingress": [
                {"from": [OPERATOR], "ports": tcp(6820)},
                {"from": [block("10.0.0.10/32")], "ports": tcp(6820)},
            ],
        },
        "slurm/slurm-slurmd": {
            "podSelector": pods(name="slurmd", cluster="slurm"),
            "ingress": [
                {"from": [slurmctld], "ports": [{"protocol": "TCP"}]},
                {"from": [slurmd]},
                {"from": [logins], "ports": tcp(6818, 22)},
            ],
        },
        "slurm/slurm-login": {
            "podSelector": LOGIN,
            "ingress": [
                {"from": [slurmctld], "ports": [{"protocol": "TCP"}]},
                {"from": [slurmd], "ports": [{"protocol": "TCP"}]},
                {"ports": tcp(22)},
            ],
        },
        "slinky/slurm-operator": {"podSelector": pods(name="slurm-operator"), "ingress": []},
    }


def test_all_outside() -> None:
    hosts = {"slurmctld.example.org": ["192.0.2.1", "192.0.2.2"]}
    found = specs(form("all-outside", networkPolicies=BARE | {"addresses": hosts}))
    metal = [block("192.0.2.101/32"), block("192.0.2.102/32")]
    assert found == {
        "slurm/slurm-slurmrestd": {
            "podSelector": pods(name="slurmrestd", instance="slurm"),
            "ingress": [
                {"from": [OPERATOR], "ports": tcp(6820)},
                {"from": [block("10.0.0.10/32")], "ports": tcp(6820)},
            ],
        },
        "slurm/slurm-slurmd": {
            "podSelector": pods(name="slurmd", cluster="slurm"),
            "ingress": [
                {"from": [block("192.0.2.1/32"), block("192.0.2.2/32")], "ports": [{"protocol": "TCP"}]},
                {"from": [from_pods(name="slurmd", cluster="slurm"), *metal]},
                {"from": [block("192.0.2.21/32")], "ports": tcp(6818, 22)},
            ],
        },
        "slinky/slurm-operator": {"podSelector": pods(name="slurm-operator"), "ingress": []},
    }


def egress_of(config: StackConfig) -> dict[str, list[dict[str, Any]]]:
    return {each.part: each.spec["egress"] for each in network_policies(config) if "Egress" in each.spec["policyTypes"]}


def test_what_daemons_connect_to_is_limited_where_that_is_asked() -> None:
    login = {"main": {"sssdConfFrom": {"secret": "sssd"}}}
    database = {"namespace": "databases", "pods": {"app": "mariadb"}}
    egress = {"parts": ["slurmctld", "slurmdbd", "slurmrestd"], "database": [database], "slurmctld": [{"cidr": "192.0.2.9"}]}
    found = egress_of(form("all-in-kubernetes", logins=login, networkPolicies=BARE | {"egress": egress}))
    slurmd, slurmctld = from_pods(name="slurmd", cluster="slurm"), from_pods(name="slurmctld", instance="slurm")
    slurmrestd, slurmdbd = from_pods(name="slurmrestd", instance="slurm"), from_pods(name="slurmdbd", instance="slurm")
    dns = {"ports": [{"protocol": name, "port": port} for name in ("UDP", "TCP") for port in (53, 5353)]}
    mariadb = {"matchLabels": {"kubernetes.io/metadata.name": "databases"}}
    assert found == {
        "slurmctld": [
            {"to": [slurmctld], "ports": tcp(6817)},
            {"to": [slurmdbd], "ports": tcp(6819)},
            {"to": [slurmd], "ports": [{"protocol": "TCP"}]},
            {"to": [{"podSelector": LOGIN}], "ports": [{"protocol": "TCP"}]},
            dns,
            {"to": [block("192.0.2.9/32")]},
        ],
        "slurmdbd": [
            {"to": [slurmdbd], "ports": tcp(6819)},
            {"to": [slurmctld], "ports": tcp(6817)},
            {
                "to": [{"namespaceSelector": mariadb, "podSelector": {"matchLabels": {"app": "mariadb"}}}],
                "ports": tcp(3306),
            },
            dns,
        ],
        "slurmrestd": [
            {"to": [slurmrestd], "ports": tcp(6820)},
            {"to": [slurmctld], "ports": tcp(6817)},
            {"to": [slurmdbd], "ports": tcp(6819)},
            dns,
        ],
    }


def test_jobs_and_users_reach_all_but_what_is_blocked() -> None:
    login = {"main": {"sssdConfFrom": {"secret": "sssd"}}}
    egress = {"parts": ["slurmd", "login"], "blocked": ["169.254.169.254", "168.63.129.16/32"]}
    found = egress_of(form("all-in-kubernetes", logins=login, networkPolicies=BARE | {"egress": egress}))
    four = {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.169.254/32", "168.63.129.16/32"]}}
    wanted = [{"to": [{"namespaceSelector": {}}, four, block("::/0")]}]
    assert found == {"slurmd": wanted, "login": wanted}


def test_dns_and_the_database_s_address_are_known_where_they_are_given() -> None:
    egress = {"parts": ["slurmdbd"], "dns": [{"namespace": "kube-system", "pods": {"k8s-app": "kube-dns"}}]}
    more = {"accounting": {"database": {"host": "192.0.2.5", "port": 3307}}}
    (_, _, database, dns) = egress_of(form("all-in-kubernetes", networkPolicies=BARE | {"egress": egress}, **more))[
        "slurmdbd"
    ]
    assert database == {"to": [block("192.0.2.5/32")], "ports": tcp(3307)}
    assert [list(peer) for peer in dns["to"]] == [["namespaceSelector", "podSelector"]]


def test_clients_of_the_site_are_let_to_the_part_that_names_them() -> None:
    prometheus = {"namespace": "monitoring", "pods": {"app": "prometheus"}}
    clients = {
        "slurmctld": [prometheus], "slurmrestd": [{"pods": {"app": "hub"}}, {"cidr": "2001:db8::/64"}],
        "slurmd": [{"namespace": "monitoring"}], "login": [{"cidr": "192.0.2.0/24"}], "operator": [prometheus],
    }  # fmt: skip
    tls = {"source": "existing", "secret": "cert", "service": {"type": "LoadBalancer"}}
    given: dict[str, Any] = {"networkPolicies": ON | {"clients": clients}, "restapi": {"tls": tls}}
    given["logins"] = {"main": {"sssdConfFrom": {"secret": "sssd"}, "service": {"type": "LoadBalancer"}}}
    last = {name: spec["ingress"] for name, spec in specs(form("all-in-kubernetes", **given)).items()}
    monitoring = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    scraper = monitoring | {"podSelector": {"matchLabels": {"app": "prometheus"}}}
    assert last["slurm/slurm-slurmctld"][-1] == {"from": [scraper], "ports": tcp(6817)}
    assert last["slurm/slurm-slurmrestd"][1:] == [
        {"from": [block("10.0.0.10/32")], "ports": tcp(6820, 6843)},
        {"from": [block("10.0.1.0/24")], "ports": tcp(6843)},
        {"from": [{"podSelector": {"matchLabels": {"app": "hub"}}}, block("2001:db8::/64")], "ports": tcp(6820, 6843)},
    ]
    assert last["slurm/slurm-slurmd"][-1] == {"from": [monitoring], "ports": [{"protocol": "TCP"}]}
    assert last["slurm/slurm-login"][-2:] == [
        {"from": [block("10.0.1.0/24")], "ports": tcp(22)},
        {"from": [block("192.0.2.0/24")], "ports": tcp(22)},
    ]
    assert last["slinky/slurm-operator"] == [{"from": [scraper], "ports": [{"protocol": "TCP"}]}]


@pytest.mark.parametrize("more", [{}, {"networkPolicies": {"enabled": False}}])
def test_none_is_made_where_they_are_off(more: dict[str, Any]) -> None:
    assert network_policies(load(minimal(**more))) == ()


def test_no_two_policies_have_one_name() -> None:
    long = {"cluster": {"resourceName": "x" * 40}, "networkPolicies": ON}
    found = network_policies(form("all-in-kubernetes", logins={"main": {"sssdConfFrom": {"secret": "sssd"}}}, **long))
    assert len({(each.namespace, each.name) for each in found}) == len(found) == 6


# -- what the policies let through, as the Kubernetes API defines it ---------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A pod, or with no labels a host."""

    address: str
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    wanted = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    listed = selector.get("matchExpressions", [])
    assert all(each["operator"] == "In" for each in listed)
    return wanted and all(labels.get(each["key"]) in each["values"] for each in listed)


def comes_from(peer: Mapping[str, Any], own: str, source: Place) -> bool:
    if "ipBlock" in peer:
        network = ip_network(peer["ipBlock"]["cidr"])
        address = ip_address(source.address)
        blocked = any(address in ip_network(each) for each in peer["ipBlock"].get("except", []))
        return address.version == network.version and address in network and not blocked
    if not source.namespace:
        return False
    if "namespaceSelector" in peer:
        if not matches(peer["namespaceSelector"], {"kubernetes.io/metadata.name": source.namespace}):
            return False
    elif source.namespace != own:
        return False
    return matches(peer.get("podSelector", {}), source.labels)


def lets(policies: tuple[NetworkPolicy, ...], source: Place, target: Place, protocol: str, port: int) -> bool:
    """A connection must be let in where it ends and, where that is limited, out where it begins."""
    return _lets(policies, "Ingress", target, source, protocol, port) and _lets(
        policies, "Egress", source, target, protocol, port
    )


def _lets(policies: tuple[NetworkPolicy, ...], way: str, own: Place, other: Place, protocol: str, port: int) -> bool:
    selecting = [
        each
        for each in policies
        if way in each.spec["policyTypes"]
        and each.namespace == own.namespace
        and matches(each.spec["podSelector"], own.labels)
    ]
    if not selecting:
        return True
    named = {"Ingress": "from", "Egress": "to"}[way]
    for policy in selecting:
        for rule in policy.spec[way.lower()]:
            ports = rule.get("ports", [])
            if ports and not any(p["protocol"] == protocol and p.get("port", port) == port for p in ports):
                continue
            if named not in rule or any(comes_from(peer, policy.namespace, other) for peer in rule[named]):
                return True
    return False


MUST: tuple[tuple[str, str, str, int], ...] = (
    *((each, "slurmctld", "TCP", 6817) for each in ("slurmd", "login", "slurmrestd", "slurmdbd")),
    *((each, "slurmdbd", "TCP", 6819) for each in ("slurmctld", "slurmrestd", "login", "slurmd")),
    ("operator", "slurmrestd", "TCP", 6820),
    ("api-server", "slurmrestd", "TCP", 6820),
    ("slurmd", "slurmctld", "TCP", 41234), ("slurmctld", "slurmd", "TCP", 6818),
    ("slurmctld", "slurmd", "TCP", 41234), ("slurmctld", "login", "TCP", 41234),
    ("slurmd", "slurmd", "TCP", 6818), ("slurmd", "slurmd", "TCP", 41234), ("slurmd", "slurmd", "UDP", 4791),
    ("login", "slurmd", "TCP", 6818), ("login", "slurmd", "TCP", 22), ("slurmd", "login", "TCP", 41234),
    ("stranger", "login", "TCP", 22),
)  # fmt: skip
MUST_NOT: tuple[tuple[str, str], ...] = (
    *(("stranger", each) for each in ("slurmctld", "slurmdbd", "slurmrestd", "slurmd")),
    ("slurmd", "slurmrestd"), ("login", "slurmrestd"), ("operator", "slurmctld"), ("operator", "slurmdbd"),
    ("operator", "slurmd"), ("api-server", "slurmctld"), ("api-server", "slurmdbd"), ("slurmrestd", "slurmd"),
    ("slurmdbd", "slurmd"),
)  # fmt: skip
PORTS = (22, 6817, 6818, 6819, 6820, 6843, 41234)


def places(config: StackConfig) -> dict[str, list[Place]]:
    """Where everybody is: pods with the labels that the operator gives them, hosts by their addresses."""
    base, space = config.cluster.resource_name, config.cluster.namespace
    external = config.external

    def pod(name: str, instance: str, *, host_network: bool, cluster: bool = False) -> Place:
        more = {CLUSTER: base} if cluster else {}
        return Place(NODE) if host_network else Place("10.9.0.1", space, {NAME: name, INSTANCE: instance} | more)

    ctl, dbd = config.controller.external, config.accounting.external
    found: dict[str, list[Place]] = {
        "slurmctld": [Place("192.0.2.1") if ctl else pod("slurmctld", base, host_network=False)],
        "slurmdbd": [],
        "slurmrestd": [pod("slurmrestd", base, host_network=config.restapi.pod.host_network)],
        "slurmd": [
            pod("slurmd", f"{base}-worker-{n}", host_network=s.pod.host_network, cluster=True)
            for n, s in config.nodesets.items()
        ],
        "login": [pod("login", f"{base}-login-{n}", host_network=s.pod.host_network) for n, s in config.logins.items()],
        "operator": [Place("10.9.9.9", config.operator.namespace, {NAME: "slurm-operator"})],
        "api-server": [Place(API_SERVER)],
        "stranger": [
            Place(STRANGER),
            Place("10.9.0.3", "elsewhere", {NAME: "slurmd", CLUSTER: base, INSTANCE: base}),
            Place("10.9.0.4", space, {"app": "notebook"}),
            Place("10.9.0.5", space, {NAME: "slurmd", INSTANCE: "other-worker-gpu", CLUSTER: "other"}),
            Place("10.9.0.6", space, {NAME: "slurmctld", INSTANCE: "other"}),
            Place("10.9.0.7", space, {NAME: "login", INSTANCE: "other-login-main"}),
        ],
    }  # fmt: skip
    if config.accounting.enabled:
        found["slurmdbd"] = [Place("192.0.2.2") if dbd else pod("slurmdbd", base, host_network=False)]
    found["slurmd"] += [Place(str(each.address)) for each in external.slurmd_hosts]
    found["login"] += [Place(str(each.address)) for each in external.login_hosts]
    return found


@st.composite
def guarded(draw: st.DrawFn) -> StackConfig:
    config = draw(sound_configs())
    hosts = {
        "slurmdHosts": [{"name": "m1", "address": "192.0.2.11"}],
        "loginHosts": [{"name": "l1", "address": "192.0.2.21"}],
    }
    external = External.model_validate(hosts if draw(st.booleans()) else {})
    outside = ((config.controller.external, "192.0.2.1"), (config.accounting.external, "192.0.2.2"))
    addresses = {daemon.host: [address] for daemon, address in outside if daemon is not None}
    limited = draw(st.lists(st.sampled_from(LIMITED), unique=True))
    egress = {"parts": limited, "database": [{"cidr": DATABASE}]}
    policies = NetworkPolicies.model_validate(ON | {"addresses": addresses, "egress": egress})
    return config.model_copy(update={"network_policies": policies, "external": external})


def targets(found: dict[str, list[Place]], part: str) -> Iterator[Place]:
    return (each for each in found[part] if each.namespace)


@given(guarded())
def test_each_part_that_must_connect_may(config: StackConfig) -> None:
    policies, found = network_policies(config), places(config)
    for source, target, protocol, port in MUST:
        for each in found[source]:
            for to in targets(found, target):
                assert lets(policies, each, to, protocol, port), (source, target, protocol, port)


@given(guarded())
def test_each_that_must_not_connect_may_not(config: StackConfig) -> None:
    policies, found = network_policies(config), places(config)
    for source, target in MUST_NOT:
        # A pod on the host network has its node's address, which others there have, too.
        for each in (place for place in found[source] if place.address != NODE):
            for to in targets(found, target):
                for port in PORTS:
                    assert not lets(policies, each, to, "TCP", port), (source, target, port)
                assert not lets(policies, each, to, "UDP", 6817)


@given(guarded())
def test_a_part_that_is_limited_connects_to_its_daemons_its_database_and_dns_alone(config: StackConfig) -> None:
    policies, found = network_policies(config), places(config)
    limited = set(config.network_policies.egress.parts)
    for part in LIMITED:
        for each in targets(found, part):
            assert lets(policies, each, Place(STRANGER), "UDP", 53)
            is_daemon = part not in ("slurmd", "login")
            assert lets(policies, each, Place(STRANGER), "TCP", 443) == (part not in limited or not is_daemon)
            assert lets(policies, each, Place("169.254.169.254"), "TCP", 80) == (part not in limited)
            if part == "slurmdbd":
                assert lets(policies, each, Place(DATABASE), "TCP", config.accounting.database.port)  # type: ignore[union-attr]
    own = {"slurmctld": config.slurmctld.port, "slurmdbd": next(iter(config.slurmdbd.ports), 0)}
    for source, target, protocol, usual in MUST:
        # A Service that leads to a daemon outside has changed the port before a policy sees the connection.
        port = own.get(target, usual) if usual in (6817, 6819) else usual
        for each in targets(found, source):
            for host in (place for place in found[target] if not place.namespace):
                assert lets(policies, each, host, protocol, port), (source, target, protocol, port)


@given(guarded())
def test_a_stranger_reaches_no_port_of_login_pods_but_sshd(config: StackConfig) -> None:
    policies, found = network_policies(config), places(config)
    for each in found["stranger"]:
        for to in targets(found, "login"):
            assert [port for port in PORTS if lets(policies, each, to, "TCP", port)] == [22]


def test_without_policies_the_evaluation_lets_a_stranger_in() -> None:
    """The judge above can say yes."""
    assert lets((), Place(STRANGER), Place("10.9.0.1", "slurm", {NAME: "slurmctld"}), "TCP", 6817)
