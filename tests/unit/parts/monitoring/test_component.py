"""The component of monitoring: part of every URN in users' state files, so a change needs an alias."""

from __future__ import annotations

import pytest

from tests.clusters import STACKS, recorded

OBJECTS = {"rules": True, "dashboard": True}


@pytest.mark.parametrize("stack", STACKS)
def test_its_objects_are_children_of_one_component(stack: str) -> None:
    recording = recorded(stack, monitoring=OBJECTS)
    component = recording.one("slinky:slurm:Monitoring")
    children = {each.name.removeprefix(f"{component.name}-") for each in recording.resources if each.parent == component.urn}
    assert {"prometheusrule", "dashboard"} <= children
    assert component.name.endswith("-monitoring")


def test_a_stack_without_it_has_no_such_component() -> None:
    assert recorded("all-in-kubernetes").of("slinky:slurm:Monitoring") == []
