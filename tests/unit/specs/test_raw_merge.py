"""With a release that lets a mapping take the place of the operator's own, the pod is what a newer one makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.config.operator.raw_merge import DAEMONS, beside, losses, read
from slinky_iac.config.reading.load import load
from slinky_iac.releases import OperatorVersion
from slinky_iac.specs.daemons import accounting_spec, controller_spec, restapi_spec
from slinky_iac.specs.workers import loginset_spec, nodeset_spec
from tests.unit.config.rule_cases_raw import PARTS, part

SLURM = {"runAsNonRoot": True, "runAsUser": 401, "runAsGroup": 401}
NOBODY = {"runAsNonRoot": True, "runAsUser": 65534, "runAsGroup": 65534}
CAPABILITIES = {"add": ["BPF", "NET_ADMIN", "SYS_ADMIN", "SYS_NICE"]}
OPERATORS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "controller": ({**SLURM, "fsGroup": 401}, SLURM),
    "accounting": ({**SLURM, "fsGroup": 401}, SLURM),
    "restapi": ({**NOBODY, "fsGroup": 65534}, NOBODY),
    "nodesets": ({}, {"privileged": True, "capabilities": CAPABILITIES}),
    "logins": ({}, {}),
}
"""The operator's own securityContext of each pod and of its daemon, 1.0.1 to 1.2.1 (``*_app.go``)."""
OLD, NEW = "1.0.1", "1.2.1"


def contexts(section: str, more: dict[str, Any], version: str) -> tuple[Any, Any]:
    """What the custom resource says of the pod's and the daemon's securityContext."""
    config = load(part(section, more, operator={"version": version}))
    spec = {
        "controller": lambda: controller_spec(config),
        "accounting": lambda: accounting_spec(config),
        "restapi": lambda: restapi_spec(config),
        "nodesets": lambda: nodeset_spec(config, "a", config.nodesets["a"]),
        "logins": lambda: loginset_spec(config, "a", config.logins["a"]),
    }[section]()
    pod = spec.get("template", {}).get("spec", {}).get("securityContext")
    return pod, spec[DAEMONS[section]].get("securityContext")


def in_pods(own: dict[str, Any], given: Any, version: str) -> dict[str, Any]:
    """What the operator makes of it: 1.0 takes it whole, newer ones lay it over their own."""
    if given is None:
        return own
    return dict(given) if version == OLD else beside(given, own)


@pytest.mark.parametrize("section", PARTS)
@pytest.mark.parametrize("user", [{}, {"runAsUser": 1000}])
def test_a_security_context_is_the_same_in_pods_of_both(section: str, user: dict[str, Any]) -> None:
    raw = {
        "pod": {"securityContext": {"supplementalGroups": [3000], **user}},
        "container": {"securityContext": {"readOnlyRootFilesystem": True, **user}},
    }
    old, new = (
        [
            in_pods(own, given, version)
            for own, given in zip(OPERATORS[section], contexts(section, {"raw": raw}, version), strict=True)
        ]
        for version in (OLD, NEW)
    )
    assert old == new


def test_slurmd_stays_privileged_beside_a_capability() -> None:
    raw = {"container": {"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}}}
    _, given = contexts("nodesets", {"raw": raw}, OLD)
    assert given == {"privileged": True, "capabilities": {"add": ["IPC_LOCK", *CAPABILITIES["add"]]}}
    assert contexts("nodesets", {"raw": raw}, NEW)[1] == raw["container"]["securityContext"]


def test_nothing_of_the_operators_is_said_where_no_piece_takes_its_place() -> None:
    for section in PARTS:
        assert contexts(section, {}, OLD) == (None, None)
    assert contexts("nodesets", {"privileged": False}, OLD)[1] == {"privileged": False}
    raw = {"container": {"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}}}
    _, given = contexts("nodesets", {"privileged": False, "raw": raw}, OLD)
    assert given == {"privileged": False, "capabilities": {"add": ["IPC_LOCK"]}}, "slurmd would have more than was asked for"


@pytest.mark.parametrize("version", ["1.0.0", "1.0.1", "1.0.6", "1.1.0", "1.1.2", "1.2.1", "1.3.0"])
def test_releases_from_1_1_on_lose_no_mapping_of_their_own(version: str) -> None:
    for section in PARTS:
        found = losses(OperatorVersion.parse(version), section)
        assert any(each.own or each.name == "schedulerName" for each in found) == version.startswith("1.0.")


@pytest.mark.parametrize(("version", "kept"), [("1.0.1", False), ("1.1.0", True), ("1.2.1", False), ("1.3.0", False)])
def test_a_field_that_the_releases_library_lacks_is_unread(version: str, kept: bool) -> None:
    given = {"workloadRef": {"name": "a", "podGroup": "b"}, "runtimeClassName": "kata"}
    assert ("workloadRef" in read(OperatorVersion.parse(version), "nodesets", "pod", given)) == kept
