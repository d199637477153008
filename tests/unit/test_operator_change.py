"""What of a Helm release brings another operator, and what must be out of its way."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac import operator_change
from slinky_iac.config.load import load
from slinky_iac.errors import KubeNotFound
from slinky_iac.kube.objects import NodeSet
from tests.stacks import minimal
from tests.unit.builders import nodeset

HELM = {"chart": "oci://example.org/slurm-operator", "version": "1.0.1", "values": {"operator": {"image": {"tag": "1.0.1"}}}}


@pytest.mark.parametrize(
    ("change", "other"),
    [
        ({}, False),
        ({"timeout": 900}, False),
        ({"values": {"operator": {"image": {"tag": "1.0.1"}, "logLevel": "debug"}}}, False),
        ({"values": {"operator": {"image": {"tag": "1.1.0"}}}}, True),
        ({"version": "1.1.0"}, True),
        ({"chart": "charts/1.1.0"}, True),
        ({"values": None}, True),
    ],
)
def test_another_operator_is_told_from_another_setting(change: dict[str, Any], other: bool) -> None:
    assert operator_change.changes_release(HELM, {**HELM, **change}) is other


class Kube:
    """A Kubernetes with one NodeSet, or none."""

    def __init__(self, strategy: str | None, replicas: int = 2, unlabelled: tuple[str, ...] = ()) -> None:
        self.strategy, self.replicas, self.unlabelled = strategy, replicas, unlabelled

    def nodeset(self, _namespace: str, name: str) -> NodeSet:
        if self.strategy is None:
            raise KubeNotFound(f"{name} isn't there", status=404)
        return nodeset(name, self.replicas, on_delete=self.strategy == "OnDelete")

    def pods_without(self, *_: str) -> tuple[str, ...]:
        return self.unlabelled


def stack(version: str = "1.1.0", **more: Any) -> Any:
    return load(minimal() | {"operator": {"version": version}, "nodesets": {"gpu": {"replicas": 2, **more}}})


def test_a_live_nodeset_that_rolls_by_itself_is_in_the_way_of_another_operator() -> None:
    (why,) = operator_change._rolling(stack(), Kube("RollingUpdate"))
    assert "Set operator.version back and run `pulumi up`" in why


@pytest.mark.parametrize("kube", [Kube("OnDelete"), Kube("RollingUpdate", replicas=0), Kube(None)])
def test_one_that_does_not_is_not(kube: Kube) -> None:
    assert list(operator_change._rolling(stack(), kube)) == []


def test_rolling_updates_that_are_asked_for_are_not_in_the_way() -> None:
    asked = stack(updateStrategy={"type": "RollingUpdate"})
    assert list(operator_change._rolling(asked, Kube("RollingUpdate"))) == []


def test_pods_without_the_label_are_in_the_way_of_releases_that_look_for_it() -> None:
    kube = Kube("OnDelete", unlabelled=("slurm-worker-gpu-0",))
    (why,) = operator_change._unlabelled(stack(), kube)
    assert "kubectl label pods -n" in why
    assert list(operator_change._unlabelled(stack("1.0.1"), kube)) == []
