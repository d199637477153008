"""The key that this program signs its tokens with where ``keys.tokens`` isn't ``hs256``: RSA.

slurmctld and slurmdbd hold public keys only, any number of them, and choose by the token's ``kid`` (auth/jwt
``auth_jwt.c``; slurm.conf(5) AuthAltParameters ``jwks=``). So a key is replaced with an overlap, which the HS256 key has
not, and what leaks from their hosts signs nothing. The set is made from the private keys, never by hand. No message, name or
representation holds a private key.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import ClassVar, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt import PyJWS
from jwt.algorithms import RSAAlgorithm

from slinky_iac.errors import KeyMaterialError
from slinky_iac.keys.form import Pair
from slinky_iac.keys.public import base64url, thumbprint

MINIMUM_BITS: Final = 2048
"""RFC 7518 section 3.3 asks for as many for RS256."""
MAXIMUM_BITS: Final = 8192
"""A larger key takes a second to sign with, and its token fills the headers that proxies allow."""
GENERATED_BITS: Final = 3072
MAXIMUM_BYTES: Final = 65536
_BEGIN: Final = b"-----BEGIN "
_ALGORITHM: Final = "RS256"
_JWS: Final = PyJWS(algorithms=[])
_JWS.register_algorithm(_ALGORITHM, RSAAlgorithm(RSAAlgorithm.SHA256))


@dataclass(frozen=True)
class TokenKey(Pair):
    """An RSA private key, as an unencrypted PEM and read, and its name. Equal where the keys are."""

    refused: ClassVar[str] = (
        "its set of public keys hasn't this one (slurm.conf needs jwks= in AuthAltParameters, and it reads jwks.json only on"
        " scontrol reconfigure; `slinky preflight` shows both)"
    )

    pem: bytes = field(repr=False, compare=False)
    private: rsa.RSAPrivateKey = field(repr=False, compare=False)
    kid: str
    """Its RFC 7638 thumbprint: in every token in the clear, and made of the public half only."""
    jwk: tuple[tuple[str, str], ...] = field(repr=False, compare=False)
    """The public half, as the pairs of a JWK."""

    def sign(self, claims: bytes) -> str:
        return _JWS.encode(claims, self.private, algorithm=_ALGORITHM, headers={"kid": self.kid})


def decode(name: str, text: str) -> TokenKey:
    """The key that the secret configuration value ``name`` holds: base64 of a PEM file, or its text.

    Raises :class:`KeyMaterialError`, which describes the fault without showing any of the key.
    """
    if text.lstrip().startswith(_BEGIN.decode()):
        return parse(name, text.encode(errors="replace"))  # half a surrogate pair, from JSON, isn't a part of a PEM
    try:
        raw = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise KeyMaterialError(
            f"{name}: is neither a PEM nor base64 of one. `slinky keys generate tokens --out token.pem` makes"
            " a key, and `slinky keys import tokens --file token.pem` sets it"
        ) from None
    return parse(name, raw)


def parse(name: str, raw: bytes) -> TokenKey:
    """The key in a PEM file. ``name`` says in messages which one it is.

    Raises :class:`KeyMaterialError` for anything but an unencrypted RSA private key of 2048 to 8192 bits.
    """
    make = "Make one: `slinky keys generate tokens --out token.pem`"
    if not raw.lstrip().startswith(_BEGIN) or len(raw) > MAXIMUM_BYTES:
        raise KeyMaterialError(f"{name}: isn't a PEM file of a private key (it has {len(raw)} bytes). {make}")
    _refuse_others(name, raw.lstrip().split(b"\n", 1)[0], make)
    try:
        key = serialization.load_pem_private_key(raw, password=None)
    except TypeError:
        raise _encrypted(name) from None
    except (ValueError, UnsupportedAlgorithm):  # their texts may quote what they read
        raise KeyMaterialError(
            f"{name}: begins like a private key and can't be read: a part of it is missing. {make}"
        ) from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise KeyMaterialError(
            f"{name}: is a private key, but no RSA key; Slurm takes tokens of RSA keys only (RS256). {make}"
        )
    if not MINIMUM_BITS <= key.key_size <= MAXIMUM_BITS:
        raise KeyMaterialError(
            f"{name}: has {key.key_size} bits; {MINIMUM_BITS} to {MAXIMUM_BITS} are allowed. A shorter one can be broken, a"
            f" longer one makes tokens that don't fit a header. {make}"
        )
    numbers = key.public_key().public_numbers()
    needed = {"e": _number(numbers.e), "kty": "RSA", "n": _number(numbers.n)}
    kid = thumbprint({**needed, "kid": ""})
    return TokenKey(raw, key, kid, tuple(sorted({**needed, "alg": _ALGORITHM, "kid": kid, "use": "sig"}.items())))


def _refuse_others(name: str, first: bytes, make: str) -> None:
    """Refuse by a PEM's first line, which says what it is and holds no part of it."""
    if b"ENCRYPTED" in first:
        raise _encrypted(name)
    if b"PUBLIC KEY" in first or b"CERTIFICATE" in first:
        raise KeyMaterialError(
            f"{name}: is a public key or a certificate; the private key is needed, and the public set is made of it. {make}"
        )
    if b"PRIVATE KEY" not in first or b"OPENSSH" in first:
        raise KeyMaterialError(f"{name}: is a PEM, but of no private key as OpenSSL writes it (PKCS#8 or PKCS#1). {make}")


def _encrypted(name: str) -> KeyMaterialError:
    return KeyMaterialError(
        f"{name}: is encrypted with a passphrase, and a drain can't ask for it; the stack's secrets provider"
        " encrypts it in the stack's file. Decrypt it into a file of your own first: `openssl pkey -in FILE -out token.pem`"
    )


def generate() -> bytes:
    """A new private key as PEM (PKCS#8)."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=GENERATED_BITS)
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def _number(value: int) -> str:
    return base64url(value.to_bytes((value.bit_length() + 7) // 8, "big"))
