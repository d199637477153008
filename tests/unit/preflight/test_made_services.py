"""Services that slurm-operator leaves as it made them: a preview tells which aren't what their settings say."""

from __future__ import annotations

from pathlib import Path

import pytest

from slinky_iac.cluster.kube_connection import KubeConnection
from slinky_iac.config.findings import Level
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.kube.kubeconfig import KubeSource
from slinky_iac.preflight.kube_questions import OTHERS, answered
from slinky_iac.preflight.made_services import offered, unchanged
from tests.api_server import ApiServer
from tests.stacks import minimal

PORTS = {"type": "NodePort", "nodePort": 30817}


def stack(version: str = "1.2.1", **controller: object) -> StackConfig:
    return load(minimal(operator={"version": version}, controller={"service": controller}))


def test_a_service_of_another_type_is_told_with_the_command_that_changes_it() -> None:
    (found,) = unchanged(stack(**PORTS), {"slurm-controller": ("LoadBalancer", 31234)})
    assert (found.level, found.path) == (Level.WARNING, "controller.service")
    assert (
        "asks for NodePort with node port 30817, but Service slurm-controller in Kubernetes is still LoadBalancer with node"
        " port 31234: slurm-operator 1.2.1 never changes a Service that exists" in found.message
    )
    patch = '{"spec": {"type": "NodePort", "ports": [{"port": 6817, "nodePort": 30817}]}}'
    assert f"`kubectl patch service -n slurm slurm-controller -p '{patch}'`" in found.message


@pytest.mark.parametrize(
    ("service", "live"),
    [
        (PORTS, ("NodePort", 30817)),
        ({"type": "NodePort"}, ("NodePort", 31234)),
        ({"type": "LoadBalancer"}, ("LoadBalancer", 31234)),
        ({}, ("ClusterIP", None)),
    ],
)
def test_a_service_as_its_setting_says_is_none(service: dict[str, object], live: tuple[str, int | None]) -> None:
    assert [*unchanged(stack(**service), {"slurm-controller": live, "other": ("NodePort", 1)})] == []


def test_a_service_that_is_not_there_yet_is_none() -> None:
    assert [*unchanged(stack(**PORTS), {})] == []


def test_each_service_of_the_operator_has_its_setting() -> None:
    login = {"main": {"sssdConfFrom": {"secret": "sssd"}}}
    database = {"database": {"host": "db", "name": "a", "username": "b"}}
    named = {path: name for path, name, _, _ in offered(load(minimal(logins=login, accounting=database)))}
    assert named == {
        "controller.service": "slurm-controller",
        "accounting.service": "slurm-accounting",
        "restapi.service": "slurm-restapi",
        "logins.main.service": "slurm-login-main",
    }


@pytest.mark.parametrize(("version", "asks"), [("1.0.1", True), ("1.2.1", True), ("1.3.0", False)])
def test_a_preview_asks_where_the_operator_changes_none(version: str, asks: bool, tmp_path: Path) -> None:
    services = "/api/v1/namespaces/slurm/services"
    item = {"metadata": {"name": "slurm-controller"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 6817}]}}
    with ApiServer() as api, KubeConnection(KubeSource(path=Path(api.kubeconfig(tmp_path)))) as way:
        api.objects[services] = {"items": [item], "metadata": {}}
        questions = [each for each in OTHERS if each.findings is unchanged]
        found = [each.path for each in answered(stack(version), way, questions)]
        assert (found, services in api.asked) == (["controller.service"] if asks else [], asks)
