"""What settings name as files, and sssd.conf: read and judged before anything is made."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from configparser import Error, RawConfigParser
from pathlib import Path
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import ConfigError
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.keys.provider import Jwk, parsed, public_keys
from slinky_iac.parts.jobs.rules import script
from slinky_iac.parts.jobs.settings import Job

MOST: Final = 1 << 18
"""Bytes of a file: certificates and key sets, a hundred keys with their certificates included, have fewer."""
MOST_OF_A_SCRIPT: Final = 1 << 20
"""Bytes of a script: it is part of the state, and slurmctld takes 4 MiB (max_script_size)."""


def scripts_of(jobs: Mapping[str, Job], folder: Path | None = None) -> dict[str, str]:
    """The scripts by job; relative paths begin at ``folder``, by default the working folder. Raises :class:`ConfigError`
    with every script that can't be read or used."""
    found: dict[str, str] = {}
    faults: list[Finding] = []
    for name, job in jobs.items():
        if job.script is None:
            found[name] = f"#!/bin/sh\nexec {shlex.join(job.command)}\n"
        elif job.script.text is not None:
            found[name] = job.script.text
        else:
            where, file = f"jobs.{name}.script.file", (folder or Path()) / (job.script.file or "")
            try:
                found[name] = _read(
                    file, MOST_OF_A_SCRIPT, "the most that a script may have. Keep data in a file that the job reads"
                ).decode()
            except UnicodeDecodeError:
                faults.append(
                    at(where).error(
                        "isn't UTF-8 text, as a script is. For a program set `command`, or a script that starts it"
                    )
                )
            except ValueError as wrong:
                faults.append(at(where).error(str(wrong)))
            else:
                faults += script(where, found[name])
    if faults:
        raise ConfigError(tuple(f"{each}. Nothing was made" for each in faults))
    return found


def read_ca(name: str) -> str:
    """A certificate authority's PEM. Raises :class:`ConfigError` for what can't be read, and for a private key."""
    path = "identity.sssd.caFile"
    try:
        text = _read(Path(name), MOST, "the most that is read. Give a PEM file of certificates").decode()
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
    named = [each.strip() for each in parser.get("sssd", "domains", fallback="").split(",") if each.strip()]
    lacking = [each for each in named if not parser.has_section(f"domain/{each}")]
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
            found = parsed(_read(Path(what), MOST, "the most that is read. Give the public key set alone"))
        else:
            found = public_keys(what)
    except ValueError as wrong:
        raise ConfigError((f"{path}: {wrong}. Nothing was changed",)) from None
    moduli = {dict(key.jwk)["n"] for key in own.rsa.values()}
    kids = {key.kid for key in own.rsa.values()}
    if any(each["kid"] in kids or each["n"] in moduli for each in found):
        text = (
            "identity.oidc: the provider's set has a token key of this stack, or its kid: slurmctld couldn't tell them"
            " apart. Remove it from the set; if the provider signs with it, replace the stack's (`slinky keys rotate"
            " tokens`). Nothing was changed"
        )
        raise ConfigError((text,))
    return found


def _read(file: Path, most: int, instead: str) -> bytes:
    """Raises ValueError, which quotes nothing; ``instead``: what to do about a file of over ``most`` bytes."""
    try:
        with file.open("rb") as opened:
            content = opened.read(most + 1)
    except OSError as fault:
        raise ValueError(f"can't be read: {fault.strerror}; give a path relative to Pulumi.yaml") from None
    if len(content) > most:
        raise ValueError(f"has more than {most} bytes, {instead}")
    return content
