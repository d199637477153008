"""Which tokens a slurmctld takes, by its own AuthAltTypes and AuthAltParameters: said here for all that asks a host. Pure.

Source: auth_jwt.c (``init_jwks``, ``init_hs256``). slurmdbd has no default place of the key, and ends without jwt_key=.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

DEFAULT_FILE: Final = "jwt_hs256.key"
"""The key's name in StateSaveLocation, where slurmctld looks without jwt_key= and without jwks=."""
LACKS_KEY: Final = (
    "slurmctld takes tokens of an identity provider ({jwks}) and none that is signed with a key, as slurm-operator's are."
)


@dataclass(frozen=True)
class TokenKeys:
    """Files by which slurmctld judges tokens; empty where it takes none of that kind."""

    hs256: str = ""
    jwks: str = ""
    by_default: bool = False
    """``hs256`` is the default place: no parameter names it."""


def token_keys(types: Iterable[str], parameters: str, state: str) -> TokenKeys:
    """From AuthAltTypes, AuthAltParameters and StateSaveLocation (empty: not known)."""
    if "auth/jwt" not in types:
        return TokenKeys()
    named = dict(item.partition("=")[::2] for item in parameters.split(",") if "=" in item)
    key, jwks = named.get("jwt_key", ""), named.get("jwks", "")
    if key or jwks:
        return TokenKeys(key, jwks)
    return TokenKeys(f"{state or 'StateSaveLocation'}/{DEFAULT_FILE}", by_default=True)


def completed(recorded: str, needed: str) -> str:
    """A parameter's recorded items and those of ``needed`` that it lacks, by what is before their ``=``: a line to paste
    never drops what a site has."""
    there = [item for item in recorded.split(",") if item]
    names = {item.partition("=")[0].lower() for item in there}
    return ",".join([*there, *(item for item in needed.split(",") if item and item.partition("=")[0].lower() not in names)])
