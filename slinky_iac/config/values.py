"""From the configuration's texts to one checked value and the imported keys: the same for the program and for commands.

Secrets stay out of :class:`StackConfig`. A section that holds a secret anywhere is refused before it is read, since
settings are shown in previews, pod specs and messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from slinky_iac import keys
from slinky_iac.config.findings import Finding, acknowledged, warning
from slinky_iac.config.load import load
from slinky_iac.config.rules import findings, require_sound
from slinky_iac.config.shown import name_of, place
from slinky_iac.config.stack import COMING_KEYS, PROJECT, SECRET_KEYS, TOKEN_KEYS, StackConfig
from slinky_iac.errors import ConfigError, KeyMaterialError

if TYPE_CHECKING:
    from slinky_iac.token_keys import TokenKey

Key = TypeVar("Key")
_PASSWORD = re.compile(r'(?!")[^\s#\\]+')


@dataclass(frozen=True)
class Values:
    """A sound configuration, what is to say about it, and the raw bytes of slurm.key and the JWT key where they are
    imported and were given."""

    config: StackConfig
    findings: tuple[Finding, ...]
    keys: tuple[bytes, bytes] | None = field(default=None, repr=False)
    coming: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Raw bytes of those of :data:`slinky_iac.config.stack.COMING_KEYS` that are set: a key is being rotated."""
    being_replaced: frozenset[str] = frozenset()
    """Names of those of :data:`slinky_iac.config.stack.COMING_KEYS` that are set, also where no key was given."""
    munge_key: bytes | None = field(default=None, repr=False)
    """munge.key, where the cluster has auth/munge and it is imported."""
    tokens: Mapping[str, TokenKey] = field(default_factory=dict, repr=False)
    """Those of :data:`slinky_iac.config.stack.TOKEN_KEYS` that are set; none with ``keys.tokens: hs256``."""

    @property
    def has_two_slurm_keys(self) -> bool:
        """Daemons know two keys of auth/slurm now, since one is being replaced under running jobs. Who joins needs both."""
        return self.config.keys.jwks and bool(self.being_replaced & {"slurmKeyNext", "slurmKeyPrevious"})

    def slurm_jwks(self) -> bytes | None:
        """slurm.jwks as these keys make it; None where slurm.key isn't imported."""
        if self.keys is None:
            return None
        others = (self.coming.get(name) for name in ("slurmKeyNext", "slurmKeyPrevious"))
        return keys.jwks(self.keys[0], *(raw for raw in others if raw is not None))

    def token_set(self) -> bytes | None:
        """jwks.json: the public halves of all token keys that are set; None where there is none."""
        if not self.tokens:
            return None
        from slinky_iac.token_keys import jwks  # noqa: PLC0415

        return jwks(self.tokens.values())


def own_names(keys: Iterable[str]) -> dict[str, str]:
    """This program's values by name, each with the key that the engine has it under.

    Raises :class:`ConfigError` where ``cluster`` is there under another project's name: a key that is written without a
    prefix gets the name in Pulumi.yaml.
    """
    pairs = [(key, *key.rpartition(":")[::2]) for key in keys]
    found = {name: key for key, prefix, name in pairs if prefix == PROJECT}
    for _, prefix, name in pairs:
        if name == "cluster" and "cluster" not in found and prefix != PROJECT:
            raise ConfigError((f"cluster: found {name_of(prefix)}:cluster; sections of this program begin with {PROJECT}:",))
    return found


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
        f"{place(name)}: holds a secret, but settings are shown in previews and pod specs; only"
        f" {', '.join(SECRET_KEYS)} are secret"
        for name in sorted(secret - set(SECRET_KEYS))
    ]
    if faults:
        raise ConfigError(tuple(faults))
    config = settings_of(own)
    found = require_sound(findings(config, secret))
    coming = secret & frozenset(COMING_KEYS)
    if not with_keys:
        return Values(config, found, being_replaced=coming)
    _require_readable_password(config, own)
    if config.keys.auth == "auth/munge":
        wanted = ("mungeKey",) if config.keys.source == "imported" else ()
        return Values(config, found, munge_key=_decoded(config, own, wanted).get("mungeKey"))
    imported, others = _imported(config, own), _coming(config, own)
    named = dict(zip(("slurmKey", "jwtKey"), imported or (), strict=False)) | others
    words = acknowledged(_words(named), config.acknowledged)
    return Values(
        config,
        (*found, *words),
        imported,
        others,
        coming,
        tokens=_tokens(config, own),
    )


def _words(found: Mapping[str, bytes]) -> Iterable[Finding]:
    return (
        warning(
            name,
            "looks like words that a person chose, and its fingerprint stands in outputs, previews and handed-over files,"
            " where words can be tried against it. Replace it by random bytes: docs/keys.md",
            id="key-looks-like-words",
        )
        for name, raw in found.items()
        if keys.is_like_a_passphrase(raw)
    )


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


def _imported(config: StackConfig, own: Mapping[str, str]) -> tuple[bytes, bytes] | None:
    if config.keys.source != "imported":
        return None
    raw = _decoded(config, own, ("slurmKey", "jwtKey"))
    if raw["slurmKey"] == raw["jwtKey"]:
        raise ConfigError(
            ("jwtKey: is the same key as slurmKey; whoever may sign tokens could then be any daemon. Make two keys",)
        )
    return raw["slurmKey"], raw["jwtKey"]


def _coming(config: StackConfig, own: Mapping[str, str]) -> dict[str, bytes]:
    return _decoded(config, own, tuple(name for name in COMING_KEYS if name in own))


def _tokens(config: StackConfig, own: Mapping[str, str]) -> dict[str, TokenKey]:
    if not config.keys.has_token_keys:
        return {}
    # Every program reads its configuration, and few have RSA keys: these cost a tenth of a second to import.
    from slinky_iac.token_keys import decode  # noqa: PLC0415

    return _each((name for name in TOKEN_KEYS if name in own), lambda name: decode(name, own[name]))


def _decoded(config: StackConfig, own: Mapping[str, str], wanted: tuple[str, ...]) -> dict[str, bytes]:
    allowed = config.keys.allow_trailing_newline
    return _each(wanted, lambda name: keys.decode(name, own[name], allow_trailing_newline=allowed))


def _each(wanted: Iterable[str], read: Callable[[str], Key]) -> dict[str, Key]:
    """Keys by name. Raises :class:`ConfigError` with the faults of all that can't be read."""
    faults: list[str] = []
    found: dict[str, Key] = {}
    for name in wanted:
        try:
            found[name] = read(name)
        except KeyMaterialError as error:
            faults.append(str(error))
    if faults:
        raise ConfigError(tuple(faults))
    return found
