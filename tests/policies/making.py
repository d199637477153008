"""Writes ``made.json`` from what the components render: ``PYTHONPATH=policies venv/bin/python -m tests.policies.making``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from slurm_rules.made import FILE, Path_
from slurm_rules.values import check_of

from slinky_iac.config import slurm_reach
from slinky_iac.engine.provider_pickle import reference
from tests.clusters import recorded
from tests.policies.programs import MARKS, programs
from tests.program import Registered, Secret

WHOLE = ("unit", "volume", "mount", "env")
"""Checks of parts that are compared as one with those that the program makes."""
ALSO = ("label", "namespace-label", "note")
"""Checks of values beside which the program's own are right."""
TLS_FILES = "-restapi-tls-conf"
"""End of the name of the ConfigMap whose files are compared word for word: it opens slurmrestd."""
_WORDS = (
    (re.compile(r"(⟨base⟩-(?:worker|login|client)-)[a-z0-9]+"), r"\1⟨any⟩"),
    (re.compile(r'(partition=\\?")[a-z]+(\\?")'), r"\1⟨any⟩\2"),
    (re.compile(r"(?<=held, 0\), )\d+|(?<=idle - drained \+ )\d+"), "⟨number⟩"),
    (re.compile(r"(?<= in )\[(?:'⟨base⟩-worker-⟨any⟩'(?:, )?)*\]"), "⟨scaled⟩"),
)


def template(text: str) -> str:
    """A text with marks in the place of the names of one program."""
    for word, mark in MARKS.items():
        text = text.replace(word, f"⟨{mark}⟩")
    for pattern, mark in _WORDS:
        text = pattern.sub(mark, text)
    return text


def templates(value: Any) -> Any:
    """A value with marks in all of its texts, and its images left open."""
    if isinstance(value, Secret):
        return templates(value.value)
    if isinstance(value, Mapping):
        return {template(key): _OPEN.get(key) or _named(key, part) or templates(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [templates(part) for part in value]
    return template(value) if isinstance(value, str) else value


_OPEN = {"image": "⟨image⟩", "imagePullPolicy": "⟨any⟩"}
"""Fields that a setting chooses in parts that are compared as one."""


def _named(key: str, value: Any) -> Any:
    """A Secret of the site's, and a folder of the node, in a volume."""
    if key == "secretName" and not any(mark in value for mark in MARKS):
        return "⟨any⟩"
    if key == "secret" and isinstance(value, Mapping) and "name" in value:
        return templates(value) | {"name": "⟨any⟩"}
    return {"path": "⟨folder⟩", "type": value["type"]} if key == "hostPath" else None


def kind_of(found: Registered) -> str:
    """The key under which a resource is listed; empty for what is only a component."""
    parts = found.type.split(":")
    if parts[0] == "kubernetes":
        group, kind = parts[1].rpartition("/")[0], parts[2]
        return f"{'' if group == 'core' else group}/{kind}"
    if parts[0] == "pulumi-python":
        return f"slurm:{parts[2]}"
    return found.type if found.custom else ""


def leaves(kind: str, value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Each part of a resource that is compared, with its path; what a check judges alone is left out."""
    value = value.value if isinstance(value, Secret) else value
    check = check_of(kind, path) if path else None
    if check in (*WHOLE, *ALSO):
        if check != "note" or not path[-1].startswith("slinky-iac/"):  # digests, of another value in each stack
            yield path, templates(value)
    elif check is not None:
        return
    elif isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from leaves(kind, part, (*path, str(key)))
    elif isinstance(value, list) and value:
        for part in value:
            yield from leaves(kind, part, (*path, "[]"))
    else:
        yield path, templates(value)


def made() -> dict[str, Any]:
    """The whole file."""
    kinds: dict[str, dict[str, Any]] = {}
    files: dict[str, list[Any]] = {}
    classes: dict[str, str] = {}
    for _, recording in programs():
        for found in recording.resources:
            kind = kind_of(found)
            if not kind or kind.startswith("random:"):
                continue
            for file, content in found.inputs.get("data", {}).items() if found.name.endswith(TLS_FILES) else ():
                _add(files.setdefault(file, []), template(content))
            entry = kinds.setdefault(kind, {"names": [], "ignoreChanges": [], "fields": {}})
            meta = found.inputs.get("metadata")
            name = template(str(meta.get("name") if isinstance(meta, Mapping) else found.inputs.get("name", "")))
            _add(entry["names"], name)
            if isinstance(provider := found.inputs.get("__provider"), Secret):
                classes[kind] = reference(provider.value) or ""
            for each in found.ignore_changes:
                _add(entry["ignoreChanges"], each)
            for path, value in leaves(kind, found.inputs):
                if path not in (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")):
                    _add(entry["fields"].setdefault(" ".join(path), []), value)
    return {
        "conf": slurm_reach.table(),
        "classes": dict(sorted(classes.items())),
        "texts": files,
        "kinds": {kind: _sorted(entry) for kind, entry in sorted(kinds.items())},
    }


def _add(found: list[Any], value: Any) -> None:
    if not any(type(each) is type(value) and each == value for each in found):
        found.append(value)


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _sorted(entry: dict[str, Any]) -> dict[str, Any]:
    fields = {path: sorted(values, key=_written) for path, values in sorted(entry["fields"].items())}
    return {"names": sorted(entry["names"]), "ignoreChanges": sorted(entry["ignoreChanges"]), "fields": fields}


def text() -> str:
    """The file as it is written."""
    return json.dumps(made(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


STACKS = {"inside": "all-in-kubernetes", "outside": "controller-outside"}
"""The plain stacks, and the form whose fence each has."""
BEGIN, END = "  # The fence, as tests.policies.making writes it: begin.\n", "  # The fence: end.\n"


def with_fence(name: str, stack: str) -> str:
    """A plain stack with the fence as the components render it today."""
    before, _, rest = stack.partition(BEGIN)
    objects: dict[str, Any] = {}
    for found in recorded(STACKS[name]).resources:
        if ":ValidatingAdmissionPolicy" in found.type:
            part = found.inputs["metadata"]["name"].split(".")[0].removeprefix("slinky-iac-")
            key = f"fence-binding-{part}" if found.type.endswith("Binding") else f"fence-{part}"
            properties = {**found.inputs, "metadata": {"name": found.inputs["metadata"]["name"]}}
            objects[key] = {"type": found.type, "properties": properties}
    lines = yaml.safe_dump(objects, width=118, default_flow_style=None).splitlines()
    return "".join([before, BEGIN, *(f"  {line}\n" if line else "\n" for line in lines), END, rest.partition(END)[2]])


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    for each in STACKS:
        file = Path(__file__).parent / "stacks" / f"{each}.yaml"
        file.write_text(with_fence(each, file.read_text(encoding="utf-8")), encoding="utf-8")
