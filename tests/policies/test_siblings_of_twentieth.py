"""Siblings of what a twentieth set found: policies that close what daemons connect to; evil ones shut what is needed."""

from __future__ import annotations

from typing import Any

import pytest
from slurm_rules.closed import cluster_as_made

from tests.policies.in_memory import in_memory, one
from tests.policies.judging import messages, spec
from tests.policies.pack import plain_stack
from tests.policies.test_siblings_of_nineteenth import stack

Data = dict[str, Any]
NAME, INSTANCE, SPACE = "app.kubernetes.io/name", "app.kubernetes.io/instance", "kubernetes.io/metadata.name"
SHUT = "spec.policyTypes shuts"


def pods(daemon: str, **more: Any) -> Data:
    return {"podSelector": {"matchLabels": {NAME: daemon, INSTANCE: "slurm"}}, **more}


def space(name: str, **more: Any) -> Data:
    return {"namespaceSelector": {"matchLabels": {SPACE: name}}, **more}


def way(peer: Data | None, *ports: object, **more: Any) -> Data:
    asked = [port if isinstance(port, dict) else {"port": port, "protocol": "TCP"} for port in ports]
    return {**({"to": [peer]} if peer is not None else {}), **({"ports": asked} if asked else {}), **more}


UDP = {"port": 53, "protocol": "UDP"}
COREDNS = space("kube-system", podSelector={"matchLabels": {"k8s-app": "kube-dns"}})
DNS = way(COREDNS, UDP, 53)
CTLD = way(pods("slurmctld"), 6817)
DBD = way(pods("slurmdbd"), 6819)
STORE = way(space("databases"), 3306)
OF_DBD = [STORE, CTLD, DNS]
OF_REST = [CTLD, DBD, DNS]


def policy(daemon: str, *egress: Data, name: str = "site", types: tuple[str, ...] = ("Egress",), **labels: str) -> Data:
    selector = {"matchLabels": {NAME: daemon, INSTANCE: "slurm", **labels}}
    return {
        "type": "kubernetes:networking.k8s.io/v1:NetworkPolicy",
        "properties": {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": name, "namespace": "slurm"},
            "spec": {"podSelector": selector, "policyTypes": list(types), "egress": list(egress)},
        },
    }


def said(daemon: str, *egress: Data, **more: Any) -> str:
    return stack(x=policy(daemon, *egress, **more))


@pytest.mark.parametrize(("daemon", "ways"), [("slurmdbd", OF_DBD), ("slurmrestd", OF_REST)])
def test_each_way_of_a_daemon_is_needed(daemon: str, ways: list[Data]) -> None:
    assert said(daemon, *ways) == ""
    for index in range(len(ways)):
        assert SHUT in said(daemon, *ways[:index], *ways[index + 1 :])
    assert SHUT in said(daemon)
    assert SHUT in said(daemon, types=("Ingress", "Egress"))
    assert SHUT in said(daemon, *ways[1:], types=())  # the API server's default: there are rules for what is sent


@pytest.mark.parametrize("daemon", ["slurmctld", "slurmd", "login"])
def test_a_daemon_that_answers_hosts_outside_is_not_closed(daemon: str) -> None:
    every = [way({"podSelector": {}}), way({"namespaceSelector": {}}), DNS]
    assert SHUT in said(daemon, *every)
    assert SHUT not in said(daemon, way({"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.169.254/32"]}}))


@pytest.mark.parametrize(
    "instead",
    [
        way(pods("slurmctld"), 6818),
        way(pods("slurmctld"), {"port": 6817, "protocol": "UDP"}),
        way(pods("slurmctld"), {"port": 6810, "endPort": 6816}),
        way(pods("slurmctld"), {"port": 6810, "endPort": "6820"}),
        way(pods("slurmctld"), {"port": "slurmctld"}),
        way(pods("slurmctld"), {"port": "6817"}),
        way(pods("slurmd"), 6817),
        way(pods("slurmctld", **space("slinky")), 6817),
        way(pods("slurmctld", namespaceSelector={"matchLabels": {"team": "x"}}), 6817),
        way(pods("slurmctld", namespaceSelector={"matchExpressions": [{"key": SPACE, "operator": "DoesNotExist"}]}), 6817),
        way({"podSelector": {"matchLabels": {NAME: "slurmctld", INSTANCE: "other"}}}, 6817),
        way({"podSelector": {"matchLabels": {NAME: "slurmctld", "team": "x"}}}, 6817),
        way({"podSelector": {"matchLabels": {NAME: "slurmctld"}, "matchExpressions": [{"key": "x", "operator": "Exists"}]}}),
        way({"podSelector": {"matchExpressions": [{"key": NAME, "operator": "In", "values": ["slurmd"]}]}}, 6817),
        way({"ipBlock": {"cidr": "10.0.0.0/8"}}, 6817),
        way({}, 6817),
    ],
)
@pytest.mark.parametrize(("daemon", "ways"), [("slurmdbd", [STORE, DNS]), ("slurmrestd", [DBD, DNS])])
def test_the_way_to_slurmctld_is_to_its_pods_and_port(daemon: str, ways: list[Data], instead: Data) -> None:
    assert SHUT in said(daemon, *ways, instead)


