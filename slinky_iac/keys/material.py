"""The keys that a stack's configuration holds, decrypted, for as long as this process lives; and new ones."""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from slinky_iac.errors import ConfigError, KeyMaterialError
from slinky_iac.keys import public, raw
from slinky_iac.keys.catalogue import PAIRS, PUBLIC_FILES, ROTATING, Key

if TYPE_CHECKING:
    from slinky_iac.keys.rsa import TokenKey

Read = TypeVar("Read")
_LETTERS: Final = string.ascii_letters + string.digits


@dataclass(frozen=True)
class KeyMaterial:
    """Keys by the names of their configuration values; those that are set."""

    raw: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    rsa: Mapping[str, TokenKey] = field(default_factory=dict, repr=False)
    provider: tuple[Mapping[str, str], ...] = ()
    """Public keys of an identity provider, which go into jwks.json too."""

    def of(self, key: Key) -> bytes | None:
        """The raw bytes of the key in use; None where it isn't set."""
        return self.raw.get(key.config)

    def secret(self, name: str) -> bytes | None:
        """What the configuration value ``name`` holds, a PEM for RSA; None where it isn't set."""
        found = self.rsa.get(name)
        return found.pem if found is not None else self.raw.get(name)

    def kid(self, name: str) -> str | None:
        """Name of an RSA key by its configuration value; None where it isn't set."""
        found = self.rsa.get(name)
        return None if found is None else found.kid

    def fingerprint(self, name: str) -> str | None:
        """Fingerprint of raw bytes by their configuration value; None where it isn't set."""
        found = self.raw.get(name)
        return None if found is None else raw.fingerprint(found)

    def bundle(self, key: Key) -> bytes | None:
        """The file in which daemons get all keys of this kind that are set; None where none is. slurm.jwks signs with
        slurmKey, and takes the next and the previous one; jwks.json has public halves, and the provider's keys."""
        if key.is_pair:
            return public.public_set(self.rsa.values(), self.provider) if self.rsa else None
        own = self.of(key)
        return None if own is None else raw.several_keys(own, *(self.raw[n] for n in key.rotation_secrets if n in self.raw))

    @property
    def bundles(self) -> dict[str, bytes]:
        """All such files that these keys make, by name."""
        found = {key.bundle: self.bundle(key) for key in ROTATING if key.bundle}
        return {name: document for name, document in found.items() if document is not None}

    @property
    def public(self) -> dict[str, bytes]:
        """Those of them that are no secret."""
        return {name: document for name, document in self.bundles.items() if name in PUBLIC_FILES}


def decoded(texts: Mapping[str, str], names: Iterable[str], *, allow_trailing_newline: bool) -> KeyMaterial:
    """Those of the configuration values ``names`` that are set, from their texts.

    Raises :class:`ConfigError` with the faults of all that can't be read; it never holds a key.
    """
    wanted = [name for name in names if name in texts]
    faults: list[str] = []

    def read(name: str, how: Callable[[str, str], Read]) -> dict[str, Read]:
        try:
            return {name: how(name, texts[name])}
        except KeyMaterialError as error:
            faults.append(str(error))
            return {}

    def as_raw(name: str, text: str) -> bytes:
        return raw.decode(name, text, allow_trailing_newline=allow_trailing_newline)

    def as_rsa(name: str, text: str) -> TokenKey:
        # Every program reads its configuration, and few have RSA keys: these cost a tenth of a second to import.
        from slinky_iac.keys.rsa import decode  # noqa: PLC0415

        return decode(name, text)

    plain: dict[str, bytes] = {}
    rsa: dict[str, TokenKey] = {}
    for name in wanted:
        if name in PAIRS:
            rsa |= read(name, as_rsa)
        else:
            plain |= read(name, as_raw)
    if faults:
        raise ConfigError(tuple(faults))
    return KeyMaterial(plain, rsa)


def generate(key: Key) -> bytes:
    """A new key: a PEM for RSA, else letters and digits, without a line break, so that no editor or shell can change it
    unseen."""
    if key.is_pair:
        from slinky_iac.keys.rsa import generate as generate_rsa  # noqa: PLC0415

        return generate_rsa()
    return "".join(secrets.choice(_LETTERS) for _ in range(raw.GENERATED_LENGTH)).encode()


def known_as(key: Key) -> tuple[str, str]:
    """What it is known by, as JSON calls that; and a new one in words, which end before what it is known by."""
    if key.is_pair:
        return "kid", "RSA key, mode 0600, kid"
    return "fingerprint", f"key of {raw.GENERATED_LENGTH} characters, mode 0600,"


def described(key: Key, own: bytes) -> str:
    """One that is there in words, which end before what it is known by."""
    if key.is_pair:
        from slinky_iac.keys.rsa import parse  # noqa: PLC0415

        return f"an RSA key of {parse(key.config, own).private.key_size} bits, kid"
    return f"{len(own)} bytes,"


def whole(key: Key, where: str, own: bytes, *, allow_trailing_newline: bool) -> bytes:
    """The bytes as the configuration has them. Raises :class:`KeyMaterialError` for what isn't a key of this kind."""
    if key.is_pair:
        from slinky_iac.keys.rsa import parse  # noqa: PLC0415

        return parse(where, own).pem
    raw.check(where, own, allow_trailing_newline=allow_trailing_newline)
    return own


def known_by(key: Key, where: str, own: bytes) -> str:
    """What the key is known by: its kid, or its fingerprint. ``where``: of what a fault says that it isn't such a key.

    Raises :class:`KeyMaterialError` for bytes that are no RSA key where the key is one.
    """
    if key.is_pair:
        from slinky_iac.keys.rsa import parse  # noqa: PLC0415

        return parse(where, own).kid
    return raw.fingerprint(own)
