"""What settings name as files, and sssd.conf: read and judged before anything is made."""

from __future__ import annotations

from configparser import Error, RawConfigParser
from pathlib import Path
from typing import Final

from slinky_iac.config.small_files import read
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import ConfigError
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.keys.provider import Jwk, parsed, public_keys

MOST: Final = 1 << 18
"""Bytes of a file: certificates and key sets, a hundred keys with their certificates included, have fewer."""


def read_ca(name: str) -> str:
    """A certificate authority's PEM. Raises :class:`ConfigError` for what can't be read, and for a private key."""
    path = "identity.sssd.caFile"
    try:
        text = read(Path(name), MOST, "the most that is read. Give a PEM file of certificates").decode()
    except UnicodeDecodeError:
        raise ConfigError((f"{path}: isn't a PEM file",)) from None
    except ValueError as wrong:
        raise ConfigError((f"{path}: {wrong}",)) from None
    if "PRIVATE KEY" in text:
        raise ConfigError((f"{path}: holds a private key, which pods don't need. Give the certificate alone",))
    if "-----BEGIN CERTIFICATE-----" not in text:
        raise ConfigError((f"{path}: isn't a PEM file of certificates",))
    return text


def sssd_conf_faults(text: str) -> str:
    """Why sssd would end at its start with this sssd.conf; empty where it wouldn't, as far as that shows. Quotes nothing."""
    parser = RawConfigParser(strict=False, delimiters=("=",), comment_prefixes=("#", ";"))
    try:
        parser.read_string(text)
    except Error:
        return "can't be read as sections with parameters"
    named = [domain.strip() for domain in parser.get("sssd", "domains", fallback="").split(",") if domain.strip()]
    lacking = [domain for domain in named if not parser.has_section(f"domain/{domain}")]
    if not named or lacking:
        return "names no domain in [sssd], or one that has no section [domain/NAME]: sssd would not start"
    return ""


def provider_keys(config: StackConfig, own: KeyMaterial) -> tuple[Jwk, ...]:
    """The identity provider's keys that go into jwks.json; none where the stack has no provider, or daemons get no set.

    Raises :class:`ConfigError` for a set that can't be read or used, and for one that has a key of ``own``.
    """
    given = config.identity.oidc
    if given is None or not config.own_keys:
        return ()
    path, what = given.source
    try:
        if isinstance(what, str):
            keys = parsed(read(Path(what), MOST, "the most that is read. Give the public key set alone"))
        else:
            keys = public_keys(what)
    except ValueError as wrong:
        raise ConfigError((f"{path}: {wrong}. Nothing was changed",)) from None
    moduli = {dict(key.jwk)["n"] for key in own.rsa.values()}
    kids = {key.kid for key in own.rsa.values()}
    if any(key["kid"] in kids or key["n"] in moduli for key in keys):
        text = (
            "identity.oidc: the provider's set has a token key of this stack, or its kid: slurmctld couldn't tell them"
            " apart. Remove it from the set; if the provider signs with it, replace the stack's (`slinky keys rotate"
            " tokens`). Nothing was changed"
        )
        raise ConfigError((text,))
    return keys
