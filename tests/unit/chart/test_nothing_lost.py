"""Nothing of a file of values goes without a word: each value is a setting, is so in any case, or a note or what is left out
names it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.commands.cli import main
from slinky_iac.config.chart.age import other_release
from slinky_iac.config.chart.release import read
from slinky_iac.config.chart.said import UNSAID, Read, account
from slinky_iac.config.chart.translation import Taken, is_empty, merged
from tests.stacks import read_yaml
from tests.unit.chart.reading import found, taken
from tests.unit.chart.test_table import KEYS

VALUES = ("zq7", False, {"zz": "zq7"}, [{"name": "zq7", "zz": "zq8"}])
"""One of each kind; texts are found again in the settings."""
SETS = {"nodesetDefaults": "nodesets", "loginsetDefaults": "loginsets"}
ON: dict[str, Any] = {
    "accounting": {"enabled": True},
    "nodesets": {"slinky": {"enabled": True}},
    "loginsets": {"slinky": {"enabled": True}},
}


def nested(key: str, value: Any) -> dict[str, Any]:
    for part in reversed(key.split(".")):
        value = {part: value}
    assert isinstance(value, dict)
    return value


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}".lstrip("."))
    elif not is_empty(value):
        yield path, value


def of_a_set(path: str) -> str:
    first, _, rest = path.partition(".")
    return f"{SETS[first]}.slinky.{rest}" if first in SETS else path


def near(path: str, others: set[str]) -> bool:
    mine = {path, of_a_set(path)}
    return any(one == each or one.startswith(f"{each}.") or each.startswith(f"{one}.") for one in mine for each in others)


def silent(values: dict[str, Any], made: Read) -> list[str]:
    """Values that have no word, and texts that are called settings and aren't in one."""
    used = {key for key, _ in made.taken.used}
    named = {key.partition(" (")[0] for key, _ in made.taken.left} | set(made.same)
    named |= {word for note in made.notes for word in note.partition(": ")[0].split(", ")}
    lost = [path for path, _ in leaves(values) if not near(path, used | named)]
    own = [(path, each) for path, each in leaves(values) if isinstance(each, str) and each.startswith("zq")]
    settings = repr(made.taken.settings)
    return lost + [
        path
        for path, each in own
        if not near(path, named) and each not in settings and "Defaults.replicas" not in path  # a set has its own number
    ]


@pytest.mark.parametrize(("line", "on"), [((1, 0), True), ((1, 2), False), ((1, 3), True)])
def test_each_key_of_the_chart_has_a_word_whatever_its_value(line: tuple[int, int], on: bool) -> None:
    lost, base = {}, ON if on else {}
    for key in KEYS:
        for value in VALUES:
            values = merged(base, nested(key, value))
            made = read(values, release="slurm", namespace="slurm", line=line)
            wrong = silent(values, made) + [key for key, why in made.taken.left if why == UNSAID]
            if wrong:
                lost[f"{key}: {value}"] = wrong
    assert lost == {}


def test_what_no_rule_names_is_left_out_and_not_dropped() -> None:
    made = account({"clusterName": "a", "whatever": {"b": 1}}, Read(Taken(used=[("clusterName", "cluster.name")])))
    assert made.taken.left == [("whatever.b", UNSAID)]


def test_the_guide_s_slurmdbd_outside_is_named_where_accounting_is_off() -> None:
    values = "accounting: {external: true, externalConfig: {host: dbd.example.org, port: 6819}}"
    settings, left = taken(values)
    assert settings["accounting"] == {"enabled": False}
    assert "by the chart's default" in left["accounting"]
    assert "accounting: {external: {host: dbd.example.org, port: 6819}}" in left["accounting"]
    on, none = taken(f"{values[:-1]}, enabled: true}}")
    assert on["accounting"]["external"] == {"host": "dbd.example.org", "port": 6819}
    assert "accounting" not in none


