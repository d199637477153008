"""RSA keys for tests, made once a process: none is in the repository."""

from __future__ import annotations

import functools

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from slinky_iac.parts.tokens.rsa import TokenKey, parse


def private(which: str = "old", bits: int = 2048) -> rsa.RSAPrivateKey:
    """A key; each name has its own."""
    return _made(which, bits)


@functools.cache
def _made(_which: str, bits: int) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


@functools.cache
def pem(which: str = "old", bits: int = 2048) -> bytes:
    """The same as PEM (PKCS#8)."""
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return private(which, bits).private_bytes(encoding, form, serialization.NoEncryption())


@functools.cache
def token_key(which: str = "old") -> TokenKey:
    """The same as this program reads it."""
    return parse("tokenKey", pem(which))
