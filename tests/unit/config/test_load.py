"""The configuration becomes one value, or all its faults are named at once, and no fault shows a value that was a secret."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slinky_iac.config.reading.load import examined, load
from slinky_iac.config.resources import SecretReference
from slinky_iac.config.rules.sections import findings
from slinky_iac.config.stack import PROJECT, StackConfig, json_schema
from slinky_iac.errors import ConfigError
from tests.stacks import EXAMPLES, ROOT, minimal, read_yaml, sections
from tests.unit.examples import examples

SECRETS = frozenset({"slurmKey", "jwtKey", "databasePassword"})
SENTINEL = "tops3cret"


def faults(data: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(data)
    return list(caught.value.faults)


def outcome(data: dict[str, Any]) -> StackConfig | ConfigError:
    try:
        return load(data)
    except ConfigError as error:
        return error


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_every_example_stack_is_sound(path: Path) -> None:
    config = load(sections(path))
    assert [str(f) for f in findings(config, SECRETS) if f.level == "error"] == []


@functools.cache
def schema() -> dict[str, Any]:
    return json_schema()


@functools.cache
def schema_validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_every_example_stack_fits_the_editor_schema(path: Path) -> None:
    schema_validator().validate(read_yaml(path.read_text()))


def test_the_committed_editor_schema_is_current() -> None:
    committed = json.loads((ROOT / "docs" / "stack.schema.json").read_text())
    assert committed == schema(), "run `slinky schema > docs/stack.schema.json`"


def test_every_setting_has_a_description() -> None:
    schema = StackConfig.model_json_schema()
    bare = [
        f"{name}.{field}"
        for name, part in [*schema["$defs"].items(), ("StackConfig", schema)]
        for field, value in part.get("properties", {}).items()
        if "description" not in value
    ]
    assert bare == []


def test_all_faults_come_at_once_each_with_its_path() -> None:
    found = faults(
        {
            "cluster": {"nam": "lab"},
            "nodesets": {"gpu": {"replicas": "many"}, "GPU": {"replicas": 1}},
            "controller": {"external": {"host": "http://x", "port": 0}},
            "operator": {"version": "0.9.0"},
        }
    )
    assert [f.split(":")[0] for f in found] == [
        "cluster.nam",
        "operator.version",
        "controller.external.host",
        "controller.external.port",
        "nodesets.gpu.replicas",
        "nodesets.GPU",
    ]


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (minimal(nodeset={}), "nodeset: is not a setting; did you mean nodesets?"),
        (
            minimal(nodesets={"gpu": {"replicas": 1, "replica": 2}}),
            "nodesets.gpu.replica: is not a setting; did you mean replicas?",
        ),
        (minimal(nodesets={"gpu": {"replicas": 1.5}}), "nodesets.gpu.replicas: must be a whole number, got 1.5"),
        (minimal(nodesets={"gpu": {"replicas": -1}}), "nodesets.gpu.replicas: must be at least 0, got -1"),
        (
            minimal(nodesets=[1]),
            "nodesets: must be a mapping of names to settings, got a list: write, for example, slinky-iac:nodesets:"
            " {cpu: {replicas: 4}}",
        ),
        (
            minimal(nodesets={"gpu": 3}),
            "nodesets.gpu: must be a mapping of settings, got a number: write, for example, NAME: {replicas: 8}",
        ),
        ({}, "cluster: is missing and has no default"),
        (
            minimal(keys={"source": "made"}),
            "keys.source: must be one of 'generated', 'imported', 'existing' or 'external', got 'made'",
        ),
        (
            minimal(nodesets={"gpu": {"replicas": 1, "updateStrategy": {"maxUnavailable": "\u00b9%"}}}),
            "nodesets.gpu.updateStrategy: maxUnavailable is a number above 0 or a percentage from 1% to 100%",
        ),
        (
            minimal(slurmKey=SENTINEL),
            "slurmKey: is a secret in plain text. Remove it, and treat it as leaked: it is in the file, its history and what"
            " was shown of it. Daemons that run have this key, so don't make a new one now: import their own file, `slinky"
            " keys import slurm --file slurm.key`. Once the stack works, replace it: `slinky keys rotate slurm --plan`",
        ),
    ],
)
def test_a_fault_names_its_place_and_what_is_allowed(data: dict[str, Any], fault: str) -> None:
    assert faults(data) == [fault]


@pytest.mark.parametrize("name", ["Gpu", "gpu_1", "-gpu", "gpu-", "", "g" * 31, "all", "gpu.a", "gpu 1"])
def test_a_nodeset_name_that_slurm_or_kubernetes_cannot_hold_is_refused(name: str) -> None:
    (fault,) = faults(minimal(nodesets={name: {"replicas": 1}}))
    assert fault.startswith(f"nodesets.{name}" if name else "nodesets")


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("2d12h", 216000), (7, 7)])
def test_durations_are_seconds(text: object, seconds: int) -> None:
    config = load(minimal(nodesets={"gpu": {"replicas": 1, "drain": {"deadline": text}}}))
    assert config.nodesets["gpu"].drain.deadline == seconds


def test_a_nodesets_own_drain_settings_win_over_the_stacks() -> None:
    config = load(
        minimal(drain={"deadline": 5}, nodesets={"a": {"replicas": 1}, "b": {"replicas": 1, "drain": {"deadline": 7}}})
    )
    assert (config.drain_of("a").deadline, config.drain_of("b").deadline) == (5, 7)


def test_the_value_is_frozen() -> None:
    config = load(minimal())
    with pytest.raises(Exception, match="frozen"):
        config.cluster.name = "other"  # type: ignore[misc]


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_PATHS = [
    ("cluster", "name"),
    ("cluster", "images"),
    ("operator", "version"),
    ("operator", "values"),
    ("keys", "source"),
    ("controller", "external"),
    ("controller", "extraConf"),
    ("accounting", "database"),
    ("nodesets", "gpu"),
    ("partitions", "all"),
    ("external", "slurmdHosts"),
    ("logins", "main"),
    ("drain", "deadline"),
]


@settings(max_examples=examples(500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(where=st.sampled_from(_PATHS), value=_PLAIN)
def test_a_broken_configuration_is_never_a_traceback(where: tuple[str, str], value: object) -> None:
    data = minimal()
    section = dict(data.get(where[0], {}))  # type: ignore[call-overload]
    data[where[0]] = section | {where[1]: value}
    found = outcome(data)
    if isinstance(found, StackConfig):
        findings(found, frozenset())
    else:
        assert all(": " in fault for fault in found.faults)


@pytest.mark.parametrize("where", _PATHS, ids=".".join)
@pytest.mark.parametrize(
    "wrap", [lambda s: s, lambda s: [s], lambda s: {"x": s}], ids=["itself", "in a list", "in a mapping"]
)
def test_a_value_of_a_wrong_type_is_not_shown(where: tuple[str, str], wrap: Any) -> None:
    """Texts of our own validators show names and hosts, so only shapes that no validator reads are promised silence."""
    value = wrap({"deep": SENTINEL})
    data = minimal()
    data[where[0]] = dict(data.get(where[0], {})) | {where[1]: value}  # type: ignore[call-overload]
    found = outcome(data)
    assert isinstance(found, StackConfig) or SENTINEL not in str(found)


def test_the_project_name_is_the_namespace_of_the_configuration() -> None:
    assert read_yaml((ROOT / "Pulumi.yaml").read_text())["name"] == PROJECT


def test_a_number_without_end_where_a_text_is_meant_is_a_fault_as_others() -> None:
    with pytest.raises(ConfigError, match=r"cluster\.slurmVersion: got a number of many digits"):
        load(minimal(cluster={"name": "lab", "slurmVersion": 10**400}))


DEFAULTS = {
    "replicas": 1,
    "resources": {"cpus": 8, "memory": "32Gi"},
    "pod": {"nodeSelector": {"pool": "hpc"}, "labels": {"a": "1"}},
}


def test_defaults_are_laid_under_each_nodeset_and_login_set() -> None:
    own = {"resources": {"cpus": 4}, "pod": {"nodeSelector": {"pool": "gpu", "zone": "b"}}, "features": ["x"]}
    nodesets = {"cpu": {}, "gpu": own}
    found = load(
        minimal(
            nodesetDefaults=DEFAULTS | {"features": ["y", "z"]},
            nodesets=nodesets,
            loginDefaults={"sssdConfFrom": {"secret": "s"}},
            logins={"l": {}},
        )
    )
    cpu, gpu = found.nodesets["cpu"], found.nodesets["gpu"]
    assert (cpu.replicas, cpu.resources.cpus, cpu.features, dict(cpu.pod.node_selector)) == (
        1,
        "8",
        ("y", "z"),
        {"pool": "hpc"},
    )
    assert (gpu.replicas, gpu.resources.cpus, gpu.resources.memory, gpu.features) == (1, "4", "32Gi", ("x",))
    assert (gpu.pod.node_selector, gpu.pod.labels) == ({"pool": "gpu", "zone": "b"}, {"a": "1"})
    assert found.logins["l"].sssd_conf_from == SecretReference(secret="s")


def test_defaults_of_drain_hold_as_each_nodesets_own() -> None:
    data = minimal(drain={"deadline": 5}, nodesetDefaults={"drain": {"deadline": "2h"}}, nodesets={"a": {"replicas": 1}})
    assert load(data).drain_of("a").deadline == 7200
    assert load(minimal(drain={"deadline": 5}, nodesets={"a": {"replicas": 1}})).drain_of("a").deadline == 5


def test_a_fault_of_the_defaults_is_named_once_where_it_stands() -> None:
    data = minimal(nodesetDefaults={"resources": {"cpu": 8}}, nodesets={"a": {"replicas": 1}, "b": {"replicas": 1}})
    found, faults = examined(data)
    assert found is None
    assert [each.path for each in faults] == ["nodesetDefaults.resources.cpu"]


def test_defaults_alone_make_no_nodeset() -> None:
    assert load(minimal(nodesetDefaults=DEFAULTS)).nodesets == {}


def test_a_nodeset_still_names_its_replicas_where_the_defaults_do_not() -> None:
    found, faults = examined(minimal(nodesetDefaults={"features": ["x"]}, nodesets={"a": {}}))
    assert found is None
    assert [each.path for each in faults] == ["nodesets.a.replicas"]
