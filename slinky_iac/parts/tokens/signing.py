"""What signs the tokens of gates and commands: three classes with the same attributes. All other code asks for these, never
which class it is. slurm-operator signs its own tokens with the JWT key in each case."""

from __future__ import annotations

from typing import ClassVar, Final

from slinky_iac.config.sections import Keys
from slinky_iac.keys.catalogue import JWT, Key
from slinky_iac.parts.tokens.key import TOKENS


class JwtKeySigns:
    """The JWT key, which daemons have too."""

    setting: ClassVar[str] = "hs256"
    """Its name in `keys.tokens`."""
    key: ClassVar[Key] = JWT
    """The key that signs."""
    own_keys: ClassVar[tuple[Key, ...]] = ()
    """RSA keys of the stack, of which daemons read the public half (jwks.json)."""
    at_hand: ClassVar[tuple[Key, ...]] = (JWT,)
    """Keys with which gates and commands sign, or will."""


class Prepared:
    """Still the JWT key: daemons get the public half of an RSA key first."""

    setting: ClassVar[str] = "prepared"
    key: ClassVar[Key] = JWT
    own_keys: ClassVar[tuple[Key, ...]] = (TOKENS,)
    at_hand: ClassVar[tuple[Key, ...]] = (JWT, TOKENS)


class TokenKeySigns:
    """An RSA key of the stack's own, which no daemon has."""

    setting: ClassVar[str] = "rs256"
    key: ClassVar[Key] = TOKENS
    own_keys: ClassVar[tuple[Key, ...]] = (TOKENS,)
    at_hand: ClassVar[tuple[Key, ...]] = (TOKENS,)


Signing = JwtKeySigns | Prepared | TokenKeySigns
_BY_SETTING: Final[dict[str, Signing]] = {
    signing.setting: signing for signing in (JwtKeySigns(), Prepared(), TokenKeySigns())
}


def signing_of(section: Keys) -> Signing:
    """The one that a stack's section means. This is the only place that chooses."""
    return _BY_SETTING[section.tokens]
