"""Nothing of a file of values goes without a word: each value is a setting, is so in any case, or a note or what is left out
names it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from slinky_iac.config.chart import Taken, is_empty, merged
from slinky_iac.config.chart_release import read
from slinky_iac.config.chart_said import UNSAID, Read, account
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
    made = account({"clusterName": "a"}, Read(Taken(settings={"cluster": {"name": "a"}})))
    assert dict(made.taken.left)["clusterName"] == UNSAID


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
