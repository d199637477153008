"""What the value of a key is, and how it is read, made and told: raw bytes, or a pair, whose form is in its part's folder.

Values go through; they never enter a message, a name or a representation.
"""

from __future__ import annotations

import secrets
import string
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Generic, TypeVar

from slinky_iac.keys import raw

Value = TypeVar("Value")
_LETTERS: Final = string.ascii_letters + string.digits


class Pair(ABC):
    """A key of two halves: the stack signs tokens with the private one, and daemons judge these by the public one."""

    pem: bytes
    """The private half, as its file has it."""
    kid: str
    """Its name, which is in every token in the clear."""
    jwk: tuple[tuple[str, str], ...]
    """The public half, as the pairs of a JWK."""
    refused: ClassVar[str]
    """Why slurmctld may refuse its tokens, in words."""

    @abstractmethod
    def sign(self, claims: bytes) -> str:
        """The token: ``claims`` is their JSON."""


class Form(ABC, Generic[Value]):
    """What values of one kind of key are. ``where`` says in messages what is read.

    Methods that read raise :class:`slinky_iac.errors.KeyMaterialError`, which describes the fault and shows no key.
    """

    known_as: ClassVar[str]
    """What a key is known by, as JSON calls that."""
    new: ClassVar[str]
    """A new one in words, which end before what it is known by."""

    @abstractmethod
    def decode(self, name: str, text: str, *, allow_trailing_newline: bool) -> Value:
        """The key that the secret configuration value ``name`` holds."""

    @abstractmethod
    def signing(self, where: str, own: bytes) -> Value:
        """The key in a file or a Secret's entry, as tokens are signed with it."""

    @abstractmethod
    def whole(self, where: str, own: bytes, *, allow_trailing_newline: bool) -> bytes:
        """The bytes of a file as the configuration has them."""

    @abstractmethod
    def generate(self) -> bytes:
        """A new key."""

    @abstractmethod
    def known_by(self, where: str, own: bytes) -> str:
        """What the key is known by: its kid, or its fingerprint."""

    @abstractmethod
    def described(self, where: str, own: bytes) -> str:
        """One that is there in words, which end before what it is known by."""

    @abstractmethod
    def bundle(self, own: Value | None, others: Sequence[Value], provider: Sequence[Mapping[str, str]]) -> bytes | None:
        """The file in which daemons get several: the one in use, the next and the previous one. None where there is none to
        make. ``provider``: public keys of an identity provider."""


class RawBytes(Form[bytes]):
    """Bytes that this program and daemons have alike."""

    known_as = "fingerprint"
    new = f"key of {raw.GENERATED_LENGTH} characters, mode 0600,"

    def decode(self, name: str, text: str, *, allow_trailing_newline: bool) -> bytes:
        return raw.decode(name, text, allow_trailing_newline=allow_trailing_newline)

    def signing(self, where: str, own: bytes) -> bytes:  # noqa: ARG002 - daemons have these bytes, whatever they are
        return own

    def whole(self, where: str, own: bytes, *, allow_trailing_newline: bool) -> bytes:
        raw.check(where, own, allow_trailing_newline=allow_trailing_newline)
        return own

    def generate(self) -> bytes:
        """Letters and digits, without a line break, so that no editor or shell can change it unseen."""
        return "".join(secrets.choice(_LETTERS) for _ in range(raw.GENERATED_LENGTH)).encode()

    def known_by(self, where: str, own: bytes) -> str:  # noqa: ARG002 - any bytes have one
        return raw.fingerprint(own)

    def described(self, where: str, own: bytes) -> str:  # noqa: ARG002 - any bytes have a length
        return f"{len(own)} bytes,"

    def bundle(
        self,
        own: bytes | None,
        others: Sequence[bytes],
        provider: Sequence[Mapping[str, str]],  # noqa: ARG002 - no daemon has these among shared keys
    ) -> bytes | None:
        """It signs with the key in use, and takes all."""
        return None if own is None else raw.several_keys(own, *others)


RAW: Final = RawBytes()
