"""Rendered files go to disk: keys only into a folder that is nobody else's to read, and every file whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from slinky_iac.errors import HandoffError
from slinky_iac.handoff.model import Rendered

MARKER = ".slinky-iac-handoff"
"""Marks a folder as one of ours: only such a one, or an empty one, is written into."""


def write(out: Path, files: Sequence[Rendered], *, with_keys: bool) -> None:
    """Write ``files`` below ``out``, which is made where it isn't there.

    With keys the folder gets mode 700 and all is private to its owner. Raises :class:`HandoffError` for a folder that holds
    something else, for a symbolic link, and with keys for an existing folder that others own or read, where nothing is
    written; and where the disk refuses, of which the message says what to think of the folder then.
    """
    _refuse_foreign(out, with_keys=with_keys)
    try:
        _replace(out, files, with_keys=with_keys)
    except OSError as error:
        left = "What is in the folder may be of two hand-offs: use none of it" if out.exists() else "Nothing was written"
        raise HandoffError(
            f"--out {out}: {error.filename or out} can't be written ({error.strerror}). {left}. Name a folder that you may"
            " write, and run this again"
        ) from None


def _replace(out: Path, files: Sequence[Rendered], *, with_keys: bool) -> None:
    out.mkdir(parents=True, exist_ok=True, mode=0o700 if with_keys else 0o755)
    ours = [Path(str(each.path)) for each in files]
    for stale in sorted((path for path in out.rglob("*") if path.is_symlink() or not path.is_dir()), reverse=True):
        if stale.relative_to(out) not in ours:
            stale.unlink()  # of an earlier hand-off: a role, a form or a key that isn't wanted any more
    for folder in sorted((path for path in out.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
    _put(out / MARKER, b"", 0o600 if with_keys else 0o644)
    for each in files:
        path = out / each.path
        path.parent.mkdir(parents=True, exist_ok=True)
        _put(path, each.content, each.mode & 0o700 if with_keys else each.mode)


def _refuse_foreign(out: Path, *, with_keys: bool) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise HandoffError(f"--out {out}: is a link or a file; name a folder. Nothing was written")
    if not out.exists():
        return
    if any(out.iterdir()) and not (out / MARKER).exists():
        raise HandoffError(
            f"--out {out}: holds files that are no hand-off ({MARKER} isn't there), and what isn't needed would be removed."
            " Name a new or an empty folder. Nothing was written"
        )
    found = out.stat()
    mode = found.st_mode & 0o777
    if with_keys and found.st_uid != os.geteuid():
        raise HandoffError(
            f"--out {out}: belongs to another user, who may change what is in it: the keys, and scripts that root"
            " runs. Name a folder that isn't there yet. Nothing was written"
        )
    if with_keys and mode & 0o077:
        raise HandoffError(
            f"--out {out}: has mode {mode:o}, so others can read the keys that would be in it. Run `chmod 700 {out}`, or"
            " name a folder that isn't there yet. Nothing was written"
        )


def _put(path: Path, content: bytes, mode: int) -> None:
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode)
    new.replace(path)
