"""A preview says what is known of the network plugin, decides nothing by it, and guesses nothing."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.kube_questions import ENFORCERS, network_plugin
from tests.stacks import minimal

KUBERNETES = {"apps", "batch", "networking.k8s.io"}


def stack(*, on: bool, **more: Any) -> StackConfig:
    policies = {"enabled": True, "apiServer": [{"cidr": "10.0.0.10"}]} if on else {}
    return load(minimal(networkPolicies=policies, **more))


@pytest.mark.parametrize("group", ENFORCERS)
def test_policies_that_are_off_beside_a_plugin_that_can_enforce_them_are_told(group: str) -> None:
    (found,) = network_plugin(stack(on=False), KUBERNETES | {group})
    assert (found.level, ENFORCERS[group] in found.message, "unless" in found.message) == ("info", True, True)
    assert [*network_plugin(stack(on=True), KUBERNETES | {group})] == []


def test_policies_that_perhaps_nobody_enforces_are_told() -> None:
    (found,) = network_plugin(stack(on=True), KUBERNETES)
    assert (found.level, "preflight" in found.message) == ("info", True)
    assert [*network_plugin(stack(on=False), KUBERNETES)] == []
