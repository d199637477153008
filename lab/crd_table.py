"""`python -m lab.crd_table 1.0=FOLDER 1.1=FOLDER …`: fields of custom resources, for config/kubernetes/crd_types.json.

Each FOLDER has the CRDs of one release, for instance ``helm/slurm-operator-crds`` of its sources. Printed: by line of
releases each type with its fields and what each takes, in the words of ``lab.kubernetes_table``: names of fields only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

_CONTAINERS: Final = frozenset(
    {"initconf", "logfile", "login", "reconfigure", "slurmctld", "slurmd", "slurmdbd", "slurmrestd"}
)
_UNREAD: Final[Mapping[str, str]] = {"template": "PodSpec", "service": "ServiceSpec"}
"""Types of what the CRDs keep unread, by the field above ``spec``."""

Types = dict[str, dict[str, str]]


def table(folder: Path) -> Types:
    """Fields by type, of each custom resource's spec and of all below it."""
    found: Types = {}
    for file in sorted(folder.rglob("slinky.slurm.net_*.yaml")):
        crd = yaml.safe_load(file.read_text())
        kind = crd["spec"]["names"]["kind"]
        for version in crd["spec"]["versions"]:
            if version["name"] == "v1beta1":
                _kind(version["schema"]["openAPIV3Schema"]["properties"]["spec"], (kind,), found)
    return found


def _kind(schema: Mapping[str, Any], path: tuple[str, ...], found: Types) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "scalar"
    if schema.get("x-kubernetes-preserve-unknown-fields") and "properties" not in schema:
        return "Container" if path[-1] in _CONTAINERS else _UNREAD.get(path[-2], "any") if path[-1] == "spec" else "any"
    if "properties" in schema:
        name = ".".join(path)
        found[name] = {field: _kind(each, (*path, field), found) for field, each in schema["properties"].items()}
        return name
    if schema.get("type") == "array":
        return f"[{_kind(schema['items'], path, found)}]"
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"{{{_kind(schema['additionalProperties'], path, found)}}}"
    return str(schema.get("type", "any")) if schema.get("type") != "object" else "any"


if __name__ == "__main__":
    lines = dict(each.split("=", 1) for each in sys.argv[1:])
    print(json.dumps({line: table(Path(folder)) for line, folder in lines.items()}, indent=1, sort_keys=True))
