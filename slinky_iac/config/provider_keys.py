"""The public keys of the stack's identity provider, read where they are a file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import ConfigError
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.keys.provider import Jwk, parsed, public_keys

MOST: Final = 1 << 18
"""Bytes of a key set: a hundred keys with their certificates have fewer."""
PATH: Final = "identity.oidc.jwksFile"


def provider_keys(config: StackConfig, own: KeyMaterial) -> tuple[Jwk, ...]:
    """The provider's keys that go into jwks.json; none where the stack has no provider, or daemons get no set.

    Raises :class:`ConfigError` for a set that can't be read or used, and for one that has a key of ``own``.
    """
    given = config.identity.oidc
    if given is None or not config.keys.has_token_keys or config.keys.auth == "auth/munge":
        return ()
    try:
        found = public_keys(given.jwks) if given.jwks is not None else parsed(_read(given.jwks_file or ""))
    except ValueError as wrong:
        path = PATH if given.jwks is None else "identity.oidc.jwks"
        raise ConfigError((f"{path}: {wrong}. Nothing was changed",)) from None
    moduli = {dict(key.jwk)["n"] for key in own.rsa.values()}
    kids = {key.kid for key in own.rsa.values()}
    if any(each["kid"] in kids or each["n"] in moduli for each in found):
        raise ConfigError(
            (
                "identity.oidc: the provider's set has a token key of this stack, or its kid: slurmctld couldn't tell them"
                " apart. Remove it from the set; if the provider signs with it, replace the stack's (`slinky keys rotate"
                " tokens`). Nothing was changed",
            )
        )
    return found


def _read(name: str) -> bytes:
    try:
        with Path(name).open("rb") as file:
            text = file.read(MOST + 1)
    except OSError as fault:
        raise ValueError(f"can't be read: {fault.strerror}; give a path relative to Pulumi.yaml") from None
    if len(text) > MOST:
        raise ValueError(f"has more than {MOST} bytes; give the public key set alone")
    return text
