"""Settings that a release of slurm-operator drops without a word (:mod:`slinky_iac.config.operator.empty_values`): one check
over all specs that a stack renders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.operator.empty_values import CONSEQUENCES, ELSE, places, text
from slinky_iac.config.raw import Raw
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.pods import resources
from slinky_iac.specs.shared import Spec


def dropped(config: StackConfig) -> tuple[Finding, ...]:
    """An error for each value that this release would leave out of the pods. ``config`` has no other errors: a spec of a
    stack that isn't sound can't be rendered."""
    if not config.operator_version.drops_empty_values:
        return ()
    findings = [
        finding for one in resources(config) for finding in _of(one.path, one.spec, one.raw, config.operator.version)
    ]
    return tuple(dict.fromkeys(findings))


def _of(path: str, spec: Spec, raw: Raw, version: str) -> Iterator[Finding]:
    merged = [(f"raw.spec.{key}", raw.spec.get(key), part) for key, part in spec.items() if _is_container(part)]
    merged.append(("raw.pod", raw.pod, spec.get("template", {}).get("spec", {})))
    for piece, given, part in merged:
        for place, value in places(part):
            field = ".".join(place)
            setting, then = _named(field, [(piece, given), ("raw.container", raw.container if _is_container(part) else {})])
            yield at(f"{path}.{setting}").error(
                f"is {text(value)}, which slurm-operator {version} drops silently, since it treats empty values as"
                f" missing: {then}"
            )


def _is_container(part: object) -> bool:
    return isinstance(part, Mapping) and "image" in part


def _named(field: str, pieces: list[tuple[str, Any]]) -> tuple[str, str]:
    """The setting of a field as the stack's file has it, and what follows of its being dropped."""
    known = next((prefix for prefix in CONSEQUENCES if field == prefix or field.startswith(f"{prefix}.")), None)
    setting, then = CONSEQUENCES[known] if known else (field, f"{ELSE}; leave it out")
    of_raw = next((piece for piece, given in pieces if field in {".".join(at) for at, _ in places(given or {})}), None)
    return (f"{of_raw}.{field}" if of_raw else setting), then
