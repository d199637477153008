"""Writes ``made.json`` from what the components render: ``PYTHONPATH=policies venv/bin/python -m tests.policies.making``.

And beside it texts of the program's own, since the pack imports nothing of it: ``conf_lines.py``, its reader of Slurm's
lines, and ``daemon_variables.py``, its table of variables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from slurm_rules.made import FILE, Path_
from slurm_rules.values import check_of
from slurm_rules.whole import DAEMONS, at, daemon_of, parted, steps
from slurm_rules.whole import WHOLE as WHOLE_KINDS

from slinky_iac import conf_lines, daemon_variables
from slinky_iac.config import secret_forms
from slinky_iac.config.operator.own_pieces import own_pieces
from slinky_iac.config.operator.pod_places import OURS
from slinky_iac.config.operator.raw_fields import KINDS
from slinky_iac.config.slurm import reach as slurm_reach
from slinky_iac.engine.provider_pickle import reference
from slinky_iac.releases import LINES, OperatorVersion
from tests.clusters import recorded
from tests.policies.programs import MARKS, programs
from tests.program import Registered, Secret
from tests.stacks import networks

WHOLE = ("unit", "volume", "mount")
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
        parts = [templates(part) for part in value]
        alike = all(isinstance(part, str) and part == parts[0] and "⟨any⟩" in part for part in parts)
        return parts[:1] if alike else parts
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


def form_of(kind: str, name: str, props: Mapping[str, Any]) -> dict[str, Any]:
    """One object of a kind whose missing parts do harm (:mod:`slurm_rules.whole`)."""
    parts = {path: templates(list(parted(kind, props, steps(path)))) for path in WHOLE_KINDS[kind]["parts"]}
    return {
        "name": name,
        "by": templates(list(at(props, steps(WHOLE_KINDS[kind]["by"])))),
        "has": {" ".join(path): _apart(keys, path, parts) for path, keys in _keys(kind, props["spec"], ("spec",))},
        "parts": parts,
        "always": dict(parts),
    }


def _apart(keys: set[str], path: Path_, parts: Mapping[str, Any]) -> list[str]:
    """Keys but for those of parts, which have a list of their own: an API server drops one that is empty."""
    return sorted(key for key in keys if not {" ".join((*path, key)), " ".join((*path, key, "[]"))} & parts.keys())


def _keys(kind: str, value: Any, path: Path_) -> Iterator[tuple[Path_, set[str]]]:
    """The keys of each mapping that no check judges as one."""
    if check_of(kind, path) is None and isinstance(value, Mapping):
        yield path, set(map(str, value))
        for key, part in value.items():
            yield from _keys(kind, part, (*path, str(key)))


def _elsewhere(found: Registered) -> bool:
    """Whether an object is in a namespace of clients, or is one."""
    meta = found.inputs.get("metadata", {})
    of_release = found.inputs.get("namespace") if found.type.endswith(":Release") else None
    space = meta.get("name") if found.type.endswith(":Namespace") else meta.get("namespace", of_release)
    return space is not None and space not in MARKS


def _runs(found: Registered) -> bool:
    """Whether a resource of slurm-operator makes pods, with addresses of their own."""
    spec = found.inputs["spec"] if "slinky.slurm.net" in found.type else {"external": True}
    own = spec.get("template", {}).get("spec", {}).get("hostNetwork") is not True
    return own and not spec.get("external") and found.type.rpartition(":")[2] in DAEMONS


def _meet(forms: list[dict[str, Any]], new: dict[str, Any], run: set[str]) -> None:
    """Lay one more object of a form beside those before: what any has, and what all have whose program runs its daemon.
    An address is one program's own."""
    new["always"] = {path: [each for each in parts if "ipBlock" not in str(each)] for path, parts in new["always"].items()}
    for old in forms:
        if (old["name"], old["by"]) == (new["name"], new["by"]):
            old["has"] = {path: sorted({*keys} & {*new["has"].get(path, keys)}) for path, keys in old["has"].items()}
            for path in old["parts"]:
                mine, other = new["always"][path], old["always"][path]
                both = [part for part in other if part in mine or (daemon_of(part) or "") not in {"", *run}]
                seen = old["parts"][path]
                both += [part for part in mine if daemon_of(part) and part not in seen]
                old["always"][path] = both
                old["parts"][path] = [*seen, *(part for part in new["parts"][path] if part not in seen)]
            return
    forms.append(new)


