"""`python -m lab.kubernetes_table swagger.json`: fields of pods and Services, for config/kubernetes/types.json.

The argument is what ``kubectl get --raw /openapi/v2`` prints of a cluster, or ``api/openapi-spec/swagger.json`` of
Kubernetes' sources. Printed of each type that a PodSpec or a ServiceSpec can hold: its fields and what each takes (a type,
``[type]``, ``{type}``, string, integer, number, boolean, quantity or intOrString), which of them are required, and the
values of those that are one of a few.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

ROOTS: Final = ("PodSpec", "ServiceSpec")
_CORE: Final = "io.k8s.api.core.v1."
_SCALARS: Final = {"Quantity": "quantity", "IntOrString": "intOrString", "Time": "string", "MicroTime": "string"}


def table(definitions: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """``types``, ``required`` and ``enums`` by type, of the roots and of all that they refer to."""
    found: dict[str, dict[str, str]] = {}
    required: dict[str, list[str]] = {}
    enums: dict[str, dict[str, list[str]]] = {}
    waiting = [f"{_CORE}{root}" for root in ROOTS]
    while waiting:
        name = waiting.pop()
        short = name.rpartition(".")[2]
        if short in found:
            continue
        found[short] = {}
        if needed := definitions[name].get("required"):
            required[short] = sorted(needed)
        for field, schema in definitions[name].get("properties", {}).items():
            found[short][field] = _kind(schema, waiting)
            if values := schema.get("items", schema).get("enum"):
                enums.setdefault(short, {})[field] = values
    return {"enums": enums, "required": required, "types": found}


def _kind(schema: dict[str, Any], waiting: list[str]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        short = name.rpartition(".")[2]
        if short in _SCALARS:
            return _SCALARS[short]
        waiting.append(name)
        return str(short)
    kind = schema.get("type", "any")
    if kind == "array":
        return f"[{_kind(schema['items'], waiting)}]"
    if kind == "object":
        return f"{{{_kind(schema['additionalProperties'], waiting)}}}" if "additionalProperties" in schema else "any"
    return str(kind)


if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text()
    print(json.dumps(table(json.loads(text)["definitions"]), indent=1, sort_keys=True))
