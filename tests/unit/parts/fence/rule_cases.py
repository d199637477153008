"""Cases for the rules of the fence."""

from __future__ import annotations

from tests.stacks import minimal
from tests.unit.config.rule_cases import Case

CASES: list[Case] = []
TOLD = [
    Case(
        "a fence of pods without a fence",
        minimal(cluster={"name": "lab", "fence": False, "fencePods": True}),
        "warning",
        "cluster.fencePods",
        ("ignored", "cluster.fence is false"),
        {"cluster": {"fence": True}},
    ),
    Case(
        "an operator of another stack, in a namespace that is a guess",
        minimal(nodesets={"gpu": {"replicas": 1}}, operator={"version": "1.2.1", "install": False}),
        "warning",
        "operator.namespace",
        ("the fence takes the operator in namespace slinky", "set operator.namespace to that"),
        {"operator": {"namespace": "slinky"}},
    ),
]
