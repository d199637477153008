"""The operator's own CRD schemas, from its Go modules, as strict JSON schemas: what the API server would refuse is refused.

A schema's unknown fields are pruned or refused by the API server depending on the client; here they are always refused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jsonschema
import yaml

from lab.charts import CHECKSUMS, crd_dir

SERVED = tuple(CHECKSUMS)
"""Releases whose CRDs can be had: the module proxy serves no later one. One that can't be had fails, it isn't skipped."""

Spec = Mapping[str, Any]


def _has_jwt(spec: Spec) -> bool:
    return "jwtKeyRef" in spec or "jwtHs256KeyRef" in spec


CEL: dict[str, Callable[[Spec], bool]] = {
    "!self.external ? has(self.slurmKeyRef) : true": lambda s: bool(s.get("external")) or "slurmKeyRef" in s,
    "!self.external ? has(self.jwtHs256KeyRef) : true": lambda s: bool(s.get("external")) or "jwtHs256KeyRef" in s,
    "!self.external ? has(self.jwtKeyRef) || has(self.jwtHs256KeyRef) : true": lambda s: (
        bool(s.get("external")) or _has_jwt(s)
    ),
    "self.external ? has(self.externalConfig) : true": lambda s: not s.get("external") or "externalConfig" in s,
}
"""The CEL rules of the CRDs, translated by hand. A rule that isn't here fails the test that meets it."""


@functools.cache
def spec_schema(version: str, kind: str) -> dict[str, Any]:
    """The schema of ``spec`` of one kind, as the CRD has it."""
    path = crd_dir(version) / f"slinky.slurm.net_{kind.lower()}s.yaml"
    crd = yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    (served,) = [v for v in crd["spec"]["versions"] if v["name"] == "v1beta1"]
    schema: dict[str, Any] = served["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return schema


def faults(version: str, kind: str, spec: Spec) -> list[str]:
    """All that the API server (or strict field validation) would say against ``spec``."""
    errors = _validator(version, kind).iter_errors(spec)
    said = [f"{'.'.join(map(str, e.absolute_path))}: {e.message}" for e in errors]
    for rule in spec_schema(version, kind).get("x-kubernetes-validations", ()):
        if not CEL[" ".join(rule["rule"].split())](spec):
            said.append(str(rule["message"]))
    return said


@functools.cache
def _validator(version: str, kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(strict(spec_schema(version, kind)))


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A structural schema as JSON schema that refuses undeclared fields, also of values of unknown later releases."""
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    if schema.get("x-kubernetes-preserve-unknown-fields") and "properties" not in schema:
        return {"type": schema["type"]} if "type" in schema else {}
    kept = {k: v for k, v in schema.items() if k in {"type", "enum", "pattern", "minimum", "maximum", "required"}}
    if "properties" in schema:
        kept["properties"] = {name: strict(inner) for name, inner in schema["properties"].items()}
        kept["additionalProperties"] = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if isinstance(schema.get("additionalProperties"), Mapping):
        kept["additionalProperties"] = strict(schema["additionalProperties"])
    if "items" in schema:
        kept["items"] = strict(schema["items"])
    return kept


def nested_rules(schema: Mapping[str, Any], path: str = "spec") -> Iterator[tuple[str, str]]:
    """Every CEL rule of a schema with its place."""
    for rule in schema.get("x-kubernetes-validations", ()):
        yield path, " ".join(rule["rule"].split())
    for name, inner in schema.get("properties", {}).items():
        yield from nested_rules(inner, f"{path}.{name}")
    if isinstance(schema.get("items"), Mapping):
        yield from nested_rules(schema["items"], f"{path}[]")