@pytest.mark.parametrize(
    "instead",
    [
        way(space("database"), 3306),
        way(space("databases"), 3307),
        way(space("databases", podSelector={"matchLabels": {NAME: "postgres"}}), 3306),
        way({"namespaceSelector": {"matchLabels": {SPACE: "databases", "team": "x"}}}, 3306),
        way({"podSelector": {}}, 3306),
        way({"ipBlock": {"cidr": "192.0.2.0/24"}}, 3306),
    ],
)
def test_the_way_to_the_database_is_the_one_that_the_setting_names(instead: Data) -> None:
    assert SHUT in said("slurmdbd", instead, CTLD, DNS)


@pytest.mark.parametrize(
    ("config", "peer"),
    [
        ({"host": "mariadb.other"}, space("databases")),
        ({"host": "mariadb.other.svc.cluster.local"}, space("databases")),
        ({"host": "mariadb"}, space("databases")),
        ({"port": 3307}, space("databases")),
        ({"host": "192.0.2.9"}, {"ipBlock": {"cidr": "192.0.2.10/32"}}),
        ({"host": "192.0.2.9"}, {"ipBlock": {"cidr": "192.0.2.0/24", "except": ["192.0.2.9/32"]}}),
        ({"host": "192.0.2.9"}, {"namespaceSelector": {}}),
        ({"host": "db.hpc.example.org"}, {"ipBlock": {"cidr": "192.0.2.0/24"}}),
        ({"host": "db.hpc.example.org"}, {"namespaceSelector": {}}),
        ({"host": "${slurm-key.result}"}, space("databases")),
        ({"port": "${slurm-key.result}"}, space("databases")),
    ],
)
def test_another_database_is_another_way(config: Data, peer: Data) -> None:
    moved = spec("accounting", storageConfig=config)["resources"]
    assert SHUT in stack(**moved, x=policy("slurmdbd", way(peer, 3306), CTLD, DNS))


def test_a_second_database_has_a_way_too() -> None:
    second = spec("accounting", extraConf="StorageBackupHost=mariadb.spare")["resources"]
    assert SHUT in stack(**second, x=policy("slurmdbd", *OF_DBD))
    assert SHUT not in stack(**second, x=policy("slurmdbd", *OF_DBD, way(space("spare"), 3306)))


@pytest.mark.parametrize(
    "instead",
    [
        way(COREDNS, UDP),
        way(COREDNS, 53),
        way(COREDNS, {"port": 5353, "protocol": "UDP"}, 5353),
        way(space("dns"), UDP, 53),
        way(space("kube-system", podSelector={"matchLabels": {"k8s-app": "metrics-server"}}), UDP, 53),
        way({"podSelector": {}}, UDP, 53),
        way(pods("slurmctld"), UDP, 53),
    ],
)
@pytest.mark.parametrize(("daemon", "ways"), [("slurmdbd", [STORE, CTLD]), ("slurmrestd", [CTLD, DBD])])
def test_names_are_asked_of_the_clusters_dns(daemon: str, ways: list[Data], instead: Data) -> None:
    assert SHUT in said(daemon, *ways, instead)


@pytest.mark.parametrize(
    "change",
    [
        {"controller": {"external": True, "externalConfig": {"host": "192.0.2.9", "port": 6817}}},
        {"controller": {"template": {"spec": {"hostNetwork": True}}}},
    ],
)
def test_a_daemon_outside_is_reached_by_no_label(change: Data) -> None:
    outside = spec(*change, **change["controller"])["resources"]
    for daemon, ways in (("slurmdbd", OF_DBD), ("slurmrestd", OF_REST)):
        assert SHUT in stack(**outside, x=policy(daemon, *ways))


