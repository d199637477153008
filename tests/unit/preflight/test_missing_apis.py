"""A preview names objects whose kind the API server doesn't serve, before an update fails at them."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.preflight.kube_questions import missing_apis
from tests.stacks import minimal

KUBERNETES = {"apps", "autoscaling"}
GPU = {"replicas": 0, "owner": "autoscaler", "maxReplicas": 4}
KEDA = {"nodesets": {"gpu": GPU | {"autoscale": {}}}}
HPA = {"nodesets": {"gpu": GPU | {"autoscale": {"by": "hpa", "metric": "wanted", "minReplicas": 1}}}}


@pytest.mark.parametrize(
    ("settings", "group", "name"),
    [
        (KEDA, "keda.sh", "autoscale-without-keda"),
        (HPA, "external.metrics.k8s.io", "autoscale-without-metrics"),
    ],
)
def test_a_kind_that_is_not_served_is_named(settings: dict[str, Any], group: str, name: str) -> None:
    config = load(minimal(**settings))
    assert [each.id for each in missing_apis(config, KUBERNETES)] == [name]
    assert [*missing_apis(config, KUBERNETES | {group})] == []


def test_a_stack_that_needs_none_is_told_nothing() -> None:
    assert [*missing_apis(load(minimal()), KUBERNETES)] == []
