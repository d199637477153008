"""What is said of a key that has no setting is right, and leads to the setting that is meant."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from tests.stacks import minimal
from tests.unit.chart.reading import found, taken


@pytest.mark.parametrize(
    ("values", "key", "words"),
    [
        ("loginsets: {a: {enabled: true, sssdConf: x}}", "loginsets.a.sssdConf 1.0", ("`identity.sssd: {}`", "sidecar")),
        (
            "slurmKey: {secretRef: {name: a, key: b}}",
            "slurmKey.secretRef.name",
            ("`create: false`", "the stack makes the key"),
        ),
        ("sssd: {conf: x}\nloginsets: {a: {}}", "sssd.conf", ("set `identity.sssd: {}`", "sidecar")),
        ("loginsets: {a: {service: {port: 2222}}}", "loginsets.a.service.port", ("sshd's",)),
        ("controller: {service: {port: 1}}", "controller.service.port", ("Slurm's own",)),
        ("epilogScriptRefs: [{name: a}]", "epilogScriptRefs 1.3", ("`controller.epilog`",)),
        ("prologScriptRefs: [{name: a}]", "prologScriptRefs 1.3", ("`controller.prolog`",)),
        ("prologSlurmctldScriptRefs: [{name: a}]", "prologSlurmctldScriptRefs 1.3", ("PrologSlurmctld: /opt/",)),
        (
            "nodesets: {h100: {ordinalPadding: 3}}",
            "nodesets.h100.ordinalPadding",
            ("h100-0 ", "h100-000.", "`slinky adopt`"),
        ),
        ("nodesets: {h100: {ordinalPadding: 2}}", "nodesets.h100.ordinalPadding", (" h100-00.",)),
        ("nodesets: {a: {taintKubeNodes: true}}", "nodesets.a.taintKubeNodes 1.1", ("other pods", "`kubectl taint nodes")),
        (
            "vendor: {nvidia: {dcgm: {enabled: true, scriptPriority: '42'}}}",
            "vendor.nvidia.dcgm.scriptPriority",
            ("prolog-42-dcgm.sh", "epilog-42-"),
        ),
    ],
)
def test_a_key_leads_to_the_setting_that_is_meant(values: str, key: str, words: tuple[str, ...]) -> None:
    path, _, release = key.partition(" 1.")
    _, left = taken(values, (1, int(release or 2)))
    assert [word for word in words if word not in left[path]] == []


def test_a_daemon_outside_has_no_pod_to_give_a_class() -> None:
    settings = found(
        "priorityClass: {enabled: true, name: high}\n"
        "controller: {external: true, externalConfig: {host: ctl.example.org}}\n"
        "accounting: {enabled: true, external: true, externalConfig: {host: dbd.example.org}}\n"
    ).taken.settings
    assert "pod" not in settings["controller"]
    assert "pod" not in settings["accounting"]
    assert settings["restapi"]["pod"] == {"priorityClass": "high"}


@pytest.mark.parametrize(
    ("section", "path", "said"),
    [
        ({"raw": {"pod": {"serviceAccountName": "a"}}}, "controller.raw.pod.serviceAccountName", "Leave it out"),
        ({"raw": {"pod": {"hostPID": True}}}, "controller.raw.pod.hostPID", "Leave it out"),
        ({"raw": {"pod": {"affinity": {}}}}, "controller.raw.pod.affinity", "use pod.affinity"),
        ({"extraConf": {"SlurmctldPort": 1}}, "controller.extraConf.SlurmctldPort", "6817 in Kubernetes"),
    ],
)
def test_check_names_a_setting_or_says_that_there_is_none(section: dict[str, Any], path: str, said: str) -> None:
    (message,) = {each.message for each in findings(load(minimal(controller=section))) if each.path == path}
    assert said in message
    assert "nothing" not in message


def test_a_line_of_slurmdbd_conf_that_no_setting_has_is_to_be_removed() -> None:
    data = minimal(accounting={"database": {"host": "db"}, "extraConf": {"DbdPort": 1}})
    (message,) = (each.message for each in findings(load(data)) if each.path == "accounting.extraConf.DbdPort")
    assert message.endswith("; it is always 6819. Leave it out")
