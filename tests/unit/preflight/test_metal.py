"""Bare-metal hosts: a node that slurmctld was only told of is not one that answers."""

from __future__ import annotations

import pytest

from slinky_iac.preflight.check import Verdict
from slinky_iac.preflight.compare import checks
from slinky_iac.slurmrest.objects import Node
from tests.unit.preflight.made import node, slurm, stack


@pytest.mark.parametrize(
    "metal", [node("metal-1", "FUTURE"), node("metal-1", "IDLE", version=""), node("metal-1", "DOWN", version="")]
)
def test_a_host_that_never_registered_is_not_fine(metal: Node) -> None:
    """Of a node that no slurmd has registered for slurmctld knows no release, whatever its state says."""
    found = [
        each for each in checks(stack(), slurm(nodes=(node("gpu-0"), node("gpu-1"), metal))) if each.name == "metal-hosts"
    ]
    assert [each.verdict for each in found] == [Verdict.PROBLEM]
