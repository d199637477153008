"""Two clusters of one name on one Kubernetes: told where it can be known, noted where it can't, for operators that mind."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from slinky_iac.cluster.kube_connection import KubeConnection
from slinky_iac.config.findings import Level
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import KubeUnreachable
from slinky_iac.kube.kubeconfig import KubeSource
from slinky_iac.preflight.kube_questions import OTHERS, SAME_NAME, answered, clashes
from tests.stacks import minimal
from tests.unit.preflight.made import nowhere


def stack(version: str = "1.0.1") -> StackConfig:
    return load(minimal(operator={"version": version}))


def test_the_same_name_in_another_namespace_is_a_warning_and_ones_own_is_not() -> None:
    config = stack()
    own, name = config.cluster.namespace, config.cluster.resource_name
    assert [*clashes(config, [(own, name), ("elsewhere", "other")])] == []
    (found,) = clashes(config, [(own, name), ("b", name), ("a", name)])
    assert (found.level, found.path) == (Level.WARNING, "cluster.resourceName")
    assert "namespace a, b too" in found.message
    assert "1.0.1" in found.message


def test_where_nobody_can_be_asked_it_is_a_note(tmp_path: Path) -> None:
    (found,) = answered(stack(), nowhere(tmp_path), [SAME_NAME])
    assert (found.level, found.path) == (Level.INFO, "cluster.resourceName")
    assert "is not known" in found.message


@pytest.mark.parametrize("version", ["1.1.1", "1.2.1"])
def test_later_operators_need_no_question(version: str, tmp_path: Path) -> None:
    assert list(answered(stack(version), nowhere(tmp_path), [SAME_NAME])) == []


@pytest.mark.parametrize("version", ["1.0.1", "1.1.0"])
def test_a_preview_without_a_cluster_says_nothing_else(version: str, tmp_path: Path) -> None:
    cluster = {"name": "atlas", "fence": True}
    config = load(minimal(operator={"version": version}, cluster=cluster, nodesets={"gpu": {"replicas": 2}}))
    assert all(each.applies(config) for each in OTHERS[::2]), "the fence and the network plugin are asked about"
    assert list(answered(config, nowhere(tmp_path), OTHERS)) == []


class Impostor(KubeConnection):
    """A way to an API server whose certificate isn't trusted."""

    why = "certificate verify failed: IP address mismatch"

    def kube(self, *_: object, **__: object) -> NoReturn:
        raise KubeUnreachable(self.why, advice="Look at its certificate")


def test_a_certificate_that_is_not_trusted_is_said_once(tmp_path: Path) -> None:
    cluster = {"name": "atlas", "fence": True}
    config = load(minimal(operator={"version": "1.1.0"}, cluster=cluster, nodesets={"gpu": {"replicas": 2}}))
    way = Impostor(KubeSource(path=tmp_path / "none"))
    (found,) = answered(config, way, OTHERS)
    assert (found.level, found.id) == (Level.WARNING, "kubernetes-unreachable")
    assert "IP address mismatch. Look at its certificate. A preview needs no cluster, but `pulumi up` will" in found.message
    way.why = "connection refused"
    assert list(answered(config, way, OTHERS)) == [], "connectivity says so"
