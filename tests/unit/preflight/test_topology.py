"""A topology.yaml that lacks a place which a node has now would end slurmctld."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slinky_iac.parts.node_table.checks import EXPECTED
from slinky_iac.preflight.check import Verdict
from tests.made.nodes import node
from tests.unit.preflight.made import FACTS, stack

DECLARED: dict[str, Any] = {
    "t": {"tree": {"core": ["s[1-2]"]}},
    "b": {"block": {"blockSizes": [2], "blocks": ["b1"]}},
    "f": {"flat": True},
}


def told(place: str | None, topologies: dict[str, Any]) -> list[tuple[Verdict, str]]:
    facts = replace(FACTS, slurm=replace(FACTS.slurm, nodes=(node("gpu-0", topology=place),)))
    config = stack(nodes={"topologies": topologies})
    return [(check.verdict, check.got) for row in EXPECTED for check in row.checks(config, facts)]


@pytest.mark.parametrize("place", ["t:s1", "t:core:s2,b:b1", "f", "b:b1,f"])
def test_a_place_that_the_file_has_is_fine(place: str) -> None:
    ((verdict, _),) = told(place, DECLARED)
    assert verdict is Verdict.FINE


@pytest.mark.parametrize("place", ["t:s3", "t:s1,b:b2", "x:s1", "t", "b"])
def test_a_place_that_the_file_lacks_is_a_problem(place: str) -> None:
    ((verdict, got),) = told(place, DECLARED)
    assert verdict is Verdict.PROBLEM
    assert "gpu-0" in got
    assert "slurmctld ends" in got


@pytest.mark.parametrize("place", ["", None])
def test_nodes_without_a_place_are_not_judged(place: str | None) -> None:
    assert told(place, DECLARED) == []


def test_a_stack_without_topologies_is_not_judged() -> None:
    assert told("t:s1", {}) == []
