"""From the configuration's texts to one checked value and the imported keys: the same for the program and for commands.

Secrets stay out of :class:`StackConfig`. A section that holds a secret anywhere is refused before it is read, since
settings are shown in previews, pod specs and messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from slinky_iac.config.files import provider_keys, sssd_conf_faults
from slinky_iac.config.findings import Finding, acknowledged, at
from slinky_iac.config.reading.load import in_plain_text, load
from slinky_iac.config.reading.stack_file import other_prefix
from slinky_iac.config.rules.sections import findings, require_sound
from slinky_iac.config.shown import place
from slinky_iac.config.stack import PROJECT, SECRET_KEYS, StackConfig
from slinky_iac.errors import ConfigError
from slinky_iac.keys.catalogue import JWT, ROTATION_SECRETS, SLURM
from slinky_iac.keys.material import KeyMaterial, decoded
from slinky_iac.keys.raw import is_like_a_passphrase
from slinky_iac.keys.registry import SECRETS

_PASSWORD = re.compile(r'(?!")[^\s#\\]+')


@dataclass(frozen=True)
class Values:
    """A sound configuration, what is to say about it, and the keys that are imported and were given."""

    config: StackConfig
    findings: tuple[Finding, ...]
    keys: KeyMaterial = field(default_factory=KeyMaterial)
    rotation_secrets: frozenset[str] = frozenset()
    """Those of :data:`slinky_iac.keys.catalogue.ROTATION_SECRETS` that are set, also where no key was given."""
    plain: frozenset[str] = frozenset()
    """Keys that the stack's file has in plain text; looked for where a key is imported."""
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Keys that can't be decoded, by name, with the reason. Set for `keys import`; other commands fail on such a key."""

    @property
    def has_two_slurm_keys(self) -> bool:
        """Daemons know two keys of auth/slurm now, since one is being replaced under running jobs. Who joins needs both."""
        return bool(self.config.bundled) and not self.rotation_secrets.isdisjoint(SLURM.rotation_secrets)


def own_names(keys: Iterable[str]) -> dict[str, str]:
    """This program's values by name, each with the key that the engine has it under.

    Raises :class:`ConfigError` where ``cluster`` is there under another project's name: a key that is written without a
    prefix gets the name in Pulumi.yaml.
    """
    pairs = [(key, *key.rpartition(":")[::2]) for key in keys]
    values = {name: key for key, prefix, name in pairs if prefix == PROJECT}
    for _, prefix, name in pairs:
        if name == "cluster" and "cluster" not in values and prefix != PROJECT:
            raise ConfigError((f"cluster: {other_prefix(prefix, name)}",))
    return values


def values_of(own: Mapping[str, str], secret: frozenset[str], *, with_keys: bool = True) -> Values:
    """What ``own`` (texts by name, without the project's prefix) says; ``secret`` names those that are stored as secrets.

    ``with_keys`` False: the secrets' own texts weren't given, so no key is read or checked. Raises :class:`ConfigError` with
    every fault; it never holds a value.
    """
    faults = [f"{name}: {in_plain_text(name)}" for name in SECRET_KEYS if name in own and name not in secret]
    faults += [
        f"{place(name)}: holds a secret, but settings are shown in previews and pod specs; only"
        f" {', '.join(SECRET_KEYS)} are secret"
        for name in sorted(secret - set(SECRET_KEYS))
    ]
    if faults:
        raise ConfigError(tuple(faults))
    config = settings_of(own)
    warnings = require_sound(findings(config, secret))
    rotating = secret & frozenset(ROTATION_SECRETS)
    if not with_keys:
        return Values(config, warnings, rotation_secrets=rotating)
    material = material_of(config, own)
    return Values(config, (*warnings, *words_in(config, material.raw)), material, rotating)


