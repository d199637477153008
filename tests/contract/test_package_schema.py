"""The component package's schema: what Pulumi's generators of SDKs need of it, and what the example programs name in it.

The generators themselves come with Pulumi's language hosts, which no registry serves (docs/adr/0031-other-languages.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from components.package import NAMESPACE, TOKEN, schema
from slinky_iac.config.package_types import FILLED
from slinky_iac.config.stack import StackConfig
from tests.stacks import ROOT

SCHEMA = schema()
INPUTS: dict[str, Any] = SCHEMA["resources"][TOKEN]["inputProperties"]
TYPES: dict[str, Any] = {token.rpartition(":")[2]: each for token, each in SCHEMA["types"].items()}
EXAMPLES = ROOT / "examples" / "other-languages"
WORDS = """
abstract assert boolean break byte case catch char class const continue default do double else enum extends final
finally float for goto if implements import instanceof int interface long native new package private protected public
return short static strictfp super switch synchronized this throw throws transient try void volatile while true false
null var builder clone equals finalize getClass hashCode notify notifyAll toString wait
"""
JAVA = frozenset(WORDS.split())
"""Words of Java, and methods of its objects: the generator writes a `_` behind such a property. In C# and Go a property
begins with a capital letter; TypeScript allows any word."""
NOT_MENDED = {"build", "empty"}
"""Methods of Java's generated classes that the generator leaves to clash."""


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Each mapping within a part of the schema."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nodes(inner)


def properties() -> Iterator[tuple[str, str, dict[str, Any]]]:
    yield from (("HybridCluster", name, each) for name, each in INPUTS.items())
    for kind, each in TYPES.items():
        yield from ((kind, name, field) for name, field in each["properties"].items())


def test_each_reference_leads_to_a_type() -> None:
    found = {each["$ref"] for each in nodes([INPUTS, SCHEMA["types"]]) if isinstance(each.get("$ref"), str)}
    assert found - {"pulumi.json#/Any"} == {f"#/types/{token}" for token in SCHEMA["types"]}


def test_each_property_is_a_name_in_every_language() -> None:
    for kind, name, _ in properties():
        assert re.fullmatch("[a-z][A-Za-z0-9]*", name), (kind, name)
        assert name not in NOT_MENDED, (kind, name)
    changed = {(kind, name) for kind, name, _ in properties() if name in JAVA}
    assert changed == {("Keys", "wait"), ("Topology", "default")}, (
        "docs/own-repository.md names what is called otherwise in Java"
    )
    for each in [INPUTS, *(every["properties"] for every in TYPES.values())]:
        assert len({name.lower() for name in each}) == len(each)


def test_each_property_has_a_type_and_says_what_it_is() -> None:
    for kind, name, each in properties():
        assert "type" in each or "oneOf" in each or each.get("$ref") == "pulumi.json#/Any", (kind, name)
        assert each.get("description"), (kind, name)


def test_no_sdk_sends_a_default_as_if_the_program_had_set_it() -> None:
    assert [name for _, name, each in properties() if "default" in each] == []


def test_what_is_required_is_required_by_the_model_and_filled_by_nothing_else() -> None:
    model = StackConfig.model_json_schema(by_alias=True)["$defs"]
    for kind, each in TYPES.items():
        wanted = set(model[kind].get("required", ())) - {name for of, name in FILLED if of == kind}
        assert set(each.get("required", ())) == wanted, kind
    assert all(name in model[kind]["required"] for kind, name in FILLED), "nothing is left out that isn't required"


@pytest.mark.parametrize(
    ("kind", "name", "wanted"),
    [
        ("NodeSet", "replicas", {"type": "integer"}),
        ("Resources", "cpus", {"oneOf": [{"type": "string"}, {"type": "number"}]}),
        ("Resources", "extended", {"type": "object", "additionalProperties": {"type": "integer"}}),
        ("Drain", "deadline", {"oneOf": [{"type": "integer"}, {"type": "string"}]}),
        ("DrainLimits", "maxJobs", {"type": "integer"}),
        ("NodeSet", "extraConf", {"type": "object", "additionalProperties": {"$ref": "pulumi.json#/Any"}}),
        ("NodeSet", "drain", {"type": "object", "$ref": "#/types/slinky:settings:Drain"}),
        ("Passwd", "groups", {"type": "object", "additionalProperties": {"type": "integer"}}),
    ],
)
def test_a_setting_has_the_type_that_the_model_takes(kind: str, name: str, wanted: dict[str, Any]) -> None:
    field = TYPES[kind]["properties"][name]
    assert {key: each for key, each in field.items() if key != "description"} == wanted


def test_a_description_has_the_words_and_the_default() -> None:
    said = TYPES["Drain"]["properties"]["onDeadline"]["description"]
    assert 'One of "keep", "undo", "requeue", "cancel". Default: ' in said


def test_no_sdk_is_in_a_scope_of_somebody_else_s() -> None:
    assert SCHEMA["namespace"] == NAMESPACE
    assert SCHEMA["language"]["go"]["importBasePath"].startswith("example.com/")


def test_the_package_says_where_a_python_program_gets_the_cluster() -> None:
    assert "`import slinky_iac`" in SCHEMA["description"]
    assert SCHEMA["language"]["python"]["readme"] in SCHEMA["description"]


@pytest.mark.parametrize("language", ["typescript", "go"])
def test_an_example_names_the_package_and_its_python(language: str) -> None:
    project = yaml.safe_load((EXAMPLES / language / "Pulumi.yaml").read_text())
    assert project["packages"] == {"slinky": "./slinky"}
    assert project["runtime"]["options"]["virtualenv"] == "slinky/venv"


def test_the_example_in_go_names_types_and_fields_that_there_are() -> None:
    text = (EXAMPLES / "go" / "main.go").read_text()
    fields = {kind: {name[0].upper() + name[1:] for name in each["properties"]} for kind, each in TYPES.items()}
    used = set(re.findall(r"settings\.(\w+)Args\b", text))
    assert used <= set(fields)
    assert len(used) > 3
    known = {name[0].upper() + name[1:] for name in INPUTS}.union(*(fields[kind] for kind in used))
    assert set(re.findall(r"\b([A-Z]\w*):", text)) <= known


def test_the_example_in_typescript_names_properties_that_there_are() -> None:
    text = re.sub(r"//.*", "", (EXAMPLES / "typescript" / "index.ts").read_text())
    own = {"cpu", "gpu"}
    known = {name for _, name, _ in properties()}
    assert set(re.findall(r"\b([a-z]\w*):", text)) - own <= known
    assert set(re.findall(r"atlas\.(\w+)", text)) <= set(SCHEMA["resources"][TOKEN]["properties"])