def made() -> dict[str, Any]:
    """The whole file."""
    kinds: dict[str, dict[str, Any]] = {}
    files: dict[str, list[Any]] = {}
    classes: dict[str, str] = {}
    for _, recording in programs():
        run = {DAEMONS[each.type.rpartition(":")[2]] for each in recording.resources if _runs(each)}
        for found in recording.resources:
            kind = kind_of(found)
            if not kind or kind.startswith("random:") or _elsewhere(found):
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
            if kind in WHOLE_KINDS:
                _meet(entry.setdefault("whole", []), form_of(kind, name, found.inputs), run)
            for path, value in leaves(kind, found.inputs):
                if path not in (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")):
                    _add(entry["fields"].setdefault(" ".join(path), []), value)
    return {
        "conf": slurm_reach.table(),
        "secretForms": secret_forms.FORMS,
        "classes": dict(sorted(classes.items())),
        "texts": files,
        "volumes": volumes(),
        "kinds": {kind: _sorted(entry) for kind, entry in sorted(kinds.items())},
    }


def volumes() -> dict[str, Any]:
    """Names of volumes that a stack can't have, by the kind of pod, in any release of the operator: by
    :meth:`.Part.has_volume` the settings refuse the same. ``ofSsh``: in a NodeSet's pods with an sshd."""
    releases = [OperatorVersion(1, minor, line.newest) for minor, line in LINES.items()]

    def of(section: str, *, ssh: bool) -> set[str]:
        return {name for each in releases for name in own_pieces(each, section, ssh=ssh).volumes}

    own = {kind: of(section, ssh=False) for section, kind in KINDS.items()}
    more = {kind: of(section, ssh=True) - own[kind] for section, kind in KINDS.items()}
    return {
        "own": {kind: sorted(names) for kind, names in own.items()},
        "ofSsh": {kind: sorted(names) for kind, names in more.items() if names},
        "ours": OURS.pattern,
    }


def _add(found: list[Any], value: Any) -> None:
    if not any(type(each) is type(value) and each == value for each in found):
        found.append(value)


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _sorted(entry: dict[str, Any]) -> dict[str, Any]:
    fields = {path: sorted(values, key=_written) for path, values in sorted(entry["fields"].items())}
    found = {"names": sorted(entry["names"]), "ignoreChanges": sorted(entry["ignoreChanges"]), "fields": fields}
    return found | ({"whole": sorted(entry["whole"], key=_written)} if "whole" in entry else {})


def text() -> str:
    """The file as it is written."""
    return json.dumps(made(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


TWINS = {
    FILE.with_name(f"{each.__name__.rpartition('.')[2]}.py"): Path(each.__file__) for each in (conf_lines, daemon_variables)
}
"""Texts of the program's that the pack has, too: where, and whence."""
STACKS = {"inside": "all-in-kubernetes", "outside": "controller-outside"}
"""The plain stacks, and the form whose fence and NetworkPolicies each has."""
BEGIN, END = (
    "  # The fence and the networks, as tests.policies.making writes them: begin.\n",
    "  # The fence and the networks: end.\n",
)


def with_fence(name: str, stack: str) -> str:
    """A plain stack with the fence and the NetworkPolicies as the components render them today."""
    before, _, rest = stack.partition(BEGIN)
    objects: dict[str, Any] = {}
    for found in recorded(STACKS[name], **networks(STACKS[name])).resources:
        if ":ValidatingAdmissionPolicy" in found.type:
            part = found.inputs["metadata"]["name"].split(".")[0].removeprefix("slinky-iac-")
            key = f"fence-binding-{part}" if found.type.endswith("Binding") else f"fence-{part}"
            properties = {**found.inputs, "metadata": {"name": found.inputs["metadata"]["name"]}}
            objects[key] = {"type": found.type, "properties": properties}
        elif found.type.endswith(":NetworkPolicy"):
            part = found.inputs["metadata"]["name"].partition("-")[2]
            meta = {key: found.inputs["metadata"][key] for key in ("name", "namespace")}
            objects[f"networks-{part}"] = {"type": found.type, "properties": {**found.inputs, "metadata": meta}}
    lines = yaml.safe_dump(objects, width=118, default_flow_style=None).splitlines()
    return "".join([before, BEGIN, *(f"  {line}\n" if line else "\n" for line in lines), END, rest.partition(END)[2]])


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    for twin, own in TWINS.items():
        twin.write_text(own.read_text(encoding="utf-8"), encoding="utf-8")
    for each in STACKS:
        file = Path(__file__).parent / "stacks" / f"{each}.yaml"
        file.write_text(with_fence(each, file.read_text(encoding="utf-8")), encoding="utf-8")
