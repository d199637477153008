"""The rules' manual and the schema of a site's file, made of the rules themselves.

``PYTHONPATH=policies venv/bin/python -m tests.policies.manual`` writes the table and chapters of ``docs/policies.md`` and
``policies/site.schema.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from slurm_rules.beside import ROWS
from slurm_rules.catalogue import RULES
from slurm_rules.rule import Rule

from tests.integration.engine import REPO
from tests.policies.pack import PACK

PAGE = REPO / "docs" / "policies.md"
SCHEMA = PACK / "site.schema.json"
BEGIN, END = "<!-- rules: begin, made by tests.policies.manual -->", "<!-- rules: end -->"
LEVELS = ["mandatory", "advisory", "disabled"]


def chapters() -> str:
    """The table of all rules and a chapter for each."""
    return "\n".join([*_table(), *(line for rule in RULES for line in _chapter(rule))])


def _table() -> Iterator[str]:
    yield "| rule | level | judges | what it asks |"
    yield "|---|---|---|---|"
    for rule in RULES:
        judged = "each resource" if rule.scope == "resource" else "whole stack"
        yield f"| [{rule.name}](#{rule.name}) | {rule.level} | {judged} | {rule.summary} |"
    yield ""


def _chapter(rule: Rule) -> Iterator[str]:
    yield from (f"### {rule.name}", "", rule.summary, "")
    yield f"- **Why:** {rule.why}"
    yield f"- **What to do:** {rule.todo}"
    yield f"- **Level:** {rule.level}, {rule.level_reason}."
    yield f"- **Source:** {rule.source}"
    for name, option in rule.options.items():
        yield f"- **`{name}`** (default `{json.dumps(option.default)}`): {option.schema['description']}"
    if rule.name == "cluster-complete":
        yield from _rows()
    yield ""


def _rows() -> Iterator[str]:
    """What cluster-complete asks for, and where each row is known from."""
    yield from ("", "| row | of | else |", "|---|---|---|")
    for row in ROWS:
        source = f" ({row['source']})" if "source" in row else ""
        yield f"| {row['row']} | {row['of'].replace('|', ', ')} | {row['say']}{source} |"


def page(text: str) -> str:
    """``docs/policies.md`` with its rules as they are now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{chapters()}\n{END}{after}"


def site_schema() -> dict[str, Any]:
    """JSON schema of a site's file: levels and bounds by rule, nothing else."""
    level = {"enum": LEVELS}
    rules: dict[str, Any] = {"all": {"$ref": "#/$defs/level", "description": "Level of every rule not named here."}}
    for rule in RULES:
        settings = {"enforcementLevel": level, **{name: option.full_schema for name, option in rule.options.items()}}
        whole = {"type": "object", "properties": settings, "additionalProperties": False}
        rules[rule.name] = {"description": rule.summary, "anyOf": [{"$ref": "#/$defs/level"}, whole]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Levels and bounds of a site (--policy-pack-config)",
        "type": "object",
        "properties": rules,
        "additionalProperties": False,
        "$defs": {"level": level},
    }


def schema_text() -> str:
    """The schema as its file holds it."""
    return json.dumps(site_schema(), indent=1) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
    SCHEMA.write_text(schema_text())
