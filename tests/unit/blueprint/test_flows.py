"""Who connects to whom: one table, and what is made of it says the same."""

from __future__ import annotations

import re
from typing import Any

import pytest

from slinky_iac.blueprint.flows import ALL_TCP, EVERYTHING, FLOWS, Flow, between, flows, together
from slinky_iac.commands.handoff.common import ports
from slinky_iac.commands.handoff.model import Role
from slinky_iac.config.reading.load import load
from slinky_iac.specs.networks import network_policies
from tests.stacks import ROOT, minimal, outside

DAEMONS: dict[str, Any] = {
    "controller": {"external": {"host": "192.0.2.10", "port": 7817}},
    "accounting": {"external": {"host": "192.0.2.11", "port": 16819}},
}


def test_each_connection_has_the_port_of_its_daemon() -> None:
    config = load(outside(**DAEMONS))
    assert {each.ports for each in flows(config) if each.target == "slurmctld" and each.ports != ALL_TCP} == {(7817,)}
    assert {each.ports for each in flows(config) if each.target == "slurmdbd"} == {(16819,)}
    assert not [each for each in flows(load(minimal())) if "slurmdbd" in (each.source, each.target)]


def test_one_flow_a_pair_has_all_its_ports() -> None:
    one, other = Flow("login", "slurmd", (6818,), "a"), Flow("login", "slurmd", (22, 6818), "b")
    assert [each.ports for each in together([one, other])] == [(6818, 22)]
    tcp, every = Flow("login", "slurmd", ALL_TCP, "c"), Flow("login", "slurmd", EVERYTHING, "d")
    assert [each.ports for each in together([one, tcp])] == [ALL_TCP]
    assert [each.ports for each in together([every, tcp, one])] == [EVERYTHING]
    assert between(load(minimal()), "slurmd", "slurmctld") == Flow("slurmd", "slurmctld", (6817,), FLOWS[0].purpose)


def test_a_limited_daemon_may_connect_to_the_port_that_an_outside_one_listens_on() -> None:
    """The Service that leads to it changes the port before a policy sees the connection."""
    networks = {"enabled": True, "apiServer": [{"cidr": "10.0.0.10"}], "egress": {"parts": ["slurmrestd"]}}
    (policy,) = [
        each for each in network_policies(load(outside(**DAEMONS, networkPolicies=networks))) if each.part == "slurmrestd"
    ]
    to = {
        rule["to"][0]["ipBlock"]["cidr"]: rule["ports"] for rule in policy.spec["egress"] if "ipBlock" in str(rule.get("to"))
    }
    assert to == {
        "192.0.2.10/32": [{"protocol": "TCP", "port": 7817}],
        "192.0.2.11/32": [{"protocol": "TCP", "port": 16819}],
    }


@pytest.mark.parametrize("role", [Role.SLURMCTLD, Role.SLURMDBD, Role.SLURMD, Role.LOGIN])
def test_a_host_opens_every_port_that_a_pod_of_its_part_opens(role: Role) -> None:
    """srun on a login host connects to slurmd, and a job's sacct to slurmdbd: the firewall's list has them too."""
    config = load(outside(**DAEMONS))
    opened = {(each.port, word) for each in ports(config, role) for word in each.source.split(", ")}
    hosts = {"slurmd": "slurmd hosts", "login": "login hosts"}
    for flow in flows(config):
        if flow.target == role.value and flow.source not in ("clients", "users"):
            for port in flow.ports if isinstance(flow.ports, tuple) else (0,):
                assert (port, hosts.get(flow.source, flow.source)) in opened


def test_the_page_of_ports_has_every_flow() -> None:
    page = (ROOT / "docs" / "outside-hosts.md").read_text()
    rows = re.findall(r"(?m)^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", page.partition("## Ports")[2].partition("\n## ")[0])
    assert rows[1:] == [row(each) for each in FLOWS]


def row(flow: Flow) -> tuple[str, str, str, str]:
    numbers = ", ".join(f"{port}/tcp" for port in flow.ports) if isinstance(flow.ports, tuple) else flow.ports
    return (flow.source, flow.target, numbers or "its own", flow.purpose)
