"""A preview says what is known of the network plugin, decides nothing by it, and guesses nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slinky_iac.config.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.network_plugin import ENFORCERS, network_plugin, told
from tests.stacks import minimal
from tests.unit.preflight.made import nowhere

KUBERNETES = {"apps", "batch", "networking.k8s.io"}


def stack(*, on: bool, **more: Any) -> StackConfig:
    policies = {"enabled": True, "apiServer": [{"cidr": "10.0.0.10"}]} if on else {}
    return load(minimal(networkPolicies=policies, **more))


@pytest.mark.parametrize("group", ENFORCERS)
def test_policies_that_are_off_beside_a_plugin_that_can_enforce_them_are_told(group: str) -> None:
    (found,) = told(stack(on=False), KUBERNETES | {group})
    assert (found.level, ENFORCERS[group] in found.message, "unless" in found.message) == ("info", True, True)
    assert told(stack(on=True), KUBERNETES | {group}) == ()


def test_policies_that_perhaps_nobody_enforces_are_told() -> None:
    (found,) = told(stack(on=True), KUBERNETES)
    assert (found.level, "preflight" in found.message) == ("info", True)
    assert told(stack(on=False), KUBERNETES) == ()


def test_a_preview_without_a_cluster_says_nothing(tmp_path: Path) -> None:
    assert network_plugin(stack(on=True), nowhere(tmp_path)) == ()
