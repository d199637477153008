"""Short-lived Slurm tokens, made as requests go out, from the key or the two keys that are in use: the raw bytes of the JWT
key (HS256), or an RSA key whose public half slurmctld has (RS256).

Source: Slurm ``src/plugins/auth/jwt/auth_jwt.c``: HS256 over the raw bytes of jwt_hs256.key; with ``jwks=`` besides, RS256
by the key that the header's ``kid`` names. ``exp`` and ``sun`` are needed, and times must be integers; ``exp`` is compared
with slurmctld's clock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import NoReturn

import httpx
import jwt
from jwt.algorithms import HMACAlgorithm

from slinky_iac.errors import KeyMaterialError, SlurmrestAuthError
from slinky_iac.keys.catalogue import NEXT_SUFFIX
from slinky_iac.keys.form import Pair
from slinky_iac.keys.registry import SIGNING
from slinky_iac.kube.client import KubeClient
from slinky_iac.slurmrest.answers import is_auth_refusal

HEADER = "X-SLURM-USER-TOKEN"
MAX_LIFE_S = 300
"""Slurm enforces no bound and a token can't be revoked, so a lost one should soon be worth nothing."""
SigningKey = bytes | Pair


class _SlurmHmac(HMACAlgorithm):
    """HMAC with a key as Slurm takes it: any bytes. PyJWT refuses what looks like PEM or a JWK and warns under 32 bytes,
    which guards verifiers against confusion; here nothing is verified, and the bytes are those of Slurm's own file."""

    def prepare_key(self, key: str | bytes) -> bytes:
        return key if isinstance(key, bytes) else key.encode()

    def check_key_length(self, key: bytes) -> str | None:  # noqa: ARG002 - the signature is PyJWT's
        return None


class Signer:
    """Makes tokens of claims. The key's type decides the algorithm, never its bytes: an HS256 key may be any."""

    def __init__(self) -> None:
        self._jws = jwt.PyJWS(algorithms=[])
        self._jws.register_algorithm("HS256", _SlurmHmac(HMACAlgorithm.SHA256))

    def sign(self, claims: bytes, key: SigningKey) -> str:
        """The token: ``claims`` is their JSON."""
        if isinstance(key, Pair):
            return key.sign(claims)
        return self._jws.encode(claims, key, algorithm="HS256")


def checked(keys: object) -> tuple[SigningKey, ...]:
    """The keys as a tuple. Raises :class:`KeyMaterialError` where there is none, or an empty one among them."""
    signing_keys = tuple(keys) if isinstance(keys, list | tuple) else ()
    if not signing_keys or not all(isinstance(key, bytes | Pair) and key for key in signing_keys):
        raise KeyMaterialError("the JWT key is missing or empty: slurmctld would refuse every token made with it")
    return signing_keys


def held(kube: KubeClient, namespace: str, secret: str, entry: str, algorithm: str) -> list[SigningKey]:
    """The keys that a Secret holds for signing, the likeliest first.

    These may be two while one is being replaced, where slurmctld knows one of them (HS256). Of a key of which it has several
    at once it is one. Raises KubeNotFound where it isn't there, KeyMaterialError where it is
    no key.
    """
    key, where = SIGNING[algorithm], f"Secret {namespace}/{secret}: {entry}"
    others = () if key.bundle else (entry + NEXT_SUFFIX,)
    return [key.form.signing(where, raw) for raw in kube.secret_entries(namespace, secret, entry, *others)]


class SlurmJwtAuth(httpx.Auth):
    """Adds a token to each request; on a refusal tries a fresh one, the next key, keys that are new since; then gives up.

    ``keys`` are raw file contents (HS256) or RSA keys (RS256): while an HS256 key is being rotated slurmctld knows one of
    two, for Slurm has no overlap for it. The key that worked is remembered. Nothing of it shows in ``repr``, and it can't
    be pickled.
    """

    requires_response_body = True

    def __init__(
        self,
        keys: Sequence[SigningKey],
        *,
        clock: Callable[[], float],
        again: Callable[[], Sequence[SigningKey]] | None = None,
        user: str = "slurm",
        life_s: int = MAX_LIFE_S,
    ) -> None:
        """``again`` gives the keys as they are now: a wait of hours may see one replaced.

        ``user`` (claim ``sun``) must be SlurmUser, root or an Admin known where slurmctld runs: with PrivateData
        set, others are shown fewer jobs than run. ``life_s`` at most 300; ``clock`` gives wall seconds.

        :raises KeyMaterialError: no key, or an empty one.
        """
        self._keys = checked(keys)
        self._again = again
        if not 2 <= life_s <= MAX_LIFE_S:
            raise ValueError(f"a token's life must be 2 to {MAX_LIFE_S} seconds, not {life_s}")
        self._user = user
        self._clock = clock
        self._life_s = life_s
        self._signer = Signer()
        self._works = 0
        self._token: tuple[int, str, int] | None = None

    def __repr__(self) -> str:
        return f"SlurmJwtAuth(user={self._user!r}, keys={len(self._keys)})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a fault of this program: a token's key was about to be stored. Nothing was stored. Report it with this"
            " traceback"
        )

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        for index, fresh in self._attempts():
            request.headers[HEADER] = self._token_of(index, fresh=fresh)
            response = yield request
            if not is_auth_refusal(response):
                self._works = index
                return
        raise SlurmrestAuthError(self._refused())

    def _attempts(self) -> Iterator[tuple[int, bool]]:
        """Index of the key and whether a fresh token is wanted; at the end, keys that weren't known before."""
        order = [self._works, *(i for i in range(len(self._keys)) if i != self._works)]
        yield from [(order[0], False), *((index, True) for index in order)]
        keys = checked(self._again()) if self._again is not None else self._keys
        unknown = [index for index, key in enumerate(keys) if key not in self._keys]
        if unknown:
            self._keys, self._works, self._token = keys, unknown[0], None
            yield from ((index, True) for index in unknown)

    def _refused(self) -> str:
        pairs = [key for key in self._keys if isinstance(key, Pair)]
        which = "the JWT key" if len(self._keys) == 1 else f"each of the {len(self._keys)} JWT keys"
        cause = (
            "the key isn't the bytes of slurmctld's jwt_hs256.key (a trailing newline counts; it reads a new key only on "
            "scontrol reconfigure)"
        )
        if pairs:
            which, cause = f"the RSA key {', '.join(key.kid for key in pairs)}", pairs[0].refused
        return (
            f"slurmctld refused fresh tokens for user {self._user!r} made with {which} (Slurm error 1007). It says the "
            f"same for four causes: {cause}; the versions (slurmrestd must not be newer than slurmctld); "
            f"the clock here is more than {self._life_s} s behind slurmctld's; or the user isn't known on its host. "
            "slurmctld's log tells which. Nothing was changed by this call"
        )

    def _token_of(self, index: int, *, fresh: bool) -> str:
        """The token at hand while less than half its life is over, else a new one."""
        now = int(self._clock())
        held = self._token
        if held is None or fresh or held[0] != index or not 0 <= now - held[2] < self._life_s // 2:
            held = (index, user_token(self._keys[index], self._user, now, self._life_s, self._signer), now)
            self._token = held
        return held[1]


def user_token(key: SigningKey, user: str, now: int, life_s: int, signer: Signer | None = None) -> str:
    """A token that is good from ``now`` for so many seconds."""
    claims = {"iat": now, "exp": now + life_s, "sun": user}
    return (signer or Signer()).sign(json.dumps(claims).encode(), key)
