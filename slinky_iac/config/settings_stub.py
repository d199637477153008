"""slinky_iac/settings.pyi: the sections of the configuration as types of mappings, for type checkers and editors.

Made from the JSON schema of a stack and the table of what an Output can give, so a program's names and Outputs are checked
while it is written, and no list of settings is kept by hand.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

from pydantic.alias_generators import to_snake

import slinky_iac
from slinky_iac.config.outputs import ADDRESS, HOST, NAME
from slinky_iac.config.stack import StackConfig

HEAD: Final = '''"""Sections of the configuration as types of mappings. `slinky docs configuration` says what each one is.

Made by `python -m slinky_iac reference settings`; a test keeps it current. Change slinky_iac/config, not this file.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from pulumi import Input

from slinky_iac.components.inputs import Address
'''
_PLAIN: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_ROOT: Final = "Stack"


def type_name(model: str) -> str:
    """The name of a section's type: ``NodeSet`` is ``NodeSetSettings``."""
    return model if model.endswith("Settings") else f"{model}Settings"


def stub() -> str:
    """The whole file, ending with a line break."""
    schema = StackConfig.model_json_schema(by_alias=True)
    models = {_ROOT: schema, **dict(sorted(schema["$defs"].items()))}
    places = _places(models)
    takes = import_module(f"{slinky_iac.HybridCluster.__module__.rpartition('.')[0]}.takes")
    hosts = {HOST, NAME, ADDRESS}

    def form(model: str, *name: str) -> str:
        """How the type of a setting, or of what it holds by name, is written: with what an Output is taken for."""
        kinds = {kind for place in places[model] if (kind := takes.kind_of(".".join((*place, *name))))}
        return "Input[{}] | Address" if kinds & hosts else "Input[{}]" if kinds else "{}"

    def section(model: str) -> Iterator[str]:
        yield f"class {type_name(model)}(TypedDict, total=False):"
        for name, what in models[model]["properties"].items():
            yield f"    {to_snake(name)}: {_type(what, form(model, name), form(model, name, '*'))}"
            yield from _said(what.get("description", ""))

    return HEAD + "".join("\n" + "\n".join(section(model)) + "\n" for model in models)


def _type(what: Mapping[str, Any], form: str, inner: str) -> str:
    """A type of Python for what a schema says; ``inner``: the form of what a list or a mapping holds."""
    if "$ref" in what:
        return type_name(what["$ref"].rpartition("/")[2])
    if "anyOf" in what:
        return " | ".join(dict.fromkeys(_type(choice, form, inner) for choice in what["anyOf"]))
    if "enum" in what:
        return f"Literal[{', '.join(map(json.dumps, what['enum']))}]"
    kinds = what.get("type", ())
    if kinds == "array":
        return f"Sequence[{_type(what.get('items', {}), inner, '{}')}]"
    if kinds == "object":
        return f"Mapping[str, {_type(_values(what), inner, '{}')}]"
    plain = [kinds] if isinstance(kinds, str) else kinds
    return " | ".join((form if kind != "null" else "{}").format(_PLAIN[kind]) for kind in plain) or "Any"


def _said(description: str) -> list[str]:
    """The setting's description below it, which editors show beside the name."""
    text = " ".join(description.replace("\\", "\\\\").split())
    return textwrap.wrap(f'"""{text}"""', 120, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def _values(what: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a mapping of free names holds."""
    schema: object = what.get("additionalProperties") or next(iter(what.get("patternProperties", {}).values()), {})
    return schema if isinstance(schema, Mapping) else {}


def _places(models: Mapping[str, Any]) -> dict[str, list[tuple[str, ...]]]:
    """By section, the paths where it stands: ``*`` for a name or a number of a list."""
    places: dict[str, list[tuple[str, ...]]] = {model: [] for model in models}

    def below(what: Mapping[str, Any], path: tuple[str, ...]) -> None:
        if "$ref" in what:
            walk(what["$ref"].rpartition("/")[2], path)
        for choice in what.get("anyOf", ()):
            below(choice, path)
        if what.get("type") == "array":
            below(what.get("items", {}), (*path, "*"))
        if what.get("type") == "object":
            below(_values(what), (*path, "*"))

    def walk(model: str, path: tuple[str, ...]) -> None:
        places[model].append(path)
        for name, what in models[model]["properties"].items():
            below(what, (*path, name))

    walk(_ROOT, ())
    return places
