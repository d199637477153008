"""What each role is given: decided from the stack alone, the same for the same stack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.commands.handoff.common import Known
from slinky_iac.commands.handoff.forms import render
from slinky_iac.commands.handoff.model import Role, Sheet
from slinky_iac.commands.handoff.role_sheets import handoff, roles_of
from slinky_iac.config.reading.load import load
from slinky_iac.errors import HandoffError
from slinky_iac.specs.slurm_conf import outside_lines, required
from tests.stacks import EXAMPLES, form, outside, sections
from tests.unit.handoff.made import KNOWN, made, texts

ALL_OUTSIDE = {Role.SLURMCTLD, Role.SLURMDBD, Role.SLURMRESTD, Role.SLURMD, Role.LOGIN}


def sheet(config_name: str, role: Role, known: Known = KNOWN) -> Sheet:
    return handoff(form(config_name), known, [role]).sheets[0]


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("all-in-kubernetes", {Role.SLURMD, Role.LOGIN}),
        ("slurmdbd-outside", {Role.SLURMDBD, Role.SLURMD, Role.LOGIN}),
        ("controller-outside", {Role.SLURMCTLD, Role.SLURMDBD, Role.SLURMD, Role.LOGIN}),
        ("all-outside", ALL_OUTSIDE),
    ],
)
def test_roles_are_those_that_live_outside(name: str, roles: set[Role]) -> None:
    assert set(roles_of(form(name))) == roles


@pytest.mark.parametrize("name", ["controller-outside", "all-outside"])
def test_no_key_is_copied_onto_the_host_that_it_comes_from(name: str) -> None:
    page = texts(render("folder", handoff(form(name), KNOWN), None))
    for role in (Role.SLURMCTLD, Role.SLURMDBD, Role.SLURMD, Role.LOGIN):
        copied = "ssh root@slurmctld.example.org cat /etc/slurm/slurm.key >" in page[f"{role}/README.md"]
        assert copied is (role is not Role.SLURMCTLD)
    said = "slurmctld.example.org has slurm.key: don't place it there. Compare: `openssl dgst"
    assert said in page[f"{Role.SLURMCTLD}/README.md"]
    assert "cat /etc/slurm/slurm.key" not in page["slurmctld/install.sh"]


def test_a_role_that_is_in_kubernetes_is_refused_with_those_that_are_not() -> None:
    with pytest.raises(HandoffError, match=r"role slurmctld: .*it has slurmd, login"):
        handoff(form("all-in-kubernetes"), KNOWN, [Role.SLURMCTLD])


def test_a_munge_cluster_is_refused_with_the_way_out() -> None:
    with pytest.raises(HandoffError, match=r"keys\.auth: auth/munge: .*Move the cluster to auth/slurm"):
        handoff(load(outside(keys={"auth": "auth/munge"})), KNOWN)


def test_roles_wanted_are_all_that_is_rendered() -> None:
    assert [s.role for s in handoff(form("all-outside"), KNOWN, [Role.LOGIN, Role.SLURMD]).sheets] == ["slurmd", "login"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_daemon_starts_by_its_absolute_path(example: Path) -> None:
    """sackd and slurmd re-execute themselves by it, and die at `scontrol reconfigure` where it is none."""
    units = [f for s in made(example).sheets for f in s.files if f.path.startswith("/etc/systemd/")]
    assert units
    for unit in units:
        starts = [line for line in unit.text.splitlines() if line.startswith("ExecStart=")]
        assert starts[0] == "ExecStart="  # the package's own is taken back first
        assert starts[1].startswith("ExecStart=/usr/sbin/")
        assert len(starts) == 2


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("controller-outside", "slurmctld.example.org:6817"),
        ("all-in-kubernetes", "slurm-controller.slurm:6817"),
    ],
)
def test_slurmd_and_sackd_fetch_their_configuration_where_slurmctld_is_reached(name: str, target: str) -> None:
    for role, option in ((Role.SLURMD, "$SLURMD_OPTIONS"), (Role.LOGIN, "$SACKD_OPTIONS")):
        assert f" --conf-server {target} {option}\n" in sheet(name, role).files[0].text
        (running,) = (call for call in sheet(name, role).checks if call[0] == "check_running")
        assert running[2] == f"--conf-server {target}"


def test_an_ipv6_address_of_slurmctld_is_in_brackets_where_a_port_follows() -> None:
    for role in (Role.SLURMD, Role.LOGIN):
        config = form("controller-outside", controller={"external": {"host": "2001:db8::1"}})
        unit = handoff(config, KNOWN, [role]).sheets[0].files[0]
        assert " --conf-server [2001:db8::1]:6817 " in unit.text


def test_slurmctld_s_check_asks_for_every_line_and_parameter_that_the_stack_needs() -> None:
    config = load(sections(EXAMPLES[1]))
    (found,) = handoff(config, KNOWN, [Role.SLURMCTLD]).sheets
    assert [call[2] for call in found.checks if call[0] == "check_line"] == list(outside_lines(config))
    asked = {call[2] for call in found.checks if call[0] == "check_parameter"} | {"AuthAltParameters"}
    assert asked == {each.key for each, _ in required(config)}


@pytest.mark.parametrize(
    ("role", "held"),
    [
        (Role.SLURMCTLD, ["slurm.key", "jwt_hs256.key"]),
        (Role.SLURMDBD, ["slurm.key", "jwt_hs256.key"]),
        (Role.SLURMRESTD, []),
        (Role.SLURMD, ["slurm.key"]),
        (Role.LOGIN, ["slurm.key"]),
    ],
)
def test_a_role_holds_the_keys_that_it_needs_and_no_other(role: Role, held: list[str]) -> None:
    """Who has the JWT key can be anybody: compute and login hosts have no use for it."""
    places = sheet("all-outside", role).keys
    assert [key.name for key in places] == held
    assert {(key.mode, key.owner) for key in places} <= {(0o600, "slurm")}


@pytest.mark.parametrize(
    ("nodeset", "form"),
    [
        ({}, "firm"),
        ({"image": "registry.example.org/slurmd:26.05"}, "loose"),
        ({"volumes": [{"name": "site", "mountPath": "/opt/site", "source": {"hostPath": {"path": "/opt/site"}}}]}, "loose"),
    ],
)
def test_a_script_may_be_in_pods_that_have_an_image_or_a_volume_of_the_site_s(nodeset: dict[str, Any], form: str) -> None:
    config = load(outside(nodesets={"burst": {"replicas": 1, **nodeset}}))
    (found,) = (each for each in handoff(config, KNOWN, [Role.SLURMCTLD]).sheets[0].checks if each[0] == "check_scripts")
    assert found == ("check_scripts", "/etc/slurm/slurm.conf", form)


def test_names_of_kubernetes_are_given_an_address_only_where_slurmctld_is_there() -> None:
    (line,) = sheet("all-in-kubernetes", Role.LOGIN).host_lines
    assert line.address == "192.0.2.9"
    assert line.names == ("slurm-controller.slurm", "slurm-controller-0", "slurm-controller")
    assert sheet("all-outside", Role.LOGIN).host_lines == ()


AT_NODE_PORTS = {"service": {"type": "NodePort", "nodePort": 30817}}
SOCKET = "/etc/systemd/system/slinky-slurmctld.socket"


@pytest.mark.parametrize("service", [{"type": "LoadBalancer"}, {"type": "LoadBalancer", "nodePort": 30817}])
def test_a_load_balancer_takes_slurmctld_s_own_port_whatever_its_nodes_take(service: dict[str, Any]) -> None:
    config = form("all-in-kubernetes", controller={"service": service})
    (joins,) = handoff(config, KNOWN, [Role.SLURMD]).sheets
    files = {each.path: each.text for each in joins.files}
    assert "--conf-server slurm-controller.slurm:6817 " in files["/etc/systemd/system/slurmd.service.d/10-slinky-iac.conf"]
    assert SOCKET not in files
    assert joins.host_lines[0].address == "192.0.2.9"


@pytest.mark.parametrize(
    ("controller", "port"),
    [(AT_NODE_PORTS, 30817), ({"service": {"type": "NodePort"}}, 31234)],
    ids=["named", "kubernetes'"],
)
@pytest.mark.parametrize(("role", "daemon"), [(Role.SLURMD, "slurmd"), (Role.LOGIN, "sackd")])
def test_a_host_that_comes_in_by_a_node_port_takes_slurmctld_s_own_port_and_leads_it_there(
    role: Role, daemon: str, controller: dict[str, Any], port: int
) -> None:
    """slurm.conf names 6817: a slurmd that fetched it from a node port never registers (watched)."""
    config = form("all-in-kubernetes", controller=controller)
    (joins,) = handoff(config, replace(KNOWN, node_port=port), [role]).sheets
    files = {each.path: each.text for each in joins.files}
    folder = "/etc/systemd/system"
    assert "--conf-server slurm-controller.slurm:6817 " in files[f"{folder}/{daemon}.service.d/10-slinky-iac.conf"]
    assert "[Socket]\nListenStream=127.0.0.1:6817\n" in files[SOCKET]
    proxy = files[f"{folder}/slinky-slurmctld.service"]
    assert f"ExecStart=/usr/lib/systemd/systemd-socket-proxyd 192.0.2.9:{port}\n" in proxy
    assert f"PartOf={daemon}.service\n" in proxy
    assert "Requires=slinky-slurmctld.socket\n" in files[f"{folder}/{daemon}.service.d/20-slinky-slurmctld.conf"]
    assert [line.address for line in joins.host_lines] == ["127.0.0.1"]
    assert f"leads it to 192.0.2.9:{port}" in joins.notes[-1]


def test_a_node_port_that_is_not_known_is_an_open_point_and_names_get_no_address() -> None:
    handed = handoff(form("all-in-kubernetes", controller={"service": {"type": "NodePort"}}), KNOWN, [Role.SLURMD])
    assert ["render again after `pulumi up`" in each for each in handed.open_points] == [True]
    assert [line.address for line in handed.sheets[0].host_lines] == [None]
    assert SOCKET not in {each.path for each in handed.sheets[0].files}


def test_a_jwt_key_that_is_being_replaced_is_no_key_to_place() -> None:
    """Carried to slurmctld's host after its change, the old one would be read at the next reconfiguration."""
    assert not handoff(form("controller-outside"), KNOWN).open_points
    (said,) = handoff(form("controller-outside"), replace(KNOWN, jwt_comes=True)).open_points
    assert "Place none of it" in said


