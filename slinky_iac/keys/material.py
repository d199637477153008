"""The keys that a stack's configuration holds, decrypted, for as long as this process lives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from slinky_iac.errors import ConfigError, KeyMaterialError
from slinky_iac.keys import raw
from slinky_iac.keys.catalogue import Key
from slinky_iac.keys.form import RAW, Pair
from slinky_iac.keys.registry import FORMS, PUBLIC, ROTATING


@dataclass(frozen=True)
class KeyMaterial:
    """Keys by the names of their configuration values; those that are set."""

    raw: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    rsa: Mapping[str, Pair] = field(default_factory=dict, repr=False)
    provider: tuple[Mapping[str, str], ...] = ()
    """Public keys of an identity provider, which go into jwks.json too."""

    def of(self, key: Key) -> bytes | None:
        """The raw bytes of the key in use; None where it isn't set."""
        return self.raw.get(key.config)

    def secret(self, name: str) -> bytes | None:
        """What the configuration value ``name`` holds, a PEM for RSA; None where it isn't set."""
        key = self.rsa.get(name)
        return key.pem if key is not None else self.raw.get(name)

    def kid(self, name: str) -> str | None:
        """Name of an RSA key by its configuration value; None where it isn't set."""
        key = self.rsa.get(name)
        return None if key is None else key.kid

    def fingerprint(self, name: str) -> str | None:
        """Fingerprint of raw bytes by their configuration value; None where it isn't set."""
        key = self.raw.get(name)
        return None if key is None else raw.fingerprint(key)

    def bundle(self, key: Key) -> bytes | None:
        """The file in which daemons get all keys of this kind that are set; None where none is."""
        keys = {**self.raw, **self.rsa}
        others = [keys[name] for name in key.rotation_secrets if name in keys]
        return key.form.bundle(keys.get(key.config), others, self.provider)

    @property
    def bundles(self) -> dict[str, bytes]:
        """All such files that these keys make, by name."""
        documents = {key.bundle: self.bundle(key) for key in ROTATING if key.bundle}
        return {name: document for name, document in documents.items() if document is not None}

    @property
    def public(self) -> dict[str, bytes]:
        """The one of them that is no secret, if these keys make it, by its name."""
        return {name: document for name, document in self.bundles.items() if name == PUBLIC.bundle}


def decoded(texts: Mapping[str, str], names: Iterable[str], *, allow_trailing_newline: bool) -> KeyMaterial:
    """Those of the configuration values ``names`` that are set, from their texts.

    Raises :class:`ConfigError` with the faults of all that can't be read; it never holds a key.
    """
    plain: dict[str, bytes] = {}
    pairs: dict[str, Pair] = {}
    faults: list[str] = []
    for name in (value_name for value_name in names if value_name in texts):
        try:
            key = FORMS.get(name, RAW).decode(name, texts[name], allow_trailing_newline=allow_trailing_newline)
        except KeyMaterialError as error:
            faults.append(str(error))
        else:
            if isinstance(key, Pair):
                pairs[name] = key
            else:
                plain[name] = key
    if faults:
        raise ConfigError(tuple(faults))
    return KeyMaterial(plain, pairs)
