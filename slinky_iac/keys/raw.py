"""Form and checks of slurm.key and the JWT HS256 key. Values go through; they never enter a message, a name or an ID.

Slurm reads the raw bytes of both files: a trailing line break counts, base64 text is not decoded (auth/slurm and
auth/jwt pages of Slurm's documentation; run on 24.11 and 26.05).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import string
import zlib

from slinky_iac.errors import KeyMaterialError

GENERATED_LENGTH = 1024
"""Characters of a generated key: letters and digits, about 6,000 bits; Slinky's chart makes keys of the same length."""
MINIMUM_BYTES = 32
"""RFC 7518 section 3.2 asks for 32 bytes for HS256; Slurm itself would take a single byte."""
MAXIMUM_BYTES = 65536
"""The largest key that was seen to work."""
SHORTEST_RANDOM_TEXT = 96
"""A text of letters that is this long is taken for random, a shorter one for words."""

MINIMUM_DISTINCT = 8
"""Different bytes that a key has at least. 32 random hexadecimal digits have fewer once in ten million cases."""
MINIMUM_PACKED = 28
"""Bytes that are left of a key, at the least, when DEFLATE has packed it: a pattern repeated is no longer key."""
_PEM = b"-----BEGIN "
_PEM_LINE = re.compile(rb"-----[^\n]*-----")

_TEXT = frozenset((string.ascii_letters + string.digits + string.punctuation + " \t").encode())


def decode(name: str, text: str, *, allow_trailing_newline: bool) -> bytes:
    """The bytes of a key given as base64 in the secret configuration value ``name``.

    Raises :class:`KeyMaterialError`, which describes the fault without showing any of the key.
    """
    how = f"base64 -w0 FILE | pulumi config set --secret slinky-iac:{name}"
    try:
        raw = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise KeyMaterialError(
            f"{name}: is not base64. The key's raw bytes must arrive unchanged, so they are given as base64: {how}"
        ) from None
    check(name, raw, allow_trailing_newline=allow_trailing_newline)
    return raw


def check(name: str, raw: bytes, *, allow_trailing_newline: bool) -> None:
    """Refuse a key that is too short, too long, or text with a stray line break at its end."""
    if not MINIMUM_BYTES <= len(raw) <= MAXIMUM_BYTES:
        raise KeyMaterialError(
            f"{name}: has {len(raw)} bytes; {MINIMUM_BYTES} to {MAXIMUM_BYTES} are allowed. So it isn't the whole key, or is"
            " another file: compare with `wc -c` where the daemons run, copy their file again, byte for byte, and import"
            " that. A new key would cut off every daemon that runs. If theirs really is so short, it can be guessed:"
            " `slinky docs keys 'planned stop'` has how it is replaced"
        )
    _require_random(name, raw)
    if raw.endswith(b"\n") and not allow_trailing_newline and _TEXT.issuperset(raw.rstrip(b"\r\n")):
        raise KeyMaterialError(
            f"{name}: is text that ends with a line break, as an editor or echo leaves it. Slurm reads the break as part of"
            " the key, so it must be the same on every host. If the outside file really ends with it, set"
            " keys.allowTrailingNewline: true; else encode the file itself with base64 -w0"
        )


def _require_random(name: str, raw: bytes) -> None:
    """Refuse what anybody may guess or have. A PEM of a *private* key is a key like any other: older pages of Slurm's
    (jwt.html, 20.02 to 20.11) made jwt_hs256.key by `openssl genrsa`."""
    new = "Make a new one on the outside hosts, for example of 1024 random bytes, and import that"
    first = raw.lstrip().split(b"\n", 1)[0]
    if first.startswith(_PEM) and b"PRIVATE KEY" not in first:
        raise KeyMaterialError(
            f"{name}: is a PEM of something public, a public key or a certificate: anyone who has it could act as any"
            f" daemon or user. {new}"
        )
    secret = _PEM_LINE.sub(b"", raw) if first.startswith(_PEM) else raw
    if len(set(secret)) < MINIMUM_DISTINCT or _packed(secret) < MINIMUM_PACKED:
        raise KeyMaterialError(
            f"{name}: has {len(raw)} bytes, but {len(set(secret))} different ones only, or a pattern that repeats: it can be"
            f" guessed. {new}"
        )


def _packed(raw: bytes) -> int:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return len(packer.compress(raw) + packer.flush())


def is_like_a_passphrase(raw: bytes) -> bool:
    """Whether a key may be words that a person chose: short, and of letters of one case, blanks and dashes only. Its
    fingerprint is public, so words can be tried against it without asking any daemon."""
    text = raw.rstrip(b"\r\n")
    letters = re.fullmatch(rb"([a-z]+|[A-Z]+)([ ._-]([a-z]+|[A-Z]+|[0-9]+))*", text)
    return len(text) < SHORTEST_RANDOM_TEXT and letters is not None


def fingerprint(raw: bytes) -> str:
    """``SHA256:`` and the base64 of the hash, as ssh-keygen prints it: safe to show, made to be compared.

    On a host: ``openssl dgst -sha256 -binary /etc/slurm/slurm.key | base64``.
    """
    return "SHA256:" + base64.b64encode(hashlib.sha256(raw).digest()).decode().rstrip("=")


def to_secret_data(raw: bytes) -> str:
    """The value of a Kubernetes Secret's ``data`` entry."""
    return base64.b64encode(raw).decode()


def kid(raw: bytes) -> str:
    """The name under which both halves of a cluster know a key (RFC 7517, ``kid``): made of its hash, so that no list of
    names has to be kept. It is in every token in the clear; 64 bits of a hash tell nothing about a key of 256."""
    return f"sha256-{hashlib.sha256(raw).hexdigest()[:16]}"


def several_keys(default: bytes, *others: bytes) -> bytes:
    """The bytes of a slurm.jwks that signs with ``default`` and takes tokens of all. Slurm 24.05 or newer (auth/slurm
    ``internal.c``, ``_build_key_list``).

    A host that has only slurm.key sends tokens without ``kid``, which are checked with the default key: so a key becomes
    the default only when every host has a slurm.jwks.
    """
    keys = [
        {"alg": "HS256", "kty": "oct", "kid": kid(raw), "k": base64.b64encode(raw).decode()}
        for raw in dict.fromkeys((default, *others))
    ]
    keys[0]["use"] = "default"
    return document(keys)


def keys_in(document: bytes) -> list[bytes]:
    """The keys in a slurm.jwks, the one that signs included. Raises ValueError, which quotes nothing."""
    try:
        return [base64.b64decode(str(jwk["k"]), validate=True) for jwk in json.loads(document)["keys"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError("slurm.jwks: isn't a set of keys that this program made") from None


def document(entries: list[dict[str, str]]) -> bytes:
    """A JWK Set (RFC 7517)."""
    return (json.dumps({"keys": entries}, sort_keys=True, separators=(",", ":")) + "\n").encode()