def test_what_is_not_known_yet_is_said_and_never_made_up() -> None:
    found = handoff(form("all-in-kubernetes"), Known())
    assert len(found.open_points) == 2
    assert all(key.fingerprint is None for each in found.sheets for key in each.keys)
    assert handoff(form("all-in-kubernetes"), KNOWN).open_points == ()


@pytest.mark.parametrize(
    ("name", "over", "told"),
    [
        ("all-in-kubernetes", {}, "lead to that Service"),
        ("slurmdbd-outside", {}, "lead to slurmdbd.example.org"),
        ("slurmdbd-outside", {"accounting": {"external": {"host": "192.0.2.7", "port": 7819}}}, "listens on 7819"),
        ("all-outside", {}, None),
    ],
)
def test_login_hosts_are_told_where_sacct_asks(name: str, over: dict[str, Any], told: str | None) -> None:
    notes = [n for n in handoff(form(name, **over), KNOWN, [Role.LOGIN]).sheets[0].notes if n.startswith("sacct")]
    assert [told in note for note in notes if told] == ([True] if told else [])
    assert bool(notes) is bool(told)


def test_an_own_port_of_slurmctld_is_used_everywhere() -> None:
    config = load(outside(controller={"external": {"host": "192.0.2.1", "port": 7000}}))
    found = {s.role: s for s in handoff(config, KNOWN).sheets}
    assert "--conf-server 192.0.2.1:7000 " in found[Role.SLURMD].files[0].text
    assert [port.port for port in found[Role.SLURMCTLD].ports if port.port] == [7000]
    assert ("check_tcp", "192.0.2.1", "7000", "slurmctld") in found[Role.LOGIN].checks