@pytest.mark.parametrize(("name", "namespace"), [("other", "slurm"), ("slurm", "other")])
@pytest.mark.parametrize("kind", ["Accounting", "Controller"])
def test_a_second_cluster_has_ways_of_its_own(kind: str, name: str, namespace: str) -> None:
    metadata = {"name": name, "namespace": namespace}
    other = {"type": f"kubernetes:slinky.slurm.net/v1beta1:{kind}", "properties": {"metadata": metadata, "spec": {}}}
    assert SHUT in stack(other=other, x=policy("slurmrestd", *OF_REST))


def test_a_slurmdbd_of_another_stack_has_a_database_that_is_not_seen() -> None:
    without = plain_stack("inside", {"resources": {"x": policy("slurmdbd", *OF_DBD)}})
    del without["resources"]["accounting"]
    assert f"{SHUT} slurmdbd off from its database" in messages(one(cluster_as_made, in_memory(without)))


def test_a_policy_of_the_programs_own_name_has_its_form() -> None:
    assert "which the program" in said("slurmdbd", *OF_DBD, name="slurm-slurmdbd", types=("Ingress", "Egress"))
    assert "none that the program writes" in said("login", *OF_DBD, name="slurm-login")


def test_what_comes_in_is_not_closed_by_the_way() -> None:
    inward = {"ingress": [{"from": [{"ipBlock": {"cidr": "192.0.2.0/24"}}], "ports": [{"port": 22, "protocol": "TCP"}]}]}
    own = policy("login", types=("Ingress",))
    own["properties"]["spec"] |= inward
    assert SHUT in stack(x=own)
    anyone = policy("slurmdbd", *OF_DBD, types=("Ingress", "Egress"))
    anyone["properties"]["spec"]["ingress"] = [{}]
    assert "lets" in stack(x=anyone)


@pytest.mark.parametrize(
    "ways",
    [
        [way(space("databases"), 3306), way(pods("slurmctld"), 6817), DNS],
        [way(space("databases")), way({"podSelector": {}}), way({"namespaceSelector": {}}, UDP, 53)],
        [way({"namespaceSelector": {}}), way(None, UDP), way(None, 53)],
        [way(space("databases"), {"port": 3306}), way(pods("slurmctld", **space("slurm")), 6817), way(None, UDP, 53)],
        [way(space("databases", podSelector={}), 3306), way({"podSelector": {"matchLabels": {NAME: "slurmctld"}}}), DNS],
        [
            way(space("databases"), {"port": 3300, "endPort": 3310}),
            way(space("slurm"), 6817, 6819),
            way(space("kube-system")),
        ],
        [{"to": [space("databases"), pods("slurmctld"), COREDNS], "ports": [UDP, *({"port": p} for p in (53, 3306, 6817))]}],
        [*OF_DBD, way({"ipBlock": {"cidr": "192.0.2.0/24"}}, 514)],
    ],
)
def test_a_policy_that_leaves_each_way_open_passes(ways: list[Data]) -> None:
    assert said("slurmdbd", *ways) == ""
    assert said("slurmdbd", *ways, types=("Ingress", "Egress")) == ""


@pytest.mark.parametrize(
    ("config", "peer", "port"),
    [
        ({"host": "mariadb"}, {"podSelector": {}}, 3306),
        ({"host": "mariadb.databases.svc"}, space("databases"), 3306),
        ({"host": "mariadb.databases.svc.cluster.local", "port": 3307}, space("databases"), 3307),
        ({"host": "10.1.2.3"}, {"ipBlock": {"cidr": "10.1.0.0/16"}}, 3306),
        ({"host": "fd00::9"}, {"ipBlock": {"cidr": "fd00::/64"}}, 3306),
        ({"host": "db.hpc.example.org"}, None, 3306),
    ],
)
def test_the_database_is_where_the_setting_says(config: Data, peer: Data | None, port: int) -> None:
    moved = spec("accounting", storageConfig=config)["resources"]
    assert SHUT not in stack(**moved, x=policy("slurmdbd", way(peer, port), CTLD, DNS))
    assert SHUT in stack(**moved, x=policy("slurmdbd", way(peer, port + 1), CTLD, DNS))
