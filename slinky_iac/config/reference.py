"""The configuration reference (docs/configuration.md), made from the model's own JSON schema, so that it can't lag behind.

Every section is one table, headed by the paths where it stands; names the user chooses are written ``<name>``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from slinky_iac.config.stack import KINDS, PROJECT, SECRET_KEYS, StackConfig

Schema = Mapping[str, Any]

_HEAD = f"""# Configuration reference

<!-- Made by `python -m slinky_iac reference`; a test keeps it current. Change slinky_iac/config, not this page. -->

A stack's settings are in `Pulumi.<stack>.yaml` under `config:`, each section as `{PROJECT}:<section>`. Names are
camelCase; unknown names are errors, and all errors are listed at once, each with its path. Durations are seconds or texts
such as `30m` and `2d12h`. Values of `extraConf` and of a partition's `config` may be texts, numbers or booleans (`true`
becomes `YES`). For completion and checks while typing, point your editor at [stack.schema.json](stack.schema.json):
`# yaml-language-server: $schema=docs/stack.schema.json`.

## Secrets

Set by `pulumi config set --secret slinky-iac:<name>`, never in plain text, never inside a section:

| Name | What it is |
|---|---|
"""
_SECRETS = {
    "slurmKey": "base64 of `/etc/slurm/slurm.key` as the outside hosts have it; needed with `keys.source: imported`",
    "jwtKey": "base64 of the JWT HS256 key as the outside slurmctld has it; needed with `keys.source: imported`",
    "mungeKey": "base64 of `/etc/munge/munge.key` as the outside hosts have it; needed with `keys.auth: auth/munge`",
    "slurmKeyNext": "the next slurm.key, during a rotation: set and removed by `keys rotate slurm`",
    "slurmKeyPrevious": "the previous slurm.key, during a rotation: set and removed by `keys rotate slurm`",
    "jwtKeyNext": "the next JWT key, during a rotation: set and removed by `keys rotate jwt`",
    "tokenKey": "base64 of the RSA key (PEM) that signs this stack's tokens; needed unless `keys.tokens` is hs256",
    "tokenKeyNext": "the next token key, during a rotation: set and removed by `keys rotate tokens`",
    "tokenKeyPrevious": "the previous token key, during a rotation: set and removed by `keys rotate tokens`",
    "sssdConf": "the whole sssd.conf of `identity.sssd`; needed with it, unless `identity.sssd.confFrom` names a Secret",
    "databasePassword": "password of `accounting.database.username`; needed with `accounting.database`",
}


def reference() -> str:
    """The whole page as Markdown."""
    schema = StackConfig.model_json_schema(by_alias=True)
    places = _places(schema)
    parts = [_HEAD + "".join(f"| `{name}` | {_SECRETS[name]} |\n" for name in SECRET_KEYS)]
    parts.append("## Sections\n\n" + _table("StackConfig", schema, schema["$defs"]))
    parts += [_section(name, paths, schema["$defs"]) for name, paths in places.items()]
    return "\n".join(parts)


_FINDINGS = """# Findings

<!-- Made by `python -m slinky_iac reference findings`; a test keeps it current. Change slinky_iac/config/findings.py. -->

`pulumi preview`, `pulumi up` and `slinky check` warn of settings that work but will surprise you. Each warning and each note
ends with its id in brackets. An error stops the update; one with an id is refused until you acknowledge it.

If a finding describes what you want, acknowledge it in the stack's file, with the reason:

```yaml
config:
  slinky-iac:acknowledged:
    mixed-cgroups: "cgroup.conf was checked on all metal hosts, HPC-1234"
```

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
    found: dict[str, list[str]] = {}
    todo = [("", schema)]
    while todo:
        path, here = todo.pop(0)
        for name, field in here.get("properties", {}).items():
            for target, chosen in targets(field):
                place = f"{path}.{name}".lstrip(".") + (".<name>" if chosen else "")
                found.setdefault(target, []).append(place)
                todo.append((place, schema["$defs"][target]))
    return found


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


def _section(name: str, paths: list[str], definitions: Schema) -> str:
    schema = definitions[name]
    where = ", ".join(f"`{path}`" for path in paths)
    return f"## {name}\n\n{where}: {_line(schema['description'])}\n\n{_table(name, schema, definitions)}"


def _table(name: str, schema: Schema, definitions: Schema) -> str:
    required = set(schema.get("required", ()))
    rows = ["| Setting | Type | Default | Meaning |", "|---|---|---|---|"]
    for field, details in schema["properties"].items():
        default = "required" if field in required else _default(details)
        meaning = _line(details.get("description") or f"see {name}")
        rows.append(f"| `{field}` | {_type(details, definitions)} | {default} | {meaning} |")
    return "\n".join(rows) + "\n"


def _default(field: Schema) -> str:
    value = field.get("default")
    if value is None or isinstance(value, dict | list):
        return ""
    return f"`{json.dumps(value)}`" if not isinstance(value, str) or value else ""


def _type(field: Schema, definitions: Schema) -> str:
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})" if name in definitions else name
    if "anyOf" in field:
        kinds = [_type(option, definitions) for option in field["anyOf"] if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in field or "const" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    return _compound(field, definitions)


def _compound(field: Schema, definitions: Schema) -> str:
    inner = next(iter(field.get("patternProperties", {}).values()), field.get("additionalProperties"))
    if field.get("type") == "array":
        return f"list of {_type(field['items'], definitions)}"
    if field.get("type") == "object":
        return f"by name: {_type(inner, definitions)}" if isinstance(inner, Mapping) else "mapping"
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
