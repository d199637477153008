"""The node table on nodes as they are: no other's value is taken over, nothing is made, and all of ours goes again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.kube.machines import Machine
from slinky_iac.parts.node_table.plan import NodeTableError, Row, absent, conflicts, due, plain, planned, values
from tests.made.machines import machine

KEY = ("labels", "slurm.example.org/ib")
OURS = "slinky-iac/prod"
IB = Row(("w-[1-2]",), {}, {KEY: "true"})
POOL = Row((), {"pool": "gpu"}, {KEY: "true"})


def live(*found: Machine) -> dict[str, Machine]:
    return {each.metadata.name: each for each in found}


def ours(name: str, value: str = "true") -> Machine:
    claims: dict[str, Any] = {OURS: KEY[1]}
    return machine(name, {KEY[1]: value}, **claims)


def test_a_node_that_is_not_there_is_told_and_gets_nothing() -> None:
    there = live(machine("w-1"))
    assert set(planned([IB], there)) == {"w-1"}
    assert "w-2" in absent([IB], there)
    assert absent([IB], live(machine("w-1"), machine("w-2"))) == ""


def test_a_selector_means_the_nodes_that_have_all_its_labels_now() -> None:
    there = live(machine("a", {"pool": "gpu", "rack": "r1"}), machine("b", {"pool": "cpu"}), machine("c"))
    assert set(planned([POOL], there)) == {"a"}
    assert planned([Row((), {}, {KEY: "true"})], there) == {}, "no selector selects nothing"


def test_two_values_for_one_node_are_refused() -> None:
    with pytest.raises(NodeTableError, match="w-1 another"):
        planned([IB, Row((), {"pool": "gpu"}, {KEY: "no"})], live(machine("w-1", {"pool": "gpu"})))


def test_a_value_of_another_manager_is_a_conflict_and_ones_own_earlier_value_is_none() -> None:
    theirs = machine("w-1", {KEY[1]: "no"}, kubectl=KEY[1])
    there = live(theirs, ours("w-2", "old"))
    (text,) = conflicts(planned([IB], there), there, OURS)
    assert "w-1" in text
    assert "set by kubectl" in text
    agreed = live(machine("w-1", {KEY[1]: "true"}, kubectl=KEY[1]))
    assert conflicts(planned([IB], agreed), agreed, OURS) == ()


def test_what_lacks_or_is_left_is_a_reason_to_write_and_nothing_else_is() -> None:
    there = live(ours("w-1"), ours("w-2"))
    assert due(planned([IB], there), there, OURS) == ""
    there = live(ours("w-1"), machine("w-2"), ours("w-9"))
    assert due(planned([IB], there), there, OURS) == "w-2 lacks what the table says; w-9 has what the table no longer says"


LABELS = st.dictionaries(st.sampled_from(["a/x", "a/y", "pool"]), st.sampled_from(["", "1", "true"]))


@given(st.lists(st.tuples(st.sampled_from(["labels", "annotations"]), st.text(max_size=3), st.text(max_size=3))))
def test_a_plan_survives_the_state_file(rows: list[tuple[str, str, str]]) -> None:
    plan = {"n": {(part, key): value for part, key, value in rows}}
    assert {node: values(own) for node, own in plain(plan).items()} == plan


@given(LABELS, LABELS)
def test_a_selector_never_means_a_node_that_lacks_one_of_its_labels(
    selector: dict[str, str], labels: dict[str, str]
) -> None:
    found = planned([Row((), selector, {KEY: "true"})], live(machine("n", labels)))
    assert ("n" in found) == (bool(selector) and all(labels.get(key) == value for key, value in selector.items()))
