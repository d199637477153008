"""Which settings a stack's file has, as `Definition.field` of the configuration reference: `NodeSet.tolerations`.

A test on the lab writes stacks' files; the recorder reads what is in them, so that no list of watched settings is kept by
hand (tests.runs).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import yaml

from slinky_iac.config.reference import targets
from slinky_iac.config.stack import PROJECT, StackConfig
from tests.stacks import ROOT

Schema = Mapping[str, Any]
TOP: Final = "StackConfig"
"""The definition of the whole file."""


@cache
def schema() -> Schema:
    """The JSON schema of a stack's settings."""
    return StackConfig.model_json_schema(by_alias=True)


def every() -> list[str]:
    """Every setting, in the order of the reference."""
    found = [(TOP, schema()), *sorted(schema()["$defs"].items())]
    return [f"{name}.{field}" for name, definition in found for field in definition.get("properties", {})]


def used(text: str) -> set[str]:
    """Settings that a file `Pulumi.<stack>.yaml` has; none where it can't be read (a test may want it so)."""
    try:
        config = yaml.safe_load(text)["config"]
        sections = {
            name.removeprefix(f"{PROJECT}:"): value for name, value in config.items() if name.startswith(f"{PROJECT}:")
        }
    except (yaml.YAMLError, TypeError, KeyError, AttributeError):
        return set()
    return set(_used(TOP, schema(), sections))


@cache
def of_the_lab() -> frozenset[str]:
    """Settings of Pulumi.dev.yaml: nearly every stack of the lab begins with them."""
    return frozenset(used((ROOT / "Pulumi.dev.yaml").read_text()))


def _used(name: str, definition: Schema, value: object) -> Iterator[str]:
    if not isinstance(value, Mapping):
        return
    for field, details in definition.get("properties", {}).items():
        if field in value:
            yield f"{name}.{field}"
            for target, chosen in targets(details):
                for inner in _inner(value[field], chosen=chosen):
                    yield from _used(target, schema()["$defs"][target], inner)


def _inner(value: object, *, chosen: bool) -> list[object]:
    if isinstance(value, list):
        return value
    return list(value.values()) if chosen and isinstance(value, Mapping) else [value]
