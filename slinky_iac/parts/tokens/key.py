"""The key of this program's tokens, with all the names that it has, and its form. It is RSA: the private half never leaves
the stack, and daemons have the public one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from slinky_iac import names
from slinky_iac.keys.catalogue import TOKEN_CHECKERS, Key
from slinky_iac.keys.form import Form, Pair
from slinky_iac.parts.tokens.public import public_set

if TYPE_CHECKING:
    from slinky_iac.parts.tokens.rsa import TokenKey


class RsaPair(Form[Pair]):
    """An RSA private key in a PEM file. Every program reads its configuration, and few have one: what reads them takes a
    tenth of a second to import, and is imported only then."""

    known_as = "kid"
    new = "RSA key, mode 0600, kid"

    def decode(self, name: str, text: str, *, allow_trailing_newline: bool) -> Pair:  # noqa: ARG002 - a PEM ends with one
        from slinky_iac.parts.tokens.rsa import decode  # noqa: PLC0415

        return decode(name, text)

    def signing(self, where: str, own: bytes) -> TokenKey:
        from slinky_iac.parts.tokens.rsa import parse  # noqa: PLC0415

        return parse(where, own)

    def whole(self, where: str, own: bytes, *, allow_trailing_newline: bool) -> bytes:  # noqa: ARG002 - a PEM ends with one
        return self.signing(where, own).pem

    def generate(self) -> bytes:
        from slinky_iac.parts.tokens.rsa import generate  # noqa: PLC0415

        return generate()

    def known_by(self, where: str, own: bytes) -> str:
        return self.signing(where, own).kid

    def described(self, where: str, own: bytes) -> str:
        return f"an RSA key of {self.signing(where, own).private.key_size} bits, kid"

    def bundle(self, own: Pair | None, others: Sequence[Pair], provider: Sequence[Mapping[str, str]]) -> bytes | None:
        """Public halves, and the provider's keys."""
        pairs = [*([] if own is None else [own]), *others]
        return public_set(pairs, provider) if pairs else None


TOKENS: Final = Key(
    "tokens",
    "token key",
    config="tokenKey",
    file="token.pem",
    secret=names.ending("-token-key"),
    readers=TOKEN_CHECKERS,
    next="tokenKeyNext",
    previous="tokenKeyPrevious",
    annotation="slinky-iac/token-keys",
    logical="token-key",
    second="the public set has another key",
    algorithm="rs256",
    form=RsaPair(),
    is_immutable=False,
    bundle="jwks.json",
    bundled_in=names.ending("-token-jwks"),
    bundle_logical="token-jwks",
    setting="keys.tokens",
    reference="jwksKeyRef",
    output="tokenKeySet",
    document="tokenSet",
)
"""Of gates and commands. Its readers hold the public set (jwks.json), which the operator mounts under this name
(common/const.go). The annotation is on the Accounting: the operator gives it to slurmdbd's pod, which so restarts when the
set changes: slurmdbd reads it only when it starts (accounting_app.go, 1.1.0). No daemon begins with this key, and while an
immutable Secret is replaced, a gate that starts could sign nothing. test_key_wire_formats.py pins the names."""
