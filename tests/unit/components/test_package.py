"""The package for other languages makes the cluster that a Python program makes, and serves its engine alone."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi import Output

from components.hybrid_cluster import EXPORTS
from components.package import TOKEN, Package, arguments, made, schema
from components.program_parts import HybridCluster
from slinky_iac.config.reading.engine import ARGUMENTS
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import PluginRefused
from tests.clusters import SECRETS
from tests.program import Recording, configured, run

SECTIONS: dict[str, Any] = {
    "cluster": {"maxNodeCount": 64},
    "controller": {"extraConf": {"MaxJobCount": 5000}},
    "accounting": {"database": {"host": "db.example.org"}},
    "nodesets": {"gpu": {"replicas": 2, "resources": {"cpus": 8}}},
    "drain": {"deadline": 600},
}
OWN = ("cluster", "controller", "accounting", "nodesets", "drain")


def recorded(program: Any) -> Recording:
    with configured({}, {"databasePassword": SECRETS["databasePassword"]}):
        return run(program)


def as_sent(value: Any) -> Any:
    """As gRPC brings it to a plugin."""
    if isinstance(value, dict):
        return {name: as_sent(each) for name, each in value.items()}
    return float(value) if isinstance(value, int) else value


def test_it_registers_what_a_python_program_registers() -> None:
    sent = as_sent({**SECTIONS, "nodesetDefaults": {"resources": {"memory": "4Gi"}}})
    ours = recorded(lambda: made("atlas", sent))
    python = recorded(
        lambda: HybridCluster("atlas", **SECTIONS, more={"nodesetDefaults": {"resources": {"memory": "4Gi"}}}, export=False)
    )
    assert len(python.of("NodeSetScale")) == 1
    assert {each.urn: each.inputs for each in ours.resources} == {each.urn: each.inputs for each in python.resources}
    assert ours.one(TOKEN).type == TOKEN


def test_each_property_reaches_the_cluster() -> None:
    properties = schema()["resources"][TOKEN]["inputProperties"]
    hosts = {"slurmctld", "slurmctldAddress", "slurmdbd", "slurmdbdAddress"}
    sections = {field.alias or name for name, field in StackConfig.model_fields.items()}
    assert set(properties) == {*hosts, *ARGUMENTS, *sections}
    assert all(properties[name]["secret"] for name in ARGUMENTS)
    given = arguments({name: f"value of {name}" for name in properties if name not in hosts})
    assert {*given["more"], *given} - {"more"} == {*sections, *ARGUMENTS.values()}
    assert not {*OWN} & {*given["more"]}
    assert {name: given[argument] for name, argument in ARGUMENTS.items()} == {n: f"value of {n}" for n in ARGUMENTS}


def test_an_output_that_is_an_address_comes_by_a_property_of_its_own() -> None:
    sent = {"slurmctldAddress": Output.from_input("10.1.2.3"), "nodesets": {"cpu": {"replicas": 1.0}}}
    sent |= {"keys": {"source": "imported"}, "accounting": {"enabled": False}}
    with configured({}, {name: SECRETS[name] for name in ("slurmKey", "jwtKey")}):
        recording = run(lambda: made("atlas", sent))
    controller = recording.one("kubernetes:slinky.slurm.net/v1beta1:Controller")
    assert controller.inputs["spec"]["externalConfig"]["host"] == "10.1.2.3"


def test_outputs_of_a_python_program_are_those_of_the_package() -> None:
    properties = schema()["resources"][TOKEN]["properties"]
    assert set(properties) == set(EXPORTS)
    kinds = {name: {key: each[key] for key in each if key != "description"} for name, each in properties.items()}
    assert kinds["nodesets"] == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert kinds["slurmdJoin"] == {"type": "string"}
    assert kinds["findings"] == {"type": "array", "items": {"type": "string"}}
    assert all(each["description"] for each in properties.values())
    assert set(schema()["resources"][TOKEN]["required"]) == set(properties)


def test_who_is_not_the_engine_is_refused_before_anything_is_read() -> None:
    with pytest.raises(PluginRefused, match="doesn't come from the pulumi process"):
        Package().construct("atlas", TOKEN, {"no such setting": 1.0})
