"""Labels of the node table that others have changed, own too, or put elsewhere."""

from __future__ import annotations

from typing import Any

from slinky_iac.commands.drift.compare import drift
from slinky_iac.kube.machines import Machine
from slinky_iac.parts.node_table.labels import Labelled
from slinky_iac.parts.part import OnMachines
from slinky_iac.parts.registry import on_machines
from tests.made.machines import machine
from tests.unit.drift.test_compare import EXPECTED, replace, seen

KEY = "slurm.example.org/ib"
OURS = "slinky-iac/prod"
WANTED = Labelled(OURS, {"w-1": {("labels", KEY): "true"}})


def told(*machines: Machine) -> list[tuple[str, str]]:
    live = {each.metadata.name: each for each in machines}
    found = drift(replace(EXPECTED, on_machines=(WANTED,)), seen(machines=live))
    return [(each.subject, each.text) for each in found if each.kind == "node-label"]


def of_state(nodes: dict[str, Any]) -> tuple[OnMachines, ...]:
    """What drift reads of a state whose table has set these."""
    reach = {"namespace": "slurm", "restapiService": "r", "jwtSecret": "s", "jwtEntry": "e"}
    props = {"schema": 1.0, "stack": "prod", "rows": [], "urn": "", "nodes": nodes, **reach}
    return on_machines(lambda kind: [props] if kind == "NodeLabels" else [])


def test_the_state_says_what_was_set_and_as_whom() -> None:
    assert of_state({"w-1": {"labels": {KEY: "true"}, "annotations": {}}}) == (WANTED,)


def test_a_state_without_labels_on_nodes_needs_no_look_at_them() -> None:
    assert of_state({}) == ()


def test_a_label_as_the_table_says_is_no_drift() -> None:
    assert told(machine("w-1", {KEY: "true", "rack": "r1"}, OURS)) == []


def test_a_label_that_another_manager_has_changed_is_named_with_the_manager() -> None:
    ((node, text),) = told(machine("w-1", {KEY: "no"}, "kubectl-label"))
    assert (node, "set by kubectl-label" in text, "never takes it over" in text) == ("w-1", True, True)


def test_a_label_that_is_gone_is_named() -> None:
    ((_, text),) = told(machine("w-1", {}, OURS))
    assert "is gone" in text


def test_a_label_that_another_manager_has_too_is_named() -> None:
    ((_, text),) = told(machine("w-1", {KEY: "true"}, OURS, "nfd-master"))
    assert "belongs to nfd-master too" in text


def test_the_same_word_on_a_node_outside_the_table_is_named() -> None:
    ((node, text),) = told(machine("w-1", {KEY: "true"}, OURS), machine("w-2", {KEY: "true"}, "kubectl"))
    assert (node, "set by kubectl" in text) == ("w-2", True)


def test_a_node_that_is_gone_is_named() -> None:
    ((node, text),) = told()
    assert (node, "has no node w-1" in text) == ("w-1", True)
