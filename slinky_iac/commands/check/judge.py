"""All that can be said of a stack's file without a cluster: faults with their line, findings, and YAML to paste. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from slinky_iac.config.findings import Finding, Level, acknowledged, error, info
from slinky_iac.config.load import examined
from slinky_iac.config.rules import findings
from slinky_iac.config.stack import FIRST_SECRETS, PROJECT, SECRET_KEYS, StackConfig
from slinky_iac.config.stack_file import SECTIONS, Place, StackFile, parse

_ORDER = {Level.ERROR: 0, Level.WARNING: 1, Level.INFO: 2}


def judge(text: str, project: str = PROJECT) -> tuple[StackConfig | None, tuple[Place, ...]]:
    """The configuration in a file's text, where it can be read, and what is to say about it in the order of its lines."""
    file = parse(text, project)
    if not file.lines:
        return None, file.faults
    texts, plain = _read(file)
    config, faults = examined(texts)
    found = [*plain, *faults]
    if any(each.finding.path == "cluster" for each in file.faults):  # it is there, under another name
        found = [each for each in found if str(each) != "cluster: is missing and has no default"]
    if config is not None:
        found += _ruled(config, file.secret)
    places = [*file.faults, *(Place(file.line_of(each.path), each) for each in found)]
    sound = not any(place.finding.level is Level.ERROR for place in places)
    return config if sound else None, tuple(sorted(places, key=_order))


def _order(place: Place) -> tuple[int, int]:
    return place.line, _ORDER[place.finding.level]


def _ruled(config: StackConfig, secret: frozenset[str]) -> Iterator[Finding]:
    """What the rules say. A secret that isn't set yet is a warning: it is set after the file is written."""
    later = frozenset(findings(config, secret | FIRST_SECRETS))
    for each in findings(config, secret):
        waits = each.level is Level.ERROR and each not in later
        yield replace(each, level=Level.WARNING) if waits else each
    if not config.nodesets and config.keys.auth == "auth/slurm":
        none = info("nodesets", "none is set: no pod of this stack runs slurmd", id="no-nodesets")
        yield from acknowledged([none], config.acknowledged)


def _read(file: StackFile) -> tuple[dict[str, object], list[Finding]]:
    """Sections as plain data, and those that aren't: one in a single text is JSON, as `pulumi config set` stores it."""
    read: dict[str, object] = {}
    faults: list[Finding] = [
        error(
            name,
            f"holds a secret, but settings are shown in previews and pod specs; only {', '.join(SECRET_KEYS)} are secret",
        )
        for name in sorted(file.secret - set(SECRET_KEYS))
    ]
    for name, value in file.sections.items():
        if isinstance(value, str) and name not in SECRET_KEYS:
            try:
                read[name] = json.loads(value)
            except (ValueError, RecursionError):
                if name in SECTIONS:
                    faults.append(error(name, "is a single value; it must be a mapping of settings"))
                else:
                    read[name] = value  # it is no setting, whatever it holds
            continue
        if inner := next(_encrypted(value, name, 0), None):
            faults.append(
                error(inner, "is encrypted, and with it the whole section becomes a secret; only whole values such as"
                      f" {', '.join(SECRET_KEYS[:3])} are secret")
            )  # fmt: skip
            continue
        read[name] = value
    return read, faults


def _encrypted(value: object, path: str, depth: int) -> Iterator[str]:
    if depth > 40:
        return
    if isinstance(value, dict):
        if set(value) == {"secure"}:
            yield path
            return
        for key, inner in value.items():
            yield from _encrypted(inner, f"{path}.{key}", depth + 1)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _encrypted(inner, f"{path}.{at}", depth + 1)