@pytest.mark.parametrize(
    ("pod", "here"),
    [
        ("hostNetwork: true, dnsPolicy: ClusterFirst", "ClusterFirstWithHostNet"),
        ("hostNetwork: true, dnsPolicy: Default", "ClusterFirstWithHostNet"),
        ("dnsPolicy: Default", "ClusterFirst"),
        ("dnsPolicy: ClusterFirstWithHostNet", "ClusterFirst"),
    ],
)
def test_a_resolver_that_is_another_one_here_is_noted(pod: str, here: str) -> None:
    made = found(f"nodesets: {{cpu: {{replicas: 1, podSpec: {{{pod}}}}}}}")
    (note,) = (each for each in made.notes if each.startswith("nodesets.cpu.podSpec.dnsPolicy: "))
    assert f" and {here} here" in note


@pytest.mark.parametrize("pod", ["hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet", "dnsPolicy: ClusterFirst"])
def test_a_resolver_that_is_so_here_is_no_change(pod: str) -> None:
    made = found(f"nodesets: {{cpu: {{replicas: 1, podSpec: {{{pod}}}}}}}")
    assert "nodesets.cpu.podSpec.dnsPolicy" in made.same


@pytest.mark.parametrize(
    "key", ["nodesets.cpu.extraConf", "nodesets.cpu.partition.config", "controller.extraConf", "accounting.extraConf"]
)
def test_a_list_of_parameters_is_left_out_with_the_mapping_that_it_means(key: str) -> None:
    made = read(merged(ON, nested(key, ["Weight=2", "Features=a"])), release="slurm", namespace="slurm", line=(1, 2))
    assert "" not in made.taken.settings
    assert "Write a mapping: {Weight: 2, Features: a}" in dict(made.taken.left)[key]


GUIDE = """
controller: {external: true, externalConfig: {host: ctl.example.org}}
slurmKeyRef: {name: external-auth-slurm, key: slurm.key}
jwtHs256KeyRef: {name: external-auth-jwt, key: jwt.key}
nodesets: {cpu: {replicas: 1, pinToNode: false}}
"""


def test_keys_of_the_guide_are_named_as_what_to_write_where_slurmctld_is_outside() -> None:
    _, left = taken(GUIDE)
    assert "write `keys.slurmKeyFrom: {secret: external-auth-slurm, key: slurm.key}`" in left["slurmKeyRef"]
    assert "write `keys.jwtKeyFrom: {secret: external-auth-jwt, key: jwt.key}`" in left["jwtHs256KeyRef"]
    said = other_release(read_yaml(GUIDE), 2)
    assert "--chart-version" not in said
    assert "Slinky's hybrid guide" in said


def test_a_name_that_the_outside_slurm_conf_decides_is_to_be_decided(tmp_path: Path) -> None:
    values, out = tmp_path / "values.yaml", tmp_path / "Pulumi.a.yaml"
    values.write_text(GUIDE)
    main(["import-chart", str(values), "--out", str(out)])
    assert "    name: slurm_slurm # DECIDE: ClusterName of the outside slurm.conf" in out.read_text()
    assert any("DECIDE" in each for each in found(GUIDE).notes)
    assert not any("DECIDE" in each for each in found("nodesets: {cpu: {replicas: 1}}").notes)


def test_sssd_beside_slurmctld_is_left_out_once_with_what_belongs_to_it() -> None:
    settings, left = taken(
        """
        sssd: {secretRef: {name: sssd-conf, key: sssd.conf}}
        loginsets: {a: {}}
        controller:
          slurmctld:
            volumeMounts: [{name: sssd-pipes, mountPath: /var/lib/sss/pipes}, {name: home, mountPath: /home}]
          podSpec:
            containers:
              - {name: sssd, image: "r/sssd:t", volumeMounts: [{name: sssd-pipes, mountPath: /var/lib/sss/pipes},
                 {name: sssd-conf, mountPath: /etc/sssd/sssd.conf}, {name: ldap-ca, mountPath: /etc/sssd/ca}]}
            volumes: [{name: sssd-pipes, emptyDir: {}}, {name: sssd-conf, secret: {secretName: a}},
              {name: ldap-ca, secret: {secretName: b}}, {name: home, hostPath: {path: /home}}]
        """
    )
    assert "sssd" in settings["identity"]
    raw = settings["controller"]["raw"]
    assert [each["name"] for each in raw["pod"]["volumes"]] == ["home"]
    assert [each["name"] for each in raw["container"]["volumeMounts"]] == ["home"]
    assert "containers" not in raw["pod"]
    assert "/etc/slinky-sssd/ca.crt" in left["controller.podSpec.containers (sssd)"]
