"""Making the RSA key of a stack's tokens, and bringing one into its configuration."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from slinky_iac.errors import KeyMaterialError, RotationError
from slinky_iac.key_lifecycle import files
from slinky_iac.key_lifecycle.engine import Engine
from slinky_iac.key_lifecycle.material import Material
from slinky_iac.keys.catalogue import TOKENS
from slinky_iac.keys.material import generate as new_key
from slinky_iac.keys.rsa import TokenKey, parse

NAME: Final = "tokenKey"


def generate(out: Path) -> TokenKey:
    """Make a key in a new file, 0600. Raises :class:`KeyMaterialError` where the file can't be made."""
    raw = new_key(TOKENS)
    files.write_new(out, raw)
    return parse(str(out), raw)


def read(file: Path) -> TokenKey:
    """The key in a PEM file, ``-`` for standard input. Raises :class:`KeyMaterialError` where there is none to be read."""
    try:
        raw = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise KeyMaterialError(f"{file}: can't be read ({error.strerror}); nothing was imported") from None
    return parse(str(file), raw)


def bring(engine: Engine, found: Material, key: TokenKey, *, replace: bool) -> None:
    """Make ``key`` the one that the stack signs with.

    Raises :class:`RotationError` where it has another: daemons know that one's public half, so the next `pulumi up` would
    make tokens that all refuse; unless ``replace`` says that none does.
    """
    rotating = [name for name in found.tokens if name != NAME]
    if rotating:
        raise RotationError(f"{NAME} is being rotated ({', '.join(rotating)} is set): end that first; none was imported")
    own = found.tokens.get(NAME, key)
    if own != key and not replace:
        raise RotationError(
            f"{NAME}: this stack has another key, {own.kid}, and daemons may know that one only: they'd refuse the"
            " new one's tokens. Use `python -m slinky_iac keys rotate tokens`; or --replace, where nothing runs with it yet."
            " Nothing was imported"
        )
    if NAME not in found.tokens or own != key:
        engine.set_key(NAME, key.pem)
