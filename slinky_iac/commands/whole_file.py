"""A file that is there whole or not at all, whatever ends the command while it writes."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write(file: Path, text: str, *, new: bool = False) -> None:
    """Write a file in place of the one that is there. ``new``: raise FileExistsError where there is one. Raises OSError."""
    if new and os.path.lexists(file):
        raise FileExistsError(file)
    beside = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        with beside.open("x", encoding="utf-8") as out:
            out.write(text)
        if file.exists():
            beside.chmod(file.stat().st_mode & 0o777)
        beside.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