def test_a_slurmrestd_behind_tls_listens_on_its_own_host_only() -> None:
    secure = sheet("all-outside", Role.SLURMRESTD)
    assert "ExecStart=/usr/sbin/slurmrestd 127.0.0.1:6820 " in secure.files[0].text
    plain = handoff(form("all-outside", external={"slurmrestd": {"url": "http://rest:7820"}}), KNOWN, [Role.SLURMRESTD])
    assert "ExecStart=/usr/sbin/slurmrestd 0.0.0.0:7820 " in plain.sheets[0].files[0].text


def test_the_network_page_speaks_of_what_the_stack_has() -> None:
    routed = handoff(form("controller-outside"), KNOWN).network
    assert "BGPPeer" in routed
    assert "Host network" not in routed
    on_nodes = form("controller-outside", nodesets={"burst": {"pod": {"hostNetwork": True}}})
    page = handoff(on_nodes, KNOWN).network
    assert "## Host network: burst" in page
    assert "BGPPeer" not in page


@pytest.mark.parametrize("name", ["controller-outside", "all-outside"])
def test_the_sheet_names_all_that_needs_a_restart_and_nothing_else(name: str) -> None:
    """MaxNodeCount and GresTypes too: with a `scontrol reconfigure` alone, pods above the old number don't register."""
    page = texts(render("folder", handoff(form(name), KNOWN), None))
    (note,) = [line for line in page[f"{Role.SLURMCTLD}/README.md"].splitlines() if "needs a restart of slurmctld" in line]
    words = set(note.replace(",", " ").split())
    for parameter, _ in required(form(name)):
        assert (parameter.key in words) is parameter.restart
        assert (parameter.key in page["slurmctld/install.sh"]) is parameter.restart
    assert "grep -qE '^(DbdPort|SlurmUser|AuthType|" in page["slurmdbd/install.sh"], (
        "slurmdbd reads its file at its start only"
    )
