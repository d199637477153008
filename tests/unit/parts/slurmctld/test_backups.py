"""Backups of an outside slurmctld: every side knows each host, in the order in which they take over; without one, nothing
is other than before."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.blueprint.document import facts
from slinky_iac.blueprint.flows import outside_hosts
from slinky_iac.blueprint.places import outside_places
from slinky_iac.commands.diagram.build import picture
from slinky_iac.commands.handoff.model import Role, Sheet
from slinky_iac.commands.handoff.role_sheets import handoff
from slinky_iac.commands.rotation.host_scripts import hosts_of
from slinky_iac.config.findings import Level
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import ConfigError
from slinky_iac.keys.catalogue import Role as Holds
from slinky_iac.parts.munge.clients import client_slurm_conf
from slinky_iac.preflight.check import Verdict
from slinky_iac.slurmrest.controller import Ping
from slinky_iac.specs.daemons import restapi_spec
from slinky_iac.specs.endpoints import slurmctld_endpoint, slurmctld_target
from slinky_iac.specs.slurm_conf import outside_slurm_conf
from slinky_iac.specs.workers import loginset_spec, nodeset_spec
from tests.stacks import SECRETS, form, merged, outside
from tests.unit.handoff.made import KNOWN
from tests.unit.preflight.made import found, slurm, verdicts

HOSTS = ["ctl.example.org", "ctl-2.example.org", "192.0.2.13"]
LOGINS = {"main": {"sssdConfFrom": {"secret": "sssd"}}}
SERVERS = "ctl.example.org:6817,ctl-2.example.org:6817,192.0.2.13:6817"


def stack(*backups: str, **over: Any) -> StackConfig:
    own = outside(nodesets={"gpu": {"replicas": 1}}, logins=LOGINS)
    own["controller"] = {"external": {"host": HOSTS[0], "backups": list(backups)}}
    return load(merged(own, over))


THREE = stack(*HOSTS[1:])


def variables(spec: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in spec.get("env", ())}


def lines(text: str, key: str) -> list[str]:
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{key}=")]


def test_pods_ask_each_host_for_their_configuration() -> None:
    worker, login = nodeset_spec(THREE, "gpu", THREE.nodesets["gpu"]), loginset_spec(THREE, "main", THREE.logins["main"])
    assert variables(worker["slurmd"])["SLURM_CONF_SERVER"] == variables(login["login"])["SLURM_CONF_SERVER"] == SERVERS
    assert str(slurmctld_target(THREE)) == "ctl.example.org:6817", "the operator takes one host"


def test_slurmrestd_has_every_host_in_its_own_slurm_conf() -> None:
    spec = restapi_spec(THREE)
    text = spec["template"]["metadata"]["annotations"]["slinky-iac/slurm.conf"]
    assert lines(text, "SlurmctldHost") == HOSTS
    assert [lines(text, key) for key in ("ClusterName", "SlurmctldPort", "AuthType", "AuthAltTypes")] == [
        ["lab"], ["6817"], ["auth/slurm"], ["auth/jwt"],
    ]  # fmt: skip
    (volume,) = spec["template"]["spec"]["volumes"]
    (item,) = volume["downwardAPI"]["items"]
    (mounted,) = spec["slurmrestd"]["volumeMounts"]
    assert item["fieldRef"]["fieldPath"] == "metadata.annotations['slinky-iac/slurm.conf']"
    assert mounted["name"] == volume["name"]
    assert variables(spec["slurmrestd"])["SLURM_CONF"] == f"{mounted['mountPath']}/{item['path']}"


def test_the_proxy_of_slurmrestd_stays_beside_it() -> None:
    alone, both = restapi_spec(form("all-in-kubernetes", restapi=TLS)), restapi_spec(stack("192.0.2.13", restapi=TLS))
    names = [each["name"] for each in both["template"]["spec"]["volumes"]]
    assert names == [*(each["name"] for each in alone["template"]["spec"]["volumes"]), "slinky-slurmctld"]
    assert {*alone["template"]["metadata"]["annotations"], "slinky-iac/slurm.conf"} == {
        *both["template"]["metadata"]["annotations"]
    }


TLS = {"tls": {"source": "existing", "secret": "rest-cert"}}


@pytest.mark.parametrize("config", [stack(), form("all-in-kubernetes")])
def test_one_slurmctld_makes_nothing_of_it(config: StackConfig) -> None:
    spec = restapi_spec(config)
    assert "template" not in spec
    assert variables(spec["slurmrestd"]).keys() == {"MALLOC_ARENA_MAX"}
    assert "SLURM_CONF_SERVER" not in str(nodeset_spec(config, "gpu", config.nodesets["gpu"]))
    assert "SlurmctldHost" not in outside_slurm_conf(config)


def test_another_port_needs_no_service_where_slurmrestd_has_its_own_file() -> None:
    config = stack("ctl-2.example.org", controller={"external": {"port": 7000}})
    assert slurmctld_endpoint(config) is None
    assert str(slurmctld_target(config)) == "ctl.example.org:7000"
    assert "SlurmctldPort=7000" in restapi_spec(config)["template"]["metadata"]["annotations"]["slinky-iac/slurm.conf"]
    assert not [each for each in findings(config, SECRETS) if each.level is Level.ERROR]


@pytest.mark.parametrize(
    ("backup", "words"),
    [("localhost", "a pod's own host"), ("127.0.0.1", "a pod's own host"), ("ctl-2", "the short name ctl-2")],
)
def test_a_backup_that_pods_can_t_reach_is_named_with_its_place(backup: str, words: str) -> None:
    (found,) = [each for each in findings(stack("ctl-3.example.org", backup), SECRETS) if words in each.message]
    assert found.path == "controller.external.backups.1"


@pytest.mark.parametrize("backups", [HOSTS[:1], [HOSTS[1], HOSTS[1]]])
def test_a_host_that_is_named_twice_is_refused(backups: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"controller\.external: .*a host is named twice"):
        stack(*backups)


def test_each_host_is_reached_from_pods_and_let_through_policies() -> None:
    assert [each.host for each in outside_places(THREE) if each.daemon == "slurmctld"] == HOSTS
    assert [each.address for each in outside_hosts(THREE, "slurmctld")] == HOSTS
    assert facts(THREE)["slurmctld"] == SERVERS


def test_a_rotation_changes_backups_before_the_primary() -> None:
    found = {host.name: host.roles for host in hosts_of(THREE, ["ctl-9"])}
    assert found == {
        "ctl-9": (Holds.BACKUP,), HOSTS[1]: (Holds.BACKUP,), HOSTS[2]: (Holds.BACKUP,), HOSTS[0]: (Holds.SLURMCTLD,)
    }  # fmt: skip
    assert list(found)[-1] == HOSTS[0]


def test_a_munge_cluster_s_clients_know_each_host() -> None:
    munge = stack(HOSTS[1], keys={"auth": "auth/munge"}, munge={"image": "a/munge:1"}, nodesets=None, logins=None)
    assert lines(client_slurm_conf(munge), "SlurmctldHost") == HOSTS[:2]


def sheet(role: Role, config: StackConfig = THREE) -> Sheet:
    return handoff(config, KNOWN, [role]).sheets[0]


def test_outside_daemons_are_given_each_host() -> None:
    for role, daemon in ((Role.SLURMD, "slurmd"), (Role.LOGIN, "sackd")):
        asked = sheet(role)
        assert ("check_running", daemon, f"--conf-server {SERVERS}") in asked.checks
        assert [call[1] for call in asked.checks if call[0] == "check_tcp"] == HOSTS
    users = {"external": {"slurmrestd": {"url": "https://rest.example.org:6820"}}}
    files = {each.path: each.text for each in sheet(Role.SLURMRESTD, stack(*HOSTS[1:], **users)).files}
    assert lines(files["/etc/slurm/slurm.conf"], "SlurmctldHost") == HOSTS


def test_slurmctld_s_sheet_is_for_all_its_hosts() -> None:
    asked = sheet(Role.SLURMCTLD)
    assert [host.name for host in asked.hosts] == HOSTS
    assert ("check_controllers", "/etc/slurm/slurm.conf", *HOSTS) in asked.checks
    assert all(f"ssh root@{HOSTS[0]} cat" in each.fetch for each in asked.keys), "a backup gets the primary's keys"
    assert any("StateSaveLocation" in note for note in asked.notes)
    assert f"the primary first: {', '.join(HOSTS)}" in asked.wanted
    assert "\nSlurmctldHost=" not in asked.wanted, "a second line would be another slurmctld"


def test_the_picture_has_one_slurmctld_with_its_backups() -> None:
    (box,) = [each for each in picture(THREE).boxes if each.id == "ctl"]
    assert box.lines == (HOSTS[0], f"backup {HOSTS[1]}", f"backup {HOSTS[2]}", ":6817")


@pytest.mark.parametrize(
    ("pings", "wanted"),
    [
        ([(True, True), (True, False), (True, False)], [Verdict.FINE, Verdict.FINE]),
        ([(True, True), (False, False), (True, False)], [Verdict.WARNING, Verdict.FINE]),
        ([(False, True), (True, False)], [Verdict.WARNING, Verdict.WARNING, Verdict.FINE]),
        ([], []),
    ],
)
def test_preflight_says_of_each_backup_whether_it_answers(pings: list[tuple[bool, bool]], wanted: list[Verdict]) -> None:
    rows = tuple(Ping(hostname=f"ctl{at}", responding=up, primary=first) for at, (up, first) in enumerate(pings))
    assert verdicts("slurmctld-backups", slurm(controllers=rows), THREE) == wanted
    assert verdicts("slurmctld-backups", slurm(controllers=rows), stack()) == []


def test_of_a_backup_in_charge_preflight_says_what_makes_slurmdbd_hear_of_its_jobs() -> None:
    rows = tuple(
        Ping(hostname=each, responding=up, primary=False) for each, up in (("ctl", False), ("b1", True), ("b2", True))
    )
    said = {each.subject: each for each in found("slurmctld-backups", slurm(controllers=rows), THREE)}
    assert said["primary ctl"].paste == ("scontrol reconfigure",)
    assert said["primary ctl"].verdict is Verdict.WARNING
    assert "records of jobs" in said["primary ctl"].got
