"""The keys of a stack's configuration, decrypted, for as long as this process lives; and new ones.

A rotation that was cut short between two settings leaves the configuration as no program may run it, so it is read here
without the rules that :mod:`slinky_iac.stack_config` holds it to.
"""

from __future__ import annotations

import json
import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from slinky_iac import keys, token_keys
from slinky_iac.config.load import load
from slinky_iac.config.stack import COMING_KEYS, PROJECT, SECRET_KEYS, TOKEN_KEYS, StackConfig
from slinky_iac.errors import KeyMaterialError, StateError
from slinky_iac.key_lifecycle.engine import Engine

OWN: Final = ("slurmKey", "jwtKey", *COMING_KEYS)
_LETTERS: Final = string.ascii_letters + string.digits


@dataclass(frozen=True)
class Material:
    """A stack's settings and the raw bytes of those keys that are set."""

    config: StackConfig
    keys: Mapping[str, bytes] = field(repr=False)
    tokens: Mapping[str, token_keys.TokenKey] = field(default_factory=dict, repr=False)
    """RSA keys by their names; those that are set."""

    def fingerprint(self, name: str) -> str | None:
        """Fingerprint of a key by its name; None where it isn't set."""
        raw = self.keys.get(name)
        return None if raw is None else keys.fingerprint(raw)

    def jwks(self) -> bytes | None:
        """slurm.jwks as the set keys make it: signs with slurmKey, and takes what comes or goes."""
        if "slurmKey" not in self.keys:
            return None
        others = (self.keys.get(name) for name in ("slurmKeyNext", "slurmKeyPrevious"))
        return keys.jwks(self.keys["slurmKey"], *(raw for raw in others if raw is not None))


def read(engine: Engine) -> Material:
    """The keys and settings of a stack. Raises StateError, ConfigError, KeyMaterialError (a munge cluster has none of
    these keys, too); no message holds a key."""
    try:
        listed: Mapping[str, Any] = json.loads(engine.pulumi("config", "--json", "--show-secrets"))
        texts = {k.split(":", 1)[1]: str(v.get("value") or "") for k, v in listed.items() if k.startswith(f"{PROJECT}:")}
        config = load({name: json.loads(text) for name, text in texts.items() if name not in SECRET_KEYS})
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise StateError("`pulumi config --json` printed something else than this project's configuration") from None
    if config.keys.auth == "auth/munge":
        raise KeyMaterialError(
            "keys.auth is auth/munge: this stack has munge.key alone, neither slurm.key nor a JWT key. docs/munge.md says"
            " how to set it and how to replace it. Nothing was changed"
        )
    newline = config.keys.allow_trailing_newline
    return Material(
        config,
        {n: keys.decode(n, texts[n], allow_trailing_newline=newline) for n in OWN if n in texts},
        {n: token_keys.decode(n, texts[n]) for n in TOKEN_KEYS if n in texts},
    )


def generate() -> bytes:
    """A new key: letters and digits, without a line break, so that no editor or shell can change it unseen."""
    return "".join(secrets.choice(_LETTERS) for _ in range(keys.GENERATED_LENGTH)).encode()
