"""Each key of a public values file becomes a setting, goes through the typed door, or is named as left out with why."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping

import pytest

from slinky_iac.commands.check import judge
from slinky_iac.config.chart.age import of_subchart, other_release
from slinky_iac.config.chart.release import read
from slinky_iac.config.chart.said import Read
from slinky_iac.config.chart.translation import as_yaml
from slinky_iac.config.findings import Level
from slinky_iac.config.paths import value_at
from tests.stacks import read_yaml
from tests.unit.chart.public_files import CASES, Case


def leaves(value: object, path: str = "") -> Iterator[str]:
    """Paths of all values, lists as one."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else str(key))
    elif value not in (None, {}, [], ""):
        yield path


def found(case: Case) -> Read:
    values, _ = of_subchart(read_yaml(case.values))
    return read(values, release="slurm", namespace="slurm", line=case.line)


VOLUMES = re.compile(r"^(nodesets|loginsets)\.([^.]+)\.(?:podSpec\.volumes|(?:slurmd|login)\.volumeMounts)$")
"""What becomes one list, `volumes` of the set."""


def near(path: str, others: Iterable[str]) -> bool:
    return any(path == other or path.startswith(f"{other}.") or other.startswith(f"{path}.") for other in others)


@pytest.mark.parametrize("name", CASES)
def test_every_key_becomes_a_setting_or_is_named(name: str) -> None:
    case = CASES[name]
    made = found(case)
    used, left = {key for key, _ in made.taken.used}, dict(made.taken.left)
    named = {key.partition(" (")[0] for key in left}
    noted = {word for note in made.notes for word in note.partition(": ")[0].split(", ")}
    silent = {
        path
        for path in leaves(of_subchart(read_yaml(case.values))[0])
        if not near(VOLUMES.sub(r"\1.\2.volumes", path), {*used, *named, *noted, *made.same})
    }
    assert silent == set()
    assert [path for path in case.same if not near(path, {*made.same, *noted})] == []
    assert left.keys() == case.left.keys()
    assert [key for key, words in case.left.items() if words not in left[key]] == []
    assert [words for words in case.noted if not any(words in note for note in made.notes)] == []


@pytest.mark.parametrize("name", CASES)
def test_its_settings_are_these_and_what_is_not_sound_is_named_by_check(name: str) -> None:
    case = CASES[name]
    settings = found(case).taken.settings
    got = {path: value_at(settings, path.split(".")) for path in case.settings}
    assert got == case.settings
    # The first two sections are what `import-chart` adds of the operator.
    text = "config:\n" + textwrap.indent(as_yaml({**settings, "operator": {"version": f"1.{case.line[1]}.1"}}), "  ")
    errors = {place.finding.path for place in judge(text)[1] if place.finding.level is Level.ERROR}
    assert errors == set(case.errors)


def test_there_are_a_dozen_sources() -> None:
    repositories = {case.source.partition(" ")[0] for case in CASES.values()}
    assert len(repositories) >= 12
    assert all(re.search(r" [0-9a-f]{12}$", case.source) for case in CASES.values())


def test_values_of_chart_0_are_called_so_and_no_release_is_recommended_for_them() -> None:
    old = read_yaml(CASES["chart 0.2 with a database's scripts"].values)
    assert other_release(old, 2).startswith(
        "compute, slurm, mariadb: these are values of chart 0.x, and 1.x can't take over"
    )
    assert "--chart-version" not in other_release(old, 2)


@pytest.mark.parametrize(("line", "more"), [((1, 1), {"State": "UP"}), ((1, 2), {})])
def test_the_chart_s_own_partition_has_its_nodes_and_parameters(line: tuple[int, int], more: dict[str, str]) -> None:
    """Without them a stack would have no partition, and slurmctld would refuse each job."""
    made = read(read_yaml("{partitions: {all: {enabled: true}}}"), release="slurm", namespace="slurm", line=line)
    assert made.taken.settings["partitions"]["all"] == {
        "nodesets": ["ALL"],
        "config": {"Default": "YES", "MaxTime": "UNLIMITED", **more},
    }
    off = read(read_yaml("{partitions: {all: {enabled: false}}}"), release="slurm", namespace="slurm", line=line)
    assert "partitions" not in off.taken.settings


def test_a_service_as_kubernetes_writes_it_is_named_with_the_chart_s_own_place() -> None:
    values = {"restapi": {"service": {"type": "ClusterIP", "annotations": {"a": "b"}}}}
    left = dict(read(values, release="slurm", namespace="slurm", line=(1, 2)).taken.left)
    assert left["restapi.service.type"].endswith("it has no effect with Helm: it is service.spec.type")
    assert left["restapi.service.annotations"].endswith("it is service.metadata.annotations")
