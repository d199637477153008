"""The one reader of Pulumi configuration: from the engine's strings to one checked value and the secrets beside it.

Secrets stay out of :class:`StackConfig`. A section that holds a secret anywhere is refused before it is read, since
settings are shown in previews, pod specs and messages.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pulumi

from slinky_iac import keys
from slinky_iac.config.findings import Finding
from slinky_iac.config.load import load
from slinky_iac.config.rules import findings, require_sound
from slinky_iac.config.stack import PROJECT, SECRET_KEYS, StackConfig
from slinky_iac.errors import ConfigError, KeyMaterialError


@dataclass(frozen=True)
class StackSettings:
    """What a program needs to build a stack: settings, findings to show, and secrets as secret outputs.

    ``slurm_key`` and ``jwt_key`` are base64 of the raw bytes, or None unless ``keys.source`` is imported.
    """

    config: StackConfig
    findings: tuple[Finding, ...]
    slurm_key: pulumi.Output[str] | None
    jwt_key: pulumi.Output[str] | None
    key_fingerprints: tuple[str, str] | None
    database_password: pulumi.Output[str] | None


def read_stack() -> StackSettings:
    """The current stack's settings. Raises :class:`pulumi.RunError` with every fault of the configuration, so that the
    user sees sentences and no traceback."""
    try:
        return _read(dict(pulumi.runtime.config.CONFIG.get()))
    except ConfigError as error:
        raise pulumi.RunError(str(error)) from None


def _read(raw: dict[str, str]) -> StackSettings:
    own = {key.split(":", 1)[1]: value for key, value in raw.items() if key.startswith(f"{PROJECT}:")}
    secret = {name for name in own if pulumi.runtime.config.is_config_secret(f"{PROJECT}:{name}")}
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
    found = require_sound(findings(config, frozenset(secret)))
    raw_keys = _imported(config, own)
    password = own.get("databasePassword")
    return StackSettings(
        config=config,
        findings=found,
        slurm_key=_secret(raw_keys, 0),
        jwt_key=_secret(raw_keys, 1),
        key_fingerprints=None if raw_keys is None else (keys.fingerprint(raw_keys[0]), keys.fingerprint(raw_keys[1])),
        database_password=None if password is None else pulumi.Output.secret(password),
    )


def _parsed(name: str, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # also numbers of over 4,300 digits, and nesting that no person writes
        raise ConfigError((f"{name}: is a single value; it must be a mapping of settings",)) from None


def _imported(config: StackConfig, own: dict[str, str]) -> tuple[bytes, bytes] | None:
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


def _secret(raw: tuple[bytes, bytes] | None, index: int) -> pulumi.Output[str] | None:
    return None if raw is None else pulumi.Output.secret(keys.to_secret_data(raw[index]))
