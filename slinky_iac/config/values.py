"""From the configuration's texts to one checked value and the imported keys: the same for the program and for commands.

Secrets stay out of :class:`StackConfig`. A section that holds a secret anywhere is refused before it is read, since
settings are shown in previews, pod specs and messages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from slinky_iac import keys
from slinky_iac.config.findings import Finding
from slinky_iac.config.load import load
from slinky_iac.config.rules import findings, require_sound
from slinky_iac.config.stack import SECRET_KEYS, StackConfig
from slinky_iac.errors import ConfigError, KeyMaterialError


@dataclass(frozen=True)
class Values:
    """A sound configuration, what is to say about it, and the raw bytes of slurm.key and the JWT key where they are
    imported and were given."""

    config: StackConfig
    findings: tuple[Finding, ...]
    keys: tuple[bytes, bytes] | None = field(default=None, repr=False)


def values_of(own: Mapping[str, str], secret: frozenset[str], *, with_keys: bool = True) -> Values:
    """What ``own`` (texts by name, without the project's prefix) says; ``secret`` names those that are stored as secrets.

    ``with_keys`` False: the secrets' own texts weren't given, so no key is read or checked. Raises :class:`ConfigError` with
    every fault; it never holds a value.
    """
    faults = [
        f"{name}: is set in plain text; run `pulumi config set --secret {name}`, and take the old value as leaked"
        for name in SECRET_KEYS
        if name in own and name not in secret
    ]
    faults += [
        f"{name}: holds a secret, but settings are shown in previews and pod specs; only {', '.join(SECRET_KEYS)} are secret"
        for name in sorted(secret - set(SECRET_KEYS))
    ]
    if faults:
        raise ConfigError(tuple(faults))
    config = load({name: _parsed(name, text) for name, text in own.items() if name not in secret})
    found = require_sound(findings(config, secret))
    return Values(config, found, _imported(config, own) if with_keys else None)


def _parsed(name: str, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # also numbers of over 4,300 digits, and nesting that no person writes
        raise ConfigError((f"{name}: is a single value; it must be a mapping of settings",)) from None


def _imported(config: StackConfig, own: Mapping[str, str]) -> tuple[bytes, bytes] | None:
    if config.keys.source != "imported":
        return None
    newline = config.keys.allow_trailing_newline
    faults: list[str] = []
    raw: list[bytes] = []
    for name in ("slurmKey", "jwtKey"):
        try:
            raw.append(keys.decode(name, own[name], allow_trailing_newline=newline))
        except KeyMaterialError as error:
            faults.append(str(error))
    if not faults and raw[0] == raw[1]:
        faults.append("jwtKey: is the same key as slurmKey; whoever may sign tokens could then be any daemon. Make two keys")
    if faults:
        raise ConfigError(tuple(faults))
    return raw[0], raw[1]
