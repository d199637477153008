"""The list of objects is what a whole program registers: no more, no less, each with its namespace and its spec."""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.blueprint.objects import objects
from slinky_iac.config.adopted import KINDS
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.adopted import own_objects
from tests.clusters import MUNGE, STACKS, recorded, stack_sections
from tests.parts import whole
from tests.stacks import merged, networks, without_networks

CHARTS = {"Release", "CustomResourceDefinition"}
PEOPLE = {"people": {"alice": {"uid": 2001, "gid": 2001}}, "deployment": {"person": "alice"}}
EVERYTHING: dict[str, Any] = {
    "cluster": {"quota": {"pods": 99}},
    "keys": {"tokens": "rs256"},
    "logins": {"main": {"sssdConfFrom": {"secret": "sssd"}}},
    "clients": {"ci": {"namespace": "ci", **PEOPLE}},
    "identity": {"passwd": {"users": {"carol": {"uid": 3001, "gid": 3001}}}},
}
TLS = {
    "generated": {"source": "generated", "since": "2026-01-01"},
    "cert-manager": {"source": "cert-manager", "issuer": {"name": "site"}},
    "existing": {"source": "existing", "secret": "rest-cert"},
}


def same(stack: str, over: dict[str, Any]) -> None:
    recording = recorded(stack, **over)
    config = load(merged(without_networks(stack_sections(stack)), over))
    registered = {}
    for each in recording.resources:
        kind = each.type.rsplit(":", 1)[-1]
        if each.type.startswith("kubernetes:") and kind not in CHARTS:
            meta = each.inputs["metadata"]
            registered[kind, meta.get("namespace"), meta["name"]] = each
    listed = {(each.kind, each.space(config.cluster.namespace), each.name): each for each in objects(config)}
    charts = {("Namespace", None, config.operator.namespace)} if config.installs_operator else set()
    assert registered.keys() - charts == listed.keys()
    for key, each in listed.items():
        found = registered[key]
        assert found.name.endswith(each.logical)
        if "spec" in each.body and "watched" not in each.name:
            assert found.inputs["spec"] == each.body["spec"]


@pytest.mark.parametrize("stack", STACKS)
def test_a_program_registers_the_objects_of_the_list_and_no_others(stack: str) -> None:
    same(stack, {})
    same(stack, merged(whole(), {**EVERYTHING, **networks(stack)}))


@pytest.mark.parametrize("source", TLS)
def test_so_it_is_with_each_certificate_of_slurmrestd(source: str) -> None:
    same("controller-outside", {"restapi": {"tls": TLS[source]}})


@pytest.mark.parametrize("munge", [{}, {"image": "registry.example.org/munge:1"}])
def test_so_it_is_for_the_clients_of_a_munge_cluster(munge: dict[str, str]) -> None:
    same(MUNGE, {"munge": munge})


@pytest.mark.parametrize("stack", STACKS)
def test_what_a_stack_may_take_over_is_what_it_makes(stack: str) -> None:
    config = load(merged(without_networks(stack_sections(stack)), {"logins": {"main": {}}}))
    assert sorted(own_objects(config)) == sorted(
        f"{each.kind} {each.name}" for each in objects(config) if each.kind in KINDS
    )
