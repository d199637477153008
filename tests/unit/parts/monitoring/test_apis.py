"""A preview names Prometheus' operator where the API server doesn't serve its kinds, before an update fails at them."""

from __future__ import annotations

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.preflight.kube_questions import missing_apis
from tests.stacks import minimal


@pytest.mark.parametrize("asked", ["rules", "slurmctld"])
def test_a_kind_that_is_not_served_is_named(asked: str) -> None:
    config = load(minimal(monitoring={asked: True}))
    assert [each.id for each in missing_apis(config, {"apps"})] == ["monitoring-without-prometheus-operator"]
    assert [*missing_apis(config, {"apps", "monitoring.coreos.com"})] == []
