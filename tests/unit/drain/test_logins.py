"""Which change of a login set or of a Controller ends pods."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.releases import OperatorVersion
from slinky_iac.specs.clients import ends_pods
from slinky_iac.specs.daemons import restarts_slurmctld
from slinky_iac.specs.workers import replaces_pods

LIVE = {"spec": {"replicas": 2, "login": {"image": "login:1"}, "service": {"port": 22}}}


@pytest.mark.parametrize(
    ("change", "replaces"),
    [
        ({"login": {"image": "login:2"}}, True),
        ({"extraSshdConfig": "X11Forwarding yes"}, True),
        ({"replicas": 1}, True),
        ({"replicas": 3.0}, False),
        ({"replicas": 2.0}, False),
        ({"service": {"port": 2222}}, False),
    ],
)
def test_what_ends_pods_is_told_from_what_does_not(change: dict[str, Any], replaces: bool) -> None:
    assert replaces_pods(LIVE, {"spec": {**LIVE["spec"], **change}}) is replaces


@pytest.mark.parametrize(("change", "replaces"), [({"labels": {"a": "c"}}, True), ({"annotations": {}}, True), ({}, False)])
def test_labels_and_annotations_of_a_login_set_are_its_pods_too(change: dict[str, Any], replaces: bool) -> None:
    """slurm-operator's login_app.go, 1.0 to 1.2."""
    meta = {"name": "x", "labels": {"a": "b"}, "annotations": {"c": "d"}}
    assert replaces_pods({**LIVE, "metadata": meta}, {**LIVE, "metadata": meta | change}) is replaces


@pytest.mark.parametrize(
    ("change", "ends"),
    [({"template": {"image": "b"}}, True), ({"replicas": 0}, True), ({"selector": {}}, False), ({}, False)],
)
def test_which_change_of_a_clients_deployment_ends_its_pod(change: dict[str, Any], ends: bool) -> None:
    live = {"replicas": 1, "template": {"image": "a"}}
    assert ends_pods({"spec": live}, {"spec": live | change}) is ends


CONTROLLER = {"spec": {"slurmctld": {"image": "slurmctld:1"}, "extraConf": "MaxJobCount=9", "service": {"port": 6817}}}


@pytest.mark.parametrize(
    ("change", "before_1_2", "from_1_2"),
    [
        ({"slurmctld": {"image": "slurmctld:2"}}, True, True),
        ({"template": {"metadata": {}}}, True, True),
        ({"extraConf": ""}, False, True),
        ({"service": {"port": 1}}, False, False),
        ({}, False, False),
    ],
)
def test_which_change_of_a_controller_restarts_slurmctld(change: dict[str, Any], before_1_2: bool, from_1_2: bool) -> None:
    new = {"spec": CONTROLLER["spec"] | change}
    assert restarts_slurmctld(CONTROLLER, new, OperatorVersion.parse("1.1.2")) is before_1_2
    assert restarts_slurmctld(CONTROLLER, new, OperatorVersion.parse("1.2.1")) is from_1_2


def test_a_spec_that_a_preview_does_not_know_yet_may_restart_slurmctld() -> None:
    assert restarts_slurmctld(CONTROLLER, {"spec": None}, OperatorVersion.parse("1.1.2"))
