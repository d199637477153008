"""The API server takes every spec we write: checked against the operator's own CRDs and Kubernetes' own field names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from pulumi._types import input_type_py_to_pulumi_names
from pulumi_kubernetes.core.v1 import ContainerArgs, PodSpecArgs, ServiceSpecArgs
from pulumi_kubernetes.discovery.v1 import EndpointSliceInitArgs

from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.workers import nodeset_spec
from tests.crds import CEL, SERVED, faults, nested_rules, spec_schema
from tests.rendering import custom_resources, services
from tests.stacks import FORMS, form, minimal
from tests.strategies import sound_configs
from tests.unit.examples import examples

KINDS = ("Accounting", "Controller", "RestApi", "NodeSet", "LoginSet")
SCHEMA_OF = {"1.0.1": "1.0.1", "1.0.2": "1.0.2", "1.1.0": "1.1.0"}
"""Releases of the random configurations whose CRDs can be had."""
CONTAINERS = {"slurmctld", "reconfigure", "logfile", "slurmdbd", "slurmrestd", "slurmd", "login", "initconf"}


def fields_of(kind: type) -> set[str]:
    return set(input_type_py_to_pulumi_names(kind).values())


POD, CONTAINER, SERVICE = fields_of(PodSpecArgs), fields_of(ContainerArgs), fields_of(ServiceSpecArgs)


def unchecked(spec: dict[str, Any]) -> dict[str, set[str]]:
    """Fields that the CRDs let pass unread and Kubernetes doesn't have: the operator would stumble over them."""
    found = {name: set(spec[name]) - CONTAINER for name in CONTAINERS & set(spec)}
    found["template"] = set(spec.get("template", {}).get("spec", {})) - POD
    found["service"] = set(spec.get("service", {}).get("spec", {})) - SERVICE
    return {where: names for where, names in found.items() if names}


@pytest.mark.parametrize("version", SERVED)
@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_what_the_crds_take(name: str, version: str) -> None:
    config = form(name, operator={"version": version, "webhook": None})
    said = {kind: faults(version, kind.split("/")[0], spec) for kind, spec in custom_resources(config).items()}
    assert {kind: found for kind, found in said.items() if found} == {}


@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(config=sound_configs())
def test_every_sound_configuration_is_what_the_api_server_takes(config: StackConfig) -> None:
    version = config.operator.version
    for kind, spec in custom_resources(config).items():
        assert unchecked(spec) == {}, kind
        if version in SCHEMA_OF:
            assert faults(version, kind.split("/")[0], spec) == [], kind
    for kind, body in services(config).items():
        assert set(body) <= (SERVICE if kind.startswith("Service/") else fields_of(EndpointSliceInitArgs)), kind


@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(config=sound_configs())
def test_every_container_has_an_image(config: StackConfig) -> None:
    """The operator defaults none: a container without one never starts."""
    wanted = {
        "Controller": set() if config.controller.external else {"slurmctld", "reconfigure", "logfile"},
        "Accounting": set() if config.accounting.external else {"slurmdbd"},
        "RestApi": {"slurmrestd"},
        "NodeSet": {"slurmd", "logfile"},
        "LoginSet": {"login", "initconf"},
    }
    for kind, spec in custom_resources(config).items():
        assert {name for name in CONTAINERS & set(spec) if spec[name]["image"]} == wanted[kind.split("/")[0]], kind


@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(config=sound_configs())
def test_a_nodeset_is_made_with_no_replicas(config: StackConfig) -> None:
    """Its gate raises them: a NodeSet that has pods has a gate."""
    for name in config.nodesets:
        assert nodeset_spec(config, name, config.nodesets[name])["replicas"] == 0


@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(config=sound_configs())
def test_references_carry_a_namespace_exactly_where_the_release_matches_on_it(config: StackConfig) -> None:
    has = config.operator.version in {"1.0.1", "1.0.2", "1.1.0"}
    for spec in custom_resources(config).values():
        for ref in (spec.get("controllerRef"), spec.get("accountingRef"), *spec.get("configFileRefs", ())):
            assert ref is None or ("namespace" in ref) is has


@pytest.mark.parametrize("version", SERVED)
@pytest.mark.parametrize("kind", KINDS)
def test_every_cel_rule_of_the_crds_is_known(kind: str, version: str) -> None:
    assert {rule for where, rule in nested_rules(spec_schema(version, kind)) if where != "spec" or rule not in CEL} == set()


@pytest.mark.parametrize(
    ("kind", "spec", "said"),
    [
        ("NodeSet", {}, "'controllerRef' is a required property"),
        ("NodeSet", {"controllerRef": {"name": "x"}, "replica": 1}, "'replica' was unexpected"),
        ("NodeSet", {"controllerRef": {"name": "x"}, "replicas": "1"}, "'1' is not of type 'integer'"),
        ("NodeSet", {"controllerRef": {"name": "x"}, "updateStrategy": {"type": "Recreate"}}, "is not one of"),
        ("Controller", {"external": True}, "externalConfig must be set when external is true"),
        ("Controller", {}, "slurmKeyRef must be set when external is false"),
        ("Accounting", {"slurmKeyRef": {"key": "k"}}, "jwtKeyRef or jwtHs256KeyRef must be set when external is false"),
    ],
)
def test_the_check_itself_refuses_what_the_api_server_would(kind: str, spec: dict[str, Any], said: str) -> None:
    assert any(said in fault for fault in faults("1.1.0", kind, spec))


def test_a_field_of_a_later_release_is_refused_by_the_schema_of_an_earlier() -> None:
    config = load(minimal(operator={"version": "1.1.0"}, nodesets={"gpu": {"replicas": 1}}))
    assert faults("1.0.1", "Controller", custom_resources(config)["Controller"]) != []
