"""Settings as types of Pulumi's package schema, from which SDKs for TypeScript, Go, C# and Java are generated.

They are made of the model's JSON schema, as docs/configuration.md is. No type has a default in the schema's own place: an
SDK would send it as if the program had set it, and `nodesetDefaults` gives only what a NodeSet leaves out. The text has it.
Each value can be an Output there. Which settings take one is decided where the cluster is made, and its error names them.

Source of the format: https://www.pulumi.com/docs/iac/guides/building-extending/packages/schema/
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from slinky_iac.config.stack import StackConfig

Schema = Mapping[str, Any]
Type = dict[str, Any]

ANY: Final[Schema] = {"$ref": "pulumi.json#/Any"}
FILLED: Final = frozenset({("Cluster", "name"), ("NodeSet", "replicas")})
"""Required in the end, and not in a program: the cluster's name is its resource's, and replicas come from
`nodesetDefaults` too, or have no place (DaemonSet mode)."""


def settings_types(module: str) -> tuple[dict[str, Type], dict[str, Type]]:
    """The properties that are sections, by name, and the types below them by token. ``module``: what tokens begin with,
    such as ``slinky:settings``."""
    model = StackConfig.model_json_schema(by_alias=True)
    sections = _properties(model, module)
    types = {f"{module}:{name}": _object(name, schema, module) for name, schema in model["$defs"].items()}
    return sections, types


def _object(name: str, schema: Schema, module: str) -> Type:
    required = [field_name for field_name in schema.get("required", ()) if (name, field_name) not in FILLED]
    made: Type = {
        "type": "object",
        "description": " ".join(schema["description"].split()),
        "properties": _properties(schema, module),
    }
    return made | ({"required": required} if required else {})


def _properties(schema: Schema, module: str) -> dict[str, Type]:
    return {name: _type(field, module) | _described(field) for name, field in schema["properties"].items()}


def _described(field: Schema) -> Type:
    """What a programmer sees over a field: its meaning, the words it takes, and its default."""
    said = [field["description"]] if "description" in field else []
    if words := _words(field):
        said.append(f"One of {', '.join(json.dumps(word) for word in words)}.")
    default = field.get("default")
    if default not in (None, "") and not isinstance(default, dict | list):
        said.append(f"Default: {json.dumps(default)}.")
    return {"description": " ".join(" ".join(said).split())} if said else {}


def _words(field: Schema) -> list[Any]:
    return [word for option in field.get("anyOf", [field]) for word in option.get("enum", ())]


def _type(field: Schema, module: str) -> Type:
    if "$ref" in field:
        return {"type": "object", "$ref": f"#/types/{module}:{field['$ref'].rpartition('/')[2]}"}
    if "anyOf" in field:
        return _one_of([option for option in field["anyOf"] if option.get("type") != "null"], module)
    kind = field.get("type")
    if isinstance(kind, list) and "boolean" not in kind:
        return _one_of([{"type": word} for word in kind], module)
    if kind == "array":
        return {"type": "array", "items": _type(field["items"], module)}
    if kind == "object":
        return {"type": "object", "additionalProperties": _of_values(field, module)}
    return {"type": kind} if isinstance(kind, str) else dict(ANY)


def _one_of(options: list[Schema], module: str) -> Type:
    first, *more = options
    return {"oneOf": [_type(option, module) for option in options]} if more else _type(first, module)


def _of_values(field: Schema, module: str) -> Type:
    """The type of a mapping's values."""
    patterns = [*field.get("patternProperties", {}).values()]
    inner = patterns[0] if patterns else field.get("additionalProperties")
    return _type(inner, module) if isinstance(inner, Mapping) else dict(ANY)
