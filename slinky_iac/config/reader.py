"""The one reader of the engine's configuration: from its strings to one checked value and secret outputs beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pulumi

from slinky_iac.config.findings import Finding
from slinky_iac.config.stack import PROJECT, SECRET_KEYS, StackConfig
from slinky_iac.config.values import own_names, values_of
from slinky_iac.errors import ConfigError
from slinky_iac.keys.raw import to_secret_data

SHOWN: Final = 32
"""Exit code of a program that has shown its error. At any other code the engine adds a second error, "an unhandled error
occurred: program exited with non-zero exit code"."""


class StackRefused(SystemExit):
    """Ends the program with an error that is shown once. For what is found before the first resource is registered."""

    def __init__(self, message: str) -> None:
        super().__init__(SHOWN)
        self.message = message
        pulumi.log.error(message)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class KeyOutputs:
    """The keys of a stack as a program hands them to components: base64 as secret outputs."""

    values: Mapping[str, pulumi.Output[str]] = field(default_factory=dict)
    """By the names of their configuration values; the daemons' keys with ``keys.source: imported`` only."""
    slurm_jwks: pulumi.Output[str] | None = None
    """slurm.jwks with all keys of auth/slurm that are in use; None unless keys are imported."""
    token_set: str | None = None
    """jwks.json, which is public."""


@dataclass(frozen=True)
class StackSettings:
    """What a program needs to build a stack: settings, findings to show, and secrets as secret outputs."""

    config: StackConfig
    findings: tuple[Finding, ...]
    database_password: pulumi.Output[str] | None
    keys: KeyOutputs = field(default_factory=KeyOutputs)
    sssd_conf: pulumi.Output[str] | None = None


def read_stack() -> StackSettings:
    """The current stack's settings. Raises :class:`StackRefused` with every error of the configuration."""
    try:
        return _read(dict(pulumi.runtime.config.CONFIG.get()))
    except ConfigError as error:
        raise StackRefused(str(error)) from None


def read_sections(sections: Mapping[str, object], database_password: pulumi.Input[str] | None = None) -> StackSettings:
    """The same of sections that a program gives; secrets are the stack's all the same, but for a ``database_password`` that
    another resource gives. Raises :class:`ConfigError` with every error."""
    kept = {f"{PROJECT}:{name}" for name in SECRET_KEYS}
    raw = {key: text for key, text in pulumi.runtime.config.CONFIG.get().items() if key in kept}
    raw |= {f"{PROJECT}:{name}": json.dumps(section) for name, section in sections.items()}
    return _read(raw, None if database_password is None else pulumi.Output.secret(database_password))


def _read(raw: dict[str, str], given_password: pulumi.Output[str] | None = None) -> StackSettings:
    own = {name: raw[key] for name, key in own_names(raw).items()}
    secret = frozenset(name for name in own if pulumi.runtime.config.is_config_secret(f"{PROJECT}:{name}"))
    values = values_of(own, secret if given_password is None else secret | {"databasePassword"})
    password, material = own.get("databasePassword"), values.keys
    pems = {name: key.pem for name, key in material.rsa.items()}
    jwks, public = material.slurm_jwks(), material.token_set()
    outputs = KeyOutputs(
        values={name: _hidden(found) for name, found in (*material.raw.items(), *pems.items())},
        slurm_jwks=None if jwks is None else _hidden(jwks),
        token_set=None if public is None else public.decode(),
    )
    own_password = None if password is None else pulumi.Output.secret(password)
    secret_password = own_password if given_password is None else given_password
    conf = own.get("sssdConf")
    secret_conf = None if conf is None else pulumi.Output.secret(conf)
    return StackSettings(values.config, values.findings, secret_password, outputs, secret_conf)


def _hidden(raw: bytes) -> pulumi.Output[str]:
    return pulumi.Output.secret(to_secret_data(raw))
