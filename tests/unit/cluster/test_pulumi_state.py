"""A state that no release of this program wrote ends in an error that says so, never in a traceback."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.cluster.pulumi_state import State
from slinky_iac.cluster.pulumi_state import custom as type_of
from slinky_iac.commands.drift.cli import expected
from slinky_iac.drain.settings import gates, outside_hosts
from slinky_iac.errors import StateError
from tests.unit.status.made import blueprint, custom, facts, gate, resources

GATE = "pulumi-python:dynamic/slurm:NodeSetScale"


@pytest.mark.parametrize(
    "edited",
    [
        {"type": GATE},
        {"type": GATE, "outputs": []},
        {"type": GATE, "outputs": gate("gpu", 1) | {"replicas": {}}},
        {"type": GATE, "outputs": {key: value for key, value in gate("gpu", 1).items() if key != "policy"}},
        {"type": "pulumi-python:dynamic/slurm:OutsideHosts", "outputs": gate("x", 1) | {"hosts": [1]}},
        custom("Controller") | {"inputs": 3},
        blueprint(keys=3),
        blueprint(daemons=[["Controller"]]) | {"type": "slinky:slurm:Blueprint"},
    ],
)
def test_a_state_that_somebody_edited_is_said_to_be_so(edited: dict[str, Any]) -> None:
    with pytest.raises(StateError, match=r"isn't as this program writes it.*nothing was concluded"):
        facts("prod", [edited, *resources()])


def test_drift_says_the_same() -> None:
    with pytest.raises(StateError, match="isn't as this program writes it"):
        State.read([*resources(), {"type": type_of("Controller"), "inputs": 3}])
    edited = State.read(resources(nodesets={"gpu": {"partition": 3}}))
    with pytest.raises(StateError, match="isn't as this program writes it"):
        expected(edited, gates(edited), outside_hosts(edited))
