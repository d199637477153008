"""The keys of a stack's configuration, decrypted, for as long as this process lives.

A rotation that was cut short between two settings leaves the configuration as no program may run it, so it is read here
without the rules that :mod:`slinky_iac.stack_config` holds it to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from slinky_iac.config.stack import StackConfig
from slinky_iac.config.values import values_as_they_are
from slinky_iac.errors import KeyMaterialError, StateError
from slinky_iac.key_lifecycle.engine import Engine
from slinky_iac.keys.catalogue import SLURM
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.keys.material import generate as new_key
from slinky_iac.keys.rsa import TokenKey
from slinky_iac.stack_config import own_texts


@dataclass(frozen=True)
class Material:
    """A stack's settings and the raw bytes of those keys that are set."""

    config: StackConfig
    keys: Mapping[str, bytes] = field(repr=False)
    tokens: Mapping[str, TokenKey] = field(default_factory=dict, repr=False)
    """RSA keys by their names; those that are set."""

    def fingerprint(self, name: str) -> str | None:
        """Fingerprint of a key by its name; None where it isn't set."""
        return KeyMaterial(self.keys).fingerprint(name)

    def jwks(self) -> bytes | None:
        """slurm.jwks as the set keys make it: signs with slurmKey, and takes the next and the previous one."""
        return KeyMaterial(self.keys).slurm_jwks()


def generate() -> bytes:
    """A new key of raw bytes."""
    return new_key(SLURM)


def read(engine: Engine) -> Material:
    """The keys and settings of a stack. Raises StateError, ConfigError, KeyMaterialError (a munge cluster has none of
    these keys, too); no message holds a key."""
    try:
        own, _ = own_texts(json.loads(engine.pulumi("config", "--json", "--show-secrets")))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise StateError("`pulumi config --json` printed something else than this project's configuration") from None
    found = values_as_they_are(own)
    if found.config.keys.auth == "auth/munge":
        raise KeyMaterialError(
            "keys.auth is auth/munge: this stack has munge.key alone, neither slurm.key nor a JWT key. docs/munge.md says"
            " how to set it and how to replace it. Nothing was changed"
        )
    return Material(found.config, found.keys.raw, found.keys.rsa)
