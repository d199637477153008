"""What every component promises, checked over all of them: its type, its arguments, its children and its outputs."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Iterator
from typing import Any

import pulumi
import pytest

import components
from slinky_iac.parts.registry import PARTS
from tests import parts
from tests.clusters import MUNGE, all_traces, recorded
from tests.clusters import STACKS as WITH_SLINKY
from tests.program import Recording, Registered, Secret
from tests.stacks import networks

TOKENS = {
    "Accounting": "slinky:slurm:Accounting",
    "AuthKeys": "slinky:slurm:AuthKeys",
    "Client": "slinky:slurm:Client",
    "Controller": "slinky:slurm:Controller",
    "ExternalEndpoints": "slinky:slurm:ExternalEndpoints",
    "HybridCluster": "slinky:slurm:HybridCluster",
    "LoginSet": "slinky:slurm:LoginSet",
    "MungeClients": "slinky:slurm:MungeClients",
    "NetworkPolicies": "slinky:slurm:NetworkPolicies",
    "NodeSet": "slinky:slurm:NodeSet",
    "Operator": "slinky:slurm:Operator",
    "PartGates": "slinky:slurm:NodeTable",
    "PartObjects": "slinky:slurm:Fence",
    "RestApi": "slinky:slurm:RestApi",
}
"""Part of every URN in users' state files: a change needs an alias."""
OF_PARTS = {f"slinky:slurm:{part.component}" for part in PARTS}
"""Types of components that parts fill; a test of each part pins its own."""
BLUEPRINT = "slinky:slurm:Blueprint"
"""Type of the component that has the blueprint as its outputs; commands find it in states by this."""
PEOPLE = {"people": {"alice": {"uid": 2001, "gid": 2001}}, "deployment": {"person": "alice"}}
LOGINS = {"main": {"sssdConfFrom": {"secret": "sssd"}}}
STACKS = (*WITH_SLINKY, MUNGE)
every_stack = pytest.mark.parametrize("stack", STACKS)
every_component = pytest.mark.parametrize("name", TOKENS)


CLIENTS = {"jupyter": {"namespace": "notebooks", "image": "client:1"} | PEOPLE}


def whole(stack: str, *, again: bool = False) -> Recording:
    over = {} if stack == MUNGE else {"logins": LOGINS, **networks(stack), **parts.whole()}
    return recorded(stack, again=again, clients=CLIENTS, **over)


def exported() -> dict[str, type]:
    return {name: value for name, value in vars(components).items() if isinstance(value, type)}


def public_outputs(component: type) -> set[str]:
    return {
        n for n, hint in component.__annotations__.items() if hint.startswith("pulumi.Output[") and not n.startswith("_")
    }


def texts(value: Any) -> Iterator[str]:
    """Every text that would be in state or previews in the clear."""
    if isinstance(value, Secret):
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    else:
        yield str(value)


def test_the_package_exports_every_component_and_its_arguments() -> None:
    found = exported()
    assert {n for n, c in found.items() if issubclass(c, pulumi.ComponentResource)} == set(TOKENS)
    assert set(found) - set(TOKENS) == {f"{name}Args" for name in TOKENS}


@every_component
def test_arguments_are_a_frozen_dataclass_given_by_name(name: str) -> None:
    args = exported()[f"{name}Args"]
    params = args.__dataclass_params__  # type: ignore[attr-defined]
    assert dataclasses.is_dataclass(args)
    assert params.frozen
    assert all(field.kw_only for field in dataclasses.fields(args))


@every_component
def test_a_component_takes_name_arguments_and_options(name: str) -> None:
    component = exported()[name]
    parameters = inspect.signature(component.__init__).parameters  # type: ignore[misc]
    assert list(parameters) == ["self", "name", "args", "opts"]
    assert typing.get_type_hints(component.__init__)["args"] is exported()[f"{name}Args"]  # type: ignore[misc]


@every_component
def test_the_type_token_is_pinned(name: str) -> None:
    seen = {r.type for stack in STACKS for r in whole(stack).resources if not r.custom}
    assert TOKENS[name] in seen
    assert seen <= {*TOKENS.values(), *OF_PARTS, BLUEPRINT}


@every_component
def test_registered_outputs_are_the_public_ones(name: str) -> None:
    for stack in STACKS:
        recording = whole(stack)
        for resource in recording.of(TOKENS[name]):
            assert set(recording.outputs[resource.urn]) == public_outputs(exported()[name])


@every_stack
def test_every_resource_has_a_component_of_ours_for_parent(stack: str) -> None:
    recording = whole(stack)
    ours = {r.urn for r in recording.resources if r.type in {*TOKENS.values(), *OF_PARTS}}
    (cluster,) = recording.of(TOKENS["HybridCluster"])
    orphans = [r.name for r in recording.resources if r.parent not in ours and r is not cluster]
    assert orphans == []


@every_stack
def test_no_two_resources_have_one_urn_or_one_kubernetes_name(stack: str) -> None:
    resources = whole(stack).resources
    assert len({r.urn for r in resources}) == len(resources)
    metas = [(r.type, r.inputs["metadata"].get("namespace"), r.inputs["metadata"]["name"]) for r in kubernetes(resources)]
    assert len(set(metas)) == len(metas)


def kubernetes(resources: list[Registered]) -> list[Registered]:
    return [r for r in resources if r.type.startswith("kubernetes:") and "metadata" in r.inputs]


@every_stack
def test_every_kubernetes_resource_uses_the_clusters_provider(stack: str) -> None:
    """A default provider would follow the shell's current context, not the configuration's."""
    recording = whole(stack)
    (provider,) = recording.of("pulumi:providers:kubernetes")
    strays = [r.name for r in recording.resources if r.type.startswith("kubernetes:") and provider.urn not in r.provider]
    assert strays == []


@every_stack
def test_no_secret_is_registered_in_the_clear(stack: str) -> None:
    recording = whole(stack)
    shown = "\n".join(
        [text for r in recording.resources for text in (*texts(r.inputs), r.name)]
        + [text for outputs in recording.outputs.values() for text in texts(outputs)]
    )
    assert [trace for trace in all_traces() if trace in shown] == []


@every_stack
def test_secrets_are_there_to_be_found(stack: str) -> None:
    """The search above means something: the same values do stand inside what is sent as a secret."""
    hidden = "\n".join(repr(value.value) for r in whole(stack).resources for value in secrets_in(r.inputs))
    assert any(trace in hidden for trace in all_traces())


def secrets_in(value: Any) -> Iterator[Secret]:
    if isinstance(value, Secret):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from secrets_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from secrets_in(inner)


@pytest.mark.parametrize("stack", ["all-in-kubernetes", "all-outside", MUNGE])
def test_two_runs_of_a_program_register_the_same(stack: str) -> None:
    def content(recording: Recording) -> dict[str, dict[str, Any]]:
        return {r.urn: r.inputs for r in recording.resources}

    assert content(whole(stack)) == content(whole(stack, again=True))
