"""Which tokens a slurmctld takes, by its own AuthAltTypes and AuthAltParameters: said here for all that asks a host. Pure.

Source: auth_jwt.c (``init_jwks``, ``init_hs256``). slurmdbd has no default place of the key, and ends without jwt_key=.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm.plugins import bare
from slinky_iac.keys.catalogue import JWT


@dataclass(frozen=True)
class Judged:
    """Files by which slurmctld judges tokens; empty where it takes none of that kind."""

    key: str = ""
    """The JWT key."""
    jwks: str = ""
    by_default: bool = False
    """``key`` is the default place, in StateSaveLocation: no parameter names it."""

    @property
    def lacking(self) -> str:
        """What is wrong where it takes none that slurm-operator can make."""
        if not self.jwks:
            return "slurmctld takes no tokens."
        return (
            f"slurmctld takes tokens of an identity provider ({name_of(self.jwks)}) and none that is signed with a key, as"
            " slurm-operator's are."
        )


def judged_by(types: Iterable[str], parameters: str, state: str) -> Judged:
    """From AuthAltTypes, AuthAltParameters and StateSaveLocation (empty: not known)."""
    if "jwt" not in (bare("AuthAltTypes", kind) for kind in types):
        return Judged()
    named = dict(item.partition("=")[::2] for item in parameters.split(",") if "=" in item)
    key, jwks = named.get("jwt_key", ""), named.get("jwks", "")
    if key or jwks:
        return Judged(key, jwks)
    return Judged(f"{state or 'StateSaveLocation'}/{JWT.file}", by_default=True)
