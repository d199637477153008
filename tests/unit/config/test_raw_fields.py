"""Every field of the custom resources has a way, and the rules of raw pieces open and close by the same table."""

from __future__ import annotations

from typing import Any

import pytest

from lab import crd_table
from lab.charts import crd_dir
from slinky_iac.config.findings import Finding
from slinky_iac.config.kubernetes import types as kubernetes_types
from slinky_iac.config.operator import raw_fields
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.releases import LINES
from slinky_iac.specs.workers import nodeset_spec
from tests import crds, reach
from tests.stacks import ROOT, minimal

ALL = [f"1.{minor}" for minor in LINES]
SECTIONS = {kind: section for section, kind in raw_fields.KINDS.items()}
EXAMPLES: dict[str, Any] = {
    "string": "x",
    "integer": 1,
    "boolean": False,
    "scalar": 1,
    "Container": {"image": "a:1"},
    "PodSpec": {"nodeSelector": {"a": "b"}},
}

OF_PLACES: dict[str, Any] = {
    "metrics.serviceMonitor.interval": "30s",
    "metrics.serviceMonitor.scrapeTimeout": "10s",
    "persistence.volumeMode": "Filesystem",
    "persistentVolumeClaimRetentionPolicy.whenDeleted": "Retain",
    "persistentVolumeClaimRetentionPolicy.whenScaled": "Delete",
    "strategy.type": "Recreate",
    "volumeClaimTemplates": [
        {
            "metadata": {"name": "disk"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Ti"}}},
        }
    ],
}
"""Examples of fields that take one of a few words, or a whole claim."""
REFERENCE = {"kind": "PersistentVolumeClaim", "name": "a"}


@pytest.mark.parametrize("line", ALL)
def test_every_field_of_a_release_has_a_way(line: str) -> None:
    every = [(kind, path) for kind in reach.KINDS for path in raw_fields.leaves(line, kind)]
    assert len(every) > 70
    assert [each for each in every if raw_fields.field(*each) is None] == []


@pytest.mark.parametrize("version", crds.SERVED)
def test_the_table_has_what_the_crds_of_a_release_have(version: str) -> None:
    line = version.rpartition(".")[0]
    assert crd_table.table(crd_dir(version)) == kubernetes_types.of_operator(line)


def test_the_page_is_current() -> None:
    assert (ROOT / "docs/evidence/reach.md").read_text() == reach.page(), (
        "run python -m tests.reach > docs/evidence/reach.md"
    )


def test_no_field_is_named_that_no_release_has() -> None:
    every = {(kind, path) for line in ALL for kind in reach.KINDS for path in raw_fields.leaves(line, kind)}
    above = {(kind, path[: len(path) - len(rest)].rstrip(".")) for kind, path in every for rest in _rests(path)}
    unused = [
        (kind, path)
        for kind, path in raw_fields.rows()
        if (kind, path) not in every | above and not _in_container(kind, path, every) and not path.startswith("*")
    ]
    assert unused == []


def _rests(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[depth:]) for depth in range(1, len(parts))]


def _in_container(kind: str, path: str, every: set[tuple[str, str]]) -> bool:
    outer, _, inner = path.partition(".")
    return (kind, outer) in every and inner.split(".")[0] in kubernetes_types.fields("Container")


def _stack(kind: str, version: str, spec: dict[str, Any]) -> list[Finding]:
    section = SECTIONS[kind]
    part: dict[str, Any] = {"raw": {"spec": spec}}
    more: dict[str, Any] = {section: part}
    if kind == "NodeSet":
        more = {section: {"gpu": {"replicas": 1, **part}}}
    if kind == "LoginSet":
        more = {section: {"a": {"sssdConfFrom": {"secret": "sssd"}, **part}}}
    if kind == "Accounting":
        more = {section: {"database": {"host": "db"}, **part}}
    data = minimal(**{"operator": {"version": version}, **more})
    return [each for each in findings(load(data), frozenset()) if ".raw.spec" in each.path]


def _nested(path: str, value: object) -> dict[str, Any]:
    for part in reversed(path.split(".")):
        value = {part: value}
    assert isinstance(value, dict)
    return value


def _type(line: str, kind: str, path: str) -> str:
    here = kind
    for part in path.split("."):
        here = kubernetes_types.of_operator(line)[here.strip("[]{}")][part]
    return here


@pytest.mark.parametrize("kind", SECTIONS)
@pytest.mark.parametrize("line", ALL)
def test_raw_spec_takes_what_the_table_opens_and_refuses_the_rest(line: str, kind: str) -> None:
    for path in raw_fields.leaves(line, kind):
        found = raw_fields.field(kind, path)
        assert found is not None
        if any(mark in f".{path}." for mark in (".endpoints.", ".matchExpressions.", "Refs.")):
            continue  # below a list
        takes = _type(line, kind, path)
        inner = EXAMPLES.get(takes.strip("[]{}"), {})
        value = [inner] if takes.startswith("[") else {"a": inner} if takes.startswith("{") else inner
        piece = _nested(path, OF_PLACES.get(path, value))
        for outer, source in piece.get("persistence", {}).items():
            if outer in {"dataSource", "dataSourceRef"}:
                piece["persistence"][outer] = REFERENCE | source | {"kind": "PersistentVolumeClaim"}
        said = _stack(kind, f"{line}.0", piece)
        assert bool(said) != found.words.startswith("raw.spec."), (kind, path, said)


def test_a_field_that_the_stacks_release_lacks_is_refused() -> None:
    (said,) = _stack("LoginSet", "1.0.1", {"strategy": {"type": "Recreate"}})
    assert "slurm-operator 1.0's LoginSet" in said.message
    assert _stack("LoginSet", "1.2.1", {"strategy": {"type": "Recreate"}}) == []


def test_a_value_of_a_wrong_type_is_refused_by_its_place() -> None:
    (said,) = _stack("LoginSet", "1.2.1", {"strategy": {"rollingUpdate": {"maxSurge": []}}})
    assert said.path == "logins.a.raw.spec.strategy.rollingUpdate.maxSurge"


def test_a_raw_spec_is_laid_field_by_field_beside_ours() -> None:
    context = {"securityContext": {"runAsNonRoot": True, "runAsUser": 1000}}
    data = minimal(operator={"version": "1.2.1"}, nodesets={"gpu": {"replicas": 1, "raw": {"spec": {"logfile": context}}}})
    config = load(data)
    spec = nodeset_spec(config, "gpu", config.nodesets["gpu"])
    assert spec["logfile"].items() >= {"image": config.cluster.images.sidecar, **context}.items()
    assert crds.faults("1.1.0", "NodeSet", spec) == []