def material_of(config: StackConfig, own: Mapping[str, str]) -> KeyMaterial:
    """The keys that this configuration uses, of the secrets' texts by name; those that aren't in ``own`` aren't missed. The
    other secrets in it are judged too. Raises :class:`ConfigError` with every fault; it never holds a value."""
    _require_readable_password(config, own)
    if (config.identity.sssd is not None) and (wrong := sssd_conf_faults(own["sssdConf"]) if "sssdConf" in own else ""):
        raise ConfigError((f"sssdConf: {wrong}. Nothing was changed",))
    material = decoded(own, used(config), allow_trailing_newline=config.keys.allow_trailing_newline)
    if (jwt := material.of(JWT)) is not None and jwt == material.of(SLURM):
        raise ConfigError(
            ("jwtKey: is the same key as slurmKey; anyone who may sign tokens could then act as any daemon. Make two keys",)
        )
    return replace(material, provider=provider_keys(config, material))


def values_as_they_are(own: Mapping[str, str]) -> Values:
    """The same without the rules, with every key that is set: a rotation that was cut short between two settings leaves the
    configuration as no program may run it. Raises :class:`ConfigError` for a section or a key that can't be read."""
    config = settings_of(own)
    material = decoded(own, SECRETS, allow_trailing_newline=config.keys.allow_trailing_newline)
    return Values(config, (), replace(material, provider=provider_keys(config, material)))


def values_to_import(own: Mapping[str, str], secret: frozenset[str]) -> Values:
    """The same, for who sets a key: one that can't be read, or is in plain text, is named and stops nothing. Raises
    :class:`ConfigError` for a section that can't be read."""
    config = settings_of(own)
    unreadable: dict[str, str] = {}
    for name in SECRETS:
        try:
            decoded(own, (name,), allow_trailing_newline=config.keys.allow_trailing_newline)
        except ConfigError as wrong:
            unreadable[name] = "; ".join(wrong.faults)
    readable = [name for name in SECRETS if name not in unreadable]
    material = decoded(own, readable, allow_trailing_newline=config.keys.allow_trailing_newline)
    plain = frozenset(name for name in SECRETS if name in own and name not in secret)
    return Values(config, (), material, plain=plain, unreadable=unreadable)


def used(config: StackConfig) -> tuple[str, ...]:
    """Configuration values whose keys this configuration uses."""
    own = tuple(key.config for key in config.in_configuration)
    return (*own, *(name for key in (*config.auth.keys, *config.own_keys) for name in key.rotation_secrets))


def words_in(config: StackConfig, keys: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """Warnings of keys that a person may have chosen."""
    warnings = (
        at(name).warning(
            "looks like words that a person chose, and its fingerprint is shown in outputs, previews and handed-over files,"
            " where words can be tried against it. Replace it by random bytes: `slinky docs keys`",
            id="key-looks-like-words",
        )
        for name, raw in keys.items()
        if is_like_a_passphrase(raw)
    )
    return acknowledged(warnings, config.acknowledged)


def settings_of(own: Mapping[str, str]) -> StackConfig:
    """The settings among ``own``, without the rules that hold between them: for who looks at a stack that may be between two
    steps. Raises :class:`ConfigError` where a section can't be read."""
    return load({name: _parsed(name, text) for name, text in own.items() if name not in SECRET_KEYS})


def _parsed(name: str, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # also numbers of over 4,300 digits, and nesting that no person writes
        raise ConfigError((f"{place(name)}: is a single value; it must be a mapping of settings",)) from None


def _require_readable_password(config: StackConfig, own: Mapping[str, str]) -> None:
    """Raises :class:`ConfigError` for a password of the database that slurmdbd would read otherwise than it was set.

    The operator writes it into slurmdbd.conf as it is (``accounting_config.go``); there a ``#`` begins a comment, a ``\\``
    goes, and the value ends at a space (Slurm ``parse_config.c``).
    """
    given = own.get("databasePassword")
    if config.accounting.database is None or given is None:
        return
    if _PASSWORD.fullmatch(given) is None or not given.isprintable():
        raise ConfigError(
            (
                "databasePassword: is empty, begins with a quote, or holds a space, '#' or '\\'. The operator writes it into"
                " slurmdbd.conf as it is, and slurmdbd would read another one. Give the database's user another password",
            )
        )
