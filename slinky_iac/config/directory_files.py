"""What `identity.sssd` reads of files and secrets, judged before anything is made."""

from __future__ import annotations

from configparser import Error, RawConfigParser
from pathlib import Path
from typing import Final

from slinky_iac.errors import ConfigError

MOST: Final = 1 << 18


def read_ca(name: str) -> str:
    """A certificate authority's PEM. Raises :class:`ConfigError` for what can't be read, and for a private key."""
    path = "identity.sssd.caFile"
    try:
        with Path(name).open("rb") as file:
            text = file.read(MOST + 1).decode()
    except OSError as fault:
        raise ConfigError((f"{path}: can't be read: {fault.strerror}; give a path relative to Pulumi.yaml",)) from None
    except UnicodeDecodeError:
        raise ConfigError((f"{path}: is no PEM file",)) from None
    if "PRIVATE KEY" in text:
        raise ConfigError((f"{path}: holds a private key, which pods don't need. Give the certificate alone",))
    if "-----BEGIN CERTIFICATE-----" not in text or len(text) > MOST:
        raise ConfigError((f"{path}: is no PEM file of certificates",))
    return text


def sssd_conf_faults(text: str) -> str:
    """Why sssd would end at its start with this sssd.conf; empty where it wouldn't, as far as that shows. Quotes nothing."""
    parser = RawConfigParser(strict=False, delimiters=("=",), comment_prefixes=("#", ";"))
    try:
        parser.read_string(text)
    except Error:
        return "can't be read as sections with parameters"
    named = [each.strip() for each in parser.get("sssd", "domains", fallback="").split(",") if each.strip()]
    lacking = [each for each in named if not parser.has_section(f"domain/{each}")]
    if not named or lacking:
        return "names no domain in [sssd], or one that has no section [domain/NAME]: sssd would not start"
    return ""
