"""What the operator has in its pods is one table: what the operator's own functions make, and no door takes its names."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from slinky_iac.config.operator.own_pieces import own_pieces
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.releases import OperatorVersion
from tests.operator_pods import HOME, STORED, asked, key
from tests.stacks import SECRETS
from tests.unit.config.rule_cases_raw import PARTS, part

MADE: Final[dict[str, Any]] = json.loads(STORED.read_text())
VERSIONS: Final = ("1.0.1", "1.1.2", "1.2.1")
CONTAINERS: Final = ("initContainers", "containers")
OWN: Final = [
    (section, version, own_pieces(OperatorVersion.parse(version), section, cluster="lab"))
    for section in PARTS
    for version in VERSIONS
]
EMPTY: Final[dict[str, Any]] = {"emptyDir": {}}


def _names(pieces: list[dict[str, Any]]) -> set[str]:
    return {each["name"] for each in pieces}


@pytest.mark.parametrize("name", MADE)
def test_the_table_has_what_the_operators_own_functions_make(name: str) -> None:
    (found,) = [(config, each) for case, version, config, each in asked() if key(case, version, each) == name]
    config, each = found
    spec, given = MADE[name]["spec"], each.spec.get("template", {}).get("spec", {})
    section = each.path.partition(".")[0]
    ssh = each.spec.get("ssh", {}).get("enabled", False)
    own = own_pieces(config.operator_version, section, cluster=config.cluster.name, ssh=ssh)
    claims = _names([one["metadata"] for one in each.spec.get("volumeClaimTemplates", [])])
    assert own.volumes == _names(spec["volumes"]) - _names([*given.get("volumes", [])]) - claims
    assert own.containers == {
        one["name"] for field in CONTAINERS for one in spec.get(field, []) if one not in given.get(field, [])
    }
    (daemon,) = [one for one in spec["containers"] if one["name"] == own.container]
    mounts = {one["mountPath"].replace("HOME/", f"{HOME}/") for one in daemon["volumeMounts"]}
    assert own.places == mounts - {one["mountPath"] for one in each.spec[own.container].get("volumeMounts", [])}


def _errors(section: str, version: str, settings: dict[str, Any]) -> dict[str, list[str]]:
    """Messages of errors by the setting, below the part."""
    stack = load(part(section, settings, operator={"version": version}))
    own = PARTS[section][0]
    found: dict[str, list[str]] = {}
    for each in findings(stack, SECRETS):
        if each.level.value == "error":
            found.setdefault(each.path.removeprefix(f"{own}."), []).append(each.message)
    return found


def _doors(section: str, name: str) -> dict[str, dict[str, Any]]:
    """Each way to a volume of this name."""
    doors: dict[str, dict[str, Any]] = {"raw.pod.volumes": {"raw": {"pod": {"volumes": [{"name": name, **EMPTY}]}}}}
    if section in {"nodesets", "logins"}:
        doors["volumes"] = {"volumes": [{"name": name, "mountPath": "/a", "source": EMPTY}]}
    if section == "nodesets":
        claim = {"metadata": {"name": name}, "spec": {"resources": {"requests": {"storage": "1Ti"}}}}
        claim["spec"]["accessModes"] = ["ReadWriteOnce"]
        doors["raw.spec.volumeClaimTemplates"] = {"raw": {"spec": {"volumeClaimTemplates": [claim]}}}
    return doors


@pytest.mark.parametrize(("section", "version", "own"), OWN, ids=lambda each: str(each)[:20])
def test_a_volume_of_the_operators_name_is_refused_by_every_door_and_by_its_pods_alone(
    section: str, version: str, own: Any
) -> None:
    every = {name for _, _, one in OWN for name in one.volumes}
    for name in every | {"authorized-keys", "slurm-scripts"}:
        for door, settings in _doors(section, name).items():
            found = _errors(section, version, settings)
            assert (door in found) == (name in own.volumes), (door, name, found)
            assert all(name in said for said in found.get(door, []))


@pytest.mark.parametrize(("section", "version", "own"), OWN, ids=lambda each: str(each)[:20])
def test_a_mount_in_a_place_of_the_operators_is_refused(section: str, version: str, own: Any) -> None:
    for place in own.places:
        mounts = [{"name": "site", "mountPath": place}]
        raw = {"pod": {"volumes": [{"name": "site", **EMPTY}]}, "container": {"volumeMounts": mounts}}
        assert "raw.container.volumeMounts" in _errors(section, version, {"raw": raw}), place
        if section in {"nodesets", "logins"}:
            volumes = [{"name": "site", "mountPath": place, "source": EMPTY}]
            assert "volumes" in _errors(section, version, {"volumes": volumes}), place


@pytest.mark.parametrize(("section", "version", "own"), OWN, ids=lambda each: str(each)[:20])
def test_a_container_of_the_operators_name_is_refused_in_its_pods_alone(section: str, version: str, own: Any) -> None:
    for name in {name for _, _, one in OWN for name in one.containers}:
        for field in CONTAINERS:
            found = _errors(section, version, {"raw": {"pod": {field: [{"name": name, "image": "site:1"}]}}})
            assert (f"raw.pod.{field}" in found) == (name in own.containers), (name, found)


def test_sshd_of_a_nodesets_pods_brings_its_volumes() -> None:
    ssh = {"ssh": {"enabled": True, "sssdConfFrom": {"secret": "sssd"}}}
    for name in ("ssh-config", "sssd-conf"):
        for door, settings in _doors("nodesets", name).items():
            assert door in _errors("nodesets", "1.2.1", settings | ssh)
            assert door not in _errors("nodesets", "1.2.1", settings)
