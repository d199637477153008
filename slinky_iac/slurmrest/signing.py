"""What signs a token: the raw bytes of the JWT key (HS256), or an RSA key whose public half slurmctld has (RS256).

Source: Slurm ``src/plugins/auth/jwt/auth_jwt.c``: HS256 over the raw bytes of jwt_hs256.key; with ``jwks=`` besides, RS256
by the key that the header's ``kid`` names.
"""

from __future__ import annotations

import jwt
from jwt.algorithms import HMACAlgorithm, RSAAlgorithm

from slinky_iac.errors import KeyMaterialError
from slinky_iac.keys.catalogue import NEXT_SUFFIX
from slinky_iac.keys.rsa import TokenKey, parse
from slinky_iac.kube.client import KubeClient
from slinky_iac.names import RS256, Tokens

SigningKey = bytes | TokenKey


class _SlurmHmac(HMACAlgorithm):
    """HMAC with a key as Slurm takes it: any bytes. PyJWT refuses what looks like PEM or a JWK and warns under 32 bytes,
    which guards verifiers against confusion; here nothing is verified, and the bytes are those of Slurm's own file."""

    def prepare_key(self, key: str | bytes) -> bytes:
        return key if isinstance(key, bytes) else key.encode()

    def check_key_length(self, key: bytes) -> str | None:  # noqa: ARG002 - the signature is PyJWT's
        return None


class Signer:
    """Makes tokens of claims. Which algorithm is told by the key's type, never by its bytes: an HS256 key may be any."""

    def __init__(self) -> None:
        self._jws = jwt.PyJWS(algorithms=[])
        self._jws.register_algorithm("HS256", _SlurmHmac(HMACAlgorithm.SHA256))
        self._jws.register_algorithm("RS256", RSAAlgorithm(RSAAlgorithm.SHA256))

    def sign(self, claims: bytes, key: SigningKey) -> str:
        """The token: ``claims`` is their JSON."""
        if isinstance(key, TokenKey):
            return self._jws.encode(claims, key.private, algorithm="RS256", headers={"kid": key.kid})
        return self._jws.encode(claims, key, algorithm="HS256")


def checked(keys: object) -> tuple[SigningKey, ...]:
    """The keys as a tuple. Raises :class:`KeyMaterialError` where there is none, or an empty one among them."""
    found = tuple(keys) if isinstance(keys, list | tuple) else ()
    if not found or not all(isinstance(key, bytes | TokenKey) and key for key in found):
        raise KeyMaterialError("the JWT key is missing or empty: slurmctld would refuse every token made with it")
    return found


def held(kube: KubeClient, namespace: str, secret: str, entry: str, tokens: Tokens) -> list[SigningKey]:
    """The keys that a Secret holds for signing, the likeliest first.

    For HS256 these may be two, while one is being replaced: slurmctld knows one of them. For RS256 it is one, since
    slurmctld knows the old and the new meanwhile. Raises KubeNotFound where it isn't there, KeyMaterialError where it is
    no key.
    """
    if tokens == RS256:
        (raw,) = kube.secret_entries(namespace, secret, entry)
        return [parse(f"Secret {namespace}/{secret}: {entry}", raw)]
    return [*kube.secret_entries(namespace, secret, entry, entry + NEXT_SUFFIX)]
