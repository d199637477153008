"""What a setting may look like: the value that the reference's examples have at its path. Pure."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import yaml

from slinky_iac import safe_yaml

LONGEST: Final = 110
"""Characters of the longest example that a message shows."""
_BY_NAME: Final = frozenset({"clients", "groups", "jobs", "logins", "nodesets", "partitions", "people", "tokens", "users"})
"""Settings below which names of the user's stand."""
_MORE: Final = {
    "acknowledged": "{host-network: why it may be so}",
    "epilog": '{clean.sh: "#!/bin/sh …"}',
    "jwtKeyFrom": "{secret: slurm-keys, key: jwt_hs256.key}",
    "prolog": '{check.sh: "#!/bin/sh …"}',
    "service": "{type: LoadBalancer}",
}
"""Of settings that no example has, by their name."""
_ABSENT: Final = object()


def examples() -> dict[str, str]:
    """A part of a stack's file for each section, by the section's path."""
    text = Path(__file__).with_name("reference.yaml").read_text(encoding="utf-8")
    return cast("dict[str, str]", safe_yaml.read(text))


def such_as(path: str) -> str:
    """What stands at a path in an example, in one line of YAML; empty where no example has it, or it is long."""
    parts = path.split(".")
    found = next((value for each in _sections(path) if (value := _at(each, parts)) is not _ABSENT), _ABSENT)
    if found is _ABSENT:
        return _MORE.get(parts[-1], "")
    text = yaml.safe_dump(found, default_flow_style=True, sort_keys=False, width=10_000).removesuffix("...\n").strip()
    return text if len(text) <= LONGEST else ""


@cache
def _parsed() -> dict[str, dict[str, Any]]:
    return {
        head: {name.rpartition(":")[2]: value for name, value in cast("dict[str, Any]", safe_yaml.read(text)).items()}
        for head, text in examples().items()
    }


def _sections(path: str) -> list[dict[str, Any]]:
    """All examples, that of the path itself first."""
    every = _parsed()
    return [each for _, each in sorted(every.items(), key=lambda pair: pair[0] != path)]


def _at(found: Any, parts: list[str]) -> Any:  # noqa: ANN401 - plain data of YAML
    above = ""
    for part in parts:
        if isinstance(found, list):
            found = found[0] if part.isdecimal() and found else _ABSENT
        elif not isinstance(found, dict):
            return _ABSENT
        elif part in found:
            found = found[part]
        else:
            found = next(iter(found.values()), _ABSENT) if above in _BY_NAME else _ABSENT
        above = part
    return found
