"""The document of what a stack is: as early as can be, of settings alone, without a secret, and true to what is made."""

from __future__ import annotations

import json

import pytest

from slinky_iac.cluster.blueprint import blueprint, standing
from slinky_iac.cluster.pulumi_state import State, custom
from tests.clusters import MUNGE, STACKS, all_traces, recorded, state_of
from tests.program import Recording

every_stack = pytest.mark.parametrize("stack", STACKS)


def document_of(recording: Recording) -> str:
    """As it is written: an Output in it would be no JSON."""
    return json.dumps(recording.outputs[recording.one("Blueprint").urn]["document"])


@every_stack
def test_it_waits_for_nothing_but_the_check_of_the_cluster(stack: str) -> None:
    recording = recorded(stack)
    own = recording.one("Blueprint")
    assert {*own.dependencies, own.parent} == {recording.one(kind).urn for kind in ("HybridCluster", "ClusterIdentity")}


@pytest.mark.parametrize("stack", [*STACKS, MUNGE])
def test_it_holds_no_secret(stack: str) -> None:
    text = document_of(recorded(stack))
    assert not [trace for trace in all_traces() if trace in text]


@every_stack
def test_the_resources_that_it_names_are_those_that_are_made(stack: str) -> None:
    state = state_of(recorded(stack))
    found = blueprint(state)
    kinds = {custom(kind) for kind in ("Accounting", "Controller", "RestApi", "NodeSet", "LoginSet")}
    assert {each.urn for each in standing(state, found.daemons)} == {each.urn for each in state if each.type in kinds}
    for row in found.keys:
        held = {each.urn for each in found.holders(state, row.name)}
        assert held == {each.urn for each in state if "AuthKeys$" in each.urn and f"{row.name[:3].lower()}" in each.logical}


@every_stack
def test_what_slurm_is_to_show_of_a_nodeset_is_its_specs_own(stack: str) -> None:
    state = state_of(recorded(stack))
    specs = {each.object_name: each.spec for each in state.all(custom("NodeSet"))}
    for name, row in blueprint(state).nodesets.items():
        spec = next(spec for resource, spec in specs.items() if resource.endswith(f"worker-{name}"))
        assert row["extraConf"] == (spec.get("extraConf") or "")
        assert row["partition"] == (spec.get("partition") or {})
        assert row["slurmd"]["resources"] == (spec["slurmd"].get("resources") or {})


def test_nothing_is_known_of_a_stack_before_its_first_update() -> None:
    assert blueprint(State()).cluster == ""
