"""An identity provider's public keys (JWKS, RFC 7517), as they go beside the stack's own into jwks.json.

slurmctld ends at its start with a key that has no ``kid``, ``e`` or ``n``, and passes over all but RSA keys for RS256
(auth/jwt ``auth_jwt.c``). So only what it takes is kept of the provider's set, and no message quotes it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Final

from slinky_iac.keys.public import base64url, once

PRIVATE: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
"""Members that only a private or a symmetric key has (RFC 7518, sections 6.3.2 and 6.4)."""
LEAST_BITS: Final = 2048
MOST_BITS: Final = 8192
MOST_KEYS: Final = 100
Jwk = Mapping[str, str]


def parsed(text: bytes) -> tuple[Jwk, ...]:
    """The keys in a document. Raises ValueError, which says what is wrong and quotes nothing."""
    try:
        document = json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise ValueError("isn't the JSON of a key set (JWKS), or has a member twice") from None
    return public_keys(document)


def public_keys(document: object) -> tuple[Jwk, ...]:
    """The keys of a set that sign with RS256. Raises ValueError, which says what is wrong and quotes nothing."""
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list) or not all(isinstance(jwk, dict) for jwk in entries) or len(entries) > MOST_KEYS:
        raise ValueError(f"isn't a key set (JWKS): it must be a mapping with a list `keys` of at most {MOST_KEYS} mappings")
    if any(not PRIVATE.isdisjoint(jwk) or jwk.get("kty") == "oct" for jwk in entries):
        raise ValueError(
            "holds a private or a symmetric key: anyone who reads it can act as any user. Treat it as leaked, replace it at"
            " the provider, and give the public set (jwks_uri of its discovery document)"
        )
    keys: dict[str, Jwk] = {}
    for place, jwk in enumerate(entries):
        algorithm = str(jwk.get("alg", "RS256")).upper()  # without regard to case, as _build_jwks_keys compares it
        if jwk.get("kty") != "RSA" or jwk.get("use", "sig") != "sig" or algorithm != "RS256":
            continue
        key = _rsa(place, jwk)
        if key["kid"] in keys:
            raise ValueError(f"has two keys with the kid of its key {place + 1}; slurmctld selects a key by its kid")
        keys[key["kid"]] = key
    if not keys:
        raise ValueError("has no RSA key for RS256, the only kind that Slurm takes; let the provider sign with RS256")
    return tuple(keys.values())


def _rsa(place: int, entry: Mapping[str, Any]) -> Jwk:
    kid = entry.get("kid")
    if not isinstance(kid, str) or not 0 < len(kid) <= 256 or not kid.isprintable():
        raise ValueError(f"key {place + 1} of the set has no kid, by which slurmctld selects a key. {_COPY}")
    which = f"key {place + 1} of the set (kid {kid if len(kid) <= _SHOWN else f'{kid[:_SHOWN]}…'})"
    modulus, exponent = _number(which, entry.get("n")), _number(which, entry.get("e"))
    if not modulus % 2:
        raise ValueError(f"{which} has an n that is even, as that of no RSA key is. {_COPY}")
    if not LEAST_BITS <= modulus.bit_length() <= MOST_BITS:
        raise ValueError(f"{which} is an RSA key of {modulus.bit_length()} bits; {LEAST_BITS} to {MOST_BITS} are allowed")
    if exponent < 3 or not exponent % 2 or exponent.bit_length() > 64:
        raise ValueError(f"{which} has an exponent that no RSA key has. {_COPY}")
    return {"alg": "RS256", "e": _text(exponent), "kid": kid, "kty": "RSA", "n": _text(modulus), "use": "sig"}


_SHOWN: Final = 12
"""Characters of a kid that a message shows: it is public, and tells the keys of a set apart."""
_COPY: Final = "Copy the whole set from your identity provider's jwks_uri"


def _number(which: str, text: object) -> int:
    wrong = ValueError(f"{which} has no RSA numbers n and e: copy the whole set from your identity provider's jwks_uri")
    if not isinstance(text, str) or not text.isascii():
        raise wrong
    try:
        return int.from_bytes(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True), "big")
    except (binascii.Error, ValueError):
        raise wrong from None


def _text(number: int) -> str:
    return base64url(number.to_bytes((number.bit_length() + 7) // 8, "big"))
