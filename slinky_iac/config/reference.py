"""The configuration reference (docs/configuration.md), made from the model's own JSON schema, so that it can't lag behind.

Every section is headed by the path as people write it, with an example from reference.yaml beside its table. Names
that the user chooses are written ``<name>``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from slinky_iac.config.reading.such_as import examples
from slinky_iac.config.stack import KINDS, PROJECT, SECRET_KEYS, SECRET_WORDS, StackConfig

Schema = Mapping[str, Any]

_HEAD = f"""# Configuration reference

<!-- Made by `python -m slinky_iac reference`; a test keeps it current. Change slinky_iac/config, not this page. -->

A stack's settings are in `Pulumi.<stack>.yaml` under `config:`, each section as `{PROJECT}:<section>`. Names are
camelCase; unknown names are errors, and all errors are listed at once, each with its path. Durations are seconds or texts
such as `30m` and `2d12h`. Values of `extraConf` and of a partition's `config` may be texts, numbers or booleans (`true`
becomes `YES`). For completion and checks while typing, point your editor at [stack.schema.json](stack.schema.json):
`# yaml-language-server: $schema=docs/stack.schema.json`.

Each section below is headed by its path; `<name>` stands for a name that you choose. The examples are parts of a stack's
file, and a test reads each. [Recipes](recipes.md) has larger ones.

## Secrets

Set by `pulumi config set --secret slinky-iac:<name>`, never in plain text, never inside a section:

| Name | What it is |
|---|---|
"""


def reference() -> str:
    """The whole page as Markdown."""
    schema = StackConfig.model_json_schema(by_alias=True)
    places = _places(schema)
    heads = headed(places, examples())
    parts = [_HEAD + "".join(f"| `{name}` | {SECRET_WORDS[name]} |\n" for name in SECRET_KEYS)]
    parts.append("## Sections\n\n" + _table(schema, heads))
    parts += [_section(head, places[name], schema["$defs"][name], heads) for name, head in heads.items()]
    return "\n".join(parts)


def headed(places: Mapping[str, list[str]], shown: Mapping[str, str]) -> dict[str, str]:
    """The path that heads the section of each definition: the one of its paths that has an example, in the examples' order.
    Raises ValueError where that isn't one path."""
    heads = {path: name for name, paths in places.items() for path in paths if path in shown}
    unknown, without = set(shown) - set(heads), set(places) - set(heads.values())
    if unknown or without or len(heads) != len(places):
        raise ValueError(f"reference.yaml: one example a section: not a path {unknown}, none for {without}")
    return {heads[path]: path for path in shown}


_FINDINGS = """# Findings

<!-- Made by `python -m slinky_iac reference findings`; a test keeps it current. Change slinky_iac/config/findings.py. -->

`pulumi preview`, `pulumi up` and `slinky check` warn of settings that work but will surprise you. Each warning and each note
ends with its id in brackets. An error stops the update; one with an id is refused until you acknowledge it.

If a finding describes what you want, acknowledge it in the stack's file, with the reason:

```yaml
config:
  slinky-iac:acknowledged:
    mixed-cgroups: "cgroup.conf was checked on all metal hosts, HPC-1234"
    slurm-bounds@controller.extraConf.KillWait: "no job here writes a checkpoint at its end, HPC-1235"
```

The second line is of an error: its id counts for one setting alone.

A preview then names the id in one line instead of the warning, `slinky check --strict` passes, and `slinky check` shows
the finding with your reason. If the finding goes away, a note tells you to remove the line. Warnings of a look at the
cluster have the id `preflight.<check>`; [preflight.md](preflight.md) lists the checks.

| Id | Meaning |
|---|---|
"""


def findings_page() -> str:
    """docs/findings.md."""
    return _FINDINGS + "".join(f"| `{name}` | {text} |\n" for name, text in sorted(KINDS.items()))


def _places(schema: Schema) -> dict[str, list[str]]:
    """Every definition with the paths at which it stands, in the order of a walk from the top."""
    places: dict[str, list[str]] = {}
    todo = [("", schema)]
    while todo:
        path, here = todo.pop(0)
        for name, field in here.get("properties", {}).items():
            for target, chosen in targets(field):
                place = f"{path}.{name}".lstrip(".") + (".<name>" if chosen else "")
                places.setdefault(target, []).append(place)
                todo.append((place, schema["$defs"][target]))
    return places


def targets(field: Schema, *, chosen: bool = False) -> Iterator[tuple[str, bool]]:
    """Definitions that a field leads to, and whether under a name that the user chooses."""
    if "$ref" in field:
        yield field["$ref"].rsplit("/", 1)[-1], chosen
    for option in field.get("anyOf", ()):
        yield from targets(option, chosen=chosen)
    if isinstance(field.get("items"), Mapping):
        yield from targets(field["items"], chosen=chosen)
    if isinstance(field.get("additionalProperties"), Mapping):
        yield from targets(field["additionalProperties"], chosen=True)
    for inner in field.get("patternProperties", {}).values():
        yield from targets(inner, chosen=True)


def _section(head: str, paths: list[str], schema: Schema, heads: Mapping[str, str]) -> str:
    level = "##" if head.removesuffix(".<name>").count(".") == 0 else "###"
    others = [f"`{path}`" for path in paths if path != head]
    also = f"\n\nThe same settings are at {', '.join(others)}." if others else ""
    example = f"```yaml\n{examples()[head]}```"
    return f"{level} `{head}`\n\n{_line(schema['description'])}{also}\n\n{example}\n\n{_table(schema, heads)}"


def _table(schema: Schema, heads: Mapping[str, str]) -> str:
    required = set(schema.get("required", ()))
    rows = ["| Setting | Type | Default | Meaning |", "|---|---|---|---|"]
    for field, details in schema["properties"].items():
        default = "required" if field in required else _default(details)
        rows.append(f"| `{field}` | {_type(details, heads)} | {default} | {_line(details['description'])} |")
    return "\n".join(rows) + "\n"


def _default(field: Schema) -> str:
    value = field.get("default")
    if value is None or isinstance(value, dict | list):
        return ""
    return f"`{json.dumps(value)}`" if not isinstance(value, str) or value else ""


def _type(field: Schema, heads: Mapping[str, str]) -> str:
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[-1]
        return _link(heads[name]) if name in heads else name
    if "anyOf" in field:
        kinds = [_type(option, heads) for option in field["anyOf"] if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in field or "const" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    return _compound(field, heads)


def _link(head: str) -> str:
    """A link to a section, whose words are the last name of its path that isn't the user's own."""
    anchor = re.sub(r"[^\w-]", "", head.lower())  # as GitHub makes it of the heading
    return f"[`{head.removesuffix('.<name>').rsplit('.', 1)[-1]}`](#{anchor})"


def _compound(field: Schema, heads: Mapping[str, str]) -> str:
    inner = next(iter(field.get("patternProperties", {}).values()), field.get("additionalProperties"))
    if field.get("type") == "array":
        return f"list of {_type(field['items'], heads)}"
    if field.get("type") == "object":
        return f"by name: {_type(inner, heads)}" if isinstance(inner, Mapping) else "mapping"
    return _plain(field)


def _plain(field: Schema) -> str:
    kind = field.get("type")
    names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}
    kinds = kind if isinstance(kind, list) else [kind]
    text = " or ".join(names.get(str(k), "anything") for k in kinds)
    low, high = field.get("minimum", field.get("exclusiveMinimum")), field.get("maximum")
    if low is not None and high is not None:
        return f"{text} {low} to {high}"
    return f"{text} from {low}" if low is not None else text


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
