"""The one reader of the engine's configuration: from its strings to one checked value and secret outputs beside it."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from slinky_iac import keys
from slinky_iac.config.findings import Finding
from slinky_iac.config.stack import PROJECT, StackConfig
from slinky_iac.config.values import own_names, values_of
from slinky_iac.errors import ConfigError


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
    jwt_key_next: pulumi.Output[str] | None = None
    """The JWT key that comes, while it is being rotated: base64, as the others."""
    slurm_jwks: pulumi.Output[str] | None = None
    """base64 of slurm.jwks with all keys of auth/slurm that are in use; None unless keys are imported."""
    munge_key: pulumi.Output[str] | None = None
    """base64 of munge.key; None unless the cluster has auth/munge and the key is imported."""
    munge_fingerprint: str | None = None
    token_key: pulumi.Output[str] | None = None
    """base64 of the RSA key that signs tokens; None with ``keys.tokens: hs256``."""
    token_set: str | None = None
    """jwks.json, which is public."""


def read_stack() -> StackSettings:
    """The current stack's settings. Raises :class:`pulumi.RunError` with every fault of the configuration, so that the
    user sees sentences and no traceback."""
    try:
        return _read(dict(pulumi.runtime.config.CONFIG.get()))
    except ConfigError as error:
        raise pulumi.RunError(str(error)) from None


def _read(raw: dict[str, str]) -> StackSettings:
    own = {name: raw[key] for name, key in own_names(raw).items()}
    secret = frozenset(name for name in own if pulumi.runtime.config.is_config_secret(f"{PROJECT}:{name}"))
    values = values_of(own, secret)
    raw_keys = values.keys
    password = own.get("databasePassword")
    return StackSettings(
        config=values.config,
        findings=values.findings,
        slurm_key=_secret(raw_keys, 0),
        jwt_key=_secret(raw_keys, 1),
        key_fingerprints=None if raw_keys is None else (keys.fingerprint(raw_keys[0]), keys.fingerprint(raw_keys[1])),
        database_password=None if password is None else pulumi.Output.secret(password),
        jwt_key_next=_hidden(values.coming.get("jwtKeyNext")),
        slurm_jwks=_hidden(values.slurm_jwks()),
        munge_key=_hidden(values.munge_key),
        munge_fingerprint=None if values.munge_key is None else keys.fingerprint(values.munge_key),
        token_key=_hidden(values.tokens["tokenKey"].pem) if "tokenKey" in values.tokens else None,
        token_set=None if (public := values.token_set()) is None else public.decode(),
    )


def _secret(raw: tuple[bytes, bytes] | None, index: int) -> pulumi.Output[str] | None:
    return None if raw is None else _hidden(raw[index])


def _hidden(raw: bytes | None) -> pulumi.Output[str] | None:
    return None if raw is None else pulumi.Output.secret(keys.to_secret_data(raw))
