"""Key files on this machine: written whole, 0600 from the first byte, and read byte for byte."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from slinky_iac.errors import KeyMaterialError
from slinky_iac.keys.raw import check


def write_new(file: Path, raw: bytes) -> None:
    """Write a key to a file that isn't there yet, readable by its owner only. Raises :class:`KeyMaterialError`."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise KeyMaterialError(
            f"{file}: is there already, and may be the only copy of a key in use. Name another file, or move it away first"
        ) from None
    except OSError as error:
        raise KeyMaterialError(f"{file}: can't be made ({error.strerror}); no key was made") from None
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(raw)
            opened.flush()
            os.fsync(handle)  # a key that is imported next may soon be nowhere else
    except OSError as error:
        file.unlink(missing_ok=True)
        raise KeyMaterialError(f"{file}: can't be written ({error.strerror}); no part of a key was left there") from None


def read_bytes(file: Path) -> bytes:
    """A file, ``-`` for standard input; others than its owner who may read it are warned of. Raises
    :class:`KeyMaterialError` where it can't be read."""
    try:
        raw = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise KeyMaterialError(f"{file}: can't be read ({error.strerror}); nothing was imported") from None
    if _readable_by_others(file):
        print(f"warning: {file} can be read by others than its owner", file=sys.stderr)
    return raw


def read(file: Path, *, allow_trailing_newline: bool) -> bytes:
    """A key of raw bytes from a file, ``-`` for standard input. Raises :class:`KeyMaterialError` where it isn't one."""
    raw = read_bytes(file)
    check(str(file), raw, allow_trailing_newline=allow_trailing_newline)
    return raw


def _readable_by_others(file: Path) -> bool:
    """Whether anybody but the owner may read a file; False where it can't be told."""
    try:
        return bool(stat.S_IMODE(file.stat().st_mode) & (stat.S_IRGRP | stat.S_IROTH))
    except OSError:
        return False
