"""Rendered files go to disk: into a folder that is its owner's alone to change, and every file whole or not at all.

The folder is opened once, and everything below is reached from there: a link that somebody lays in its place is never
followed.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from slinky_iac.commands.handoff.model import Rendered
from slinky_iac.errors import HandoffError

MARKER = ".slinky-iac-handoff"
"""Marks a folder as one of ours: only such a one, or an empty one, is written into."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def write(out: Path, files: Sequence[Rendered], *, with_keys: bool) -> tuple[str, ...]:
    """Write ``files`` below ``out``, which is made where it isn't there; returns the files of an earlier hand-off that were
    removed, by their paths below it.

    With keys the folder gets mode 700 and all is private to its owner. Raises :class:`HandoffError` for a folder that holds
    something else, for a symbolic link, for an existing folder that others own or may change (with keys: or read), where
    nothing is written; and where the disk refuses, of which the message says what to think of the folder then.
    """
    begun = False
    try:
        with _opened(out, with_keys=with_keys) as folder:
            _refuse_foreign(out, folder, with_keys=with_keys)
            begun = True
            return _replace(folder, files, with_keys=with_keys)
    except OSError as error:
        mixed = "The folder may now hold a mix of the old and the new hand-off, so give it to no host"
        raise HandoffError(
            f"--out {out}: can't write {error.filename or out} ({error.strerror})."
            f" {mixed if begun else 'Nothing was written'}. Name a folder that you may write with --out, and run this again"
        ) from None


@contextlib.contextmanager
def _opened(out: Path, *, with_keys: bool) -> Iterator[int]:
    """The folder itself, made where it isn't there."""
    for parent in reversed(out.parents):
        with contextlib.suppress(FileExistsError):
            parent.mkdir(mode=0o755)
    with contextlib.suppress(FileExistsError):
        out.mkdir(mode=_folder_mode(with_keys=with_keys))
    if out.is_symlink() or not out.is_dir():
        raise _no_folder(out)
    try:
        handle = os.open(out, _FOLDER)
    except NotADirectoryError:  # a link that came since; Linux says so of both
        raise _no_folder(out) from None
    try:
        yield handle
    finally:
        os.close(handle)


def _no_folder(out: Path) -> HandoffError:
    return HandoffError(f"--out {out}: is a link or a file; name a folder. Nothing was written")


def _folder_mode(*, with_keys: bool) -> int:
    return 0o700 if with_keys else 0o755


def _replace(out: int, files: Sequence[Rendered], *, with_keys: bool) -> tuple[str, ...]:
    ours = {str(file.path) for file in files}
    removed = []
    for below, folders, names, handle in os.fwalk(".", topdown=False, dir_fd=out):
        for name in names:  # links to folders, too
            path = str(PurePosixPath(below, name))
            if path not in ours:
                removed += [path] if path != MARKER else []
                os.unlink(name, dir_fd=handle)  # of an earlier hand-off: a role, a form or a key that isn't wanted any more
        for name in folders:
            if stat.S_ISLNK(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=handle)
                continue
            with contextlib.suppress(OSError):  # not empty: it is still needed
                os.rmdir(name, dir_fd=handle)
    _put(out, MARKER, b"", 0o600 if with_keys else 0o644)
    for file in files:
        with _below(out, file.path.parent, _folder_mode(with_keys=with_keys)) as folder:
            _put(folder, file.path.name, file.content, file.mode & 0o700 if with_keys else file.mode)
    return tuple(sorted(removed))


@contextlib.contextmanager
def _below(out: int, path: PurePosixPath, mode: int) -> Iterator[int]:
    """A folder below ``out``, made where it isn't there, that no other user may change."""
    with contextlib.ExitStack() as held:
        handle = out
        for name in path.parts:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, mode, dir_fd=handle)
            handle = os.open(name, _FOLDER, dir_fd=handle)
            held.callback(os.close, handle)
            os.fchmod(handle, mode)
        yield handle


def _refuse_foreign(out: Path, folder: int, *, with_keys: bool) -> None:
    status, held = os.fstat(folder), os.listdir(folder)
    mode = status.st_mode & 0o777
    change = "may change what is in it: the keys, and scripts that root runs."
    other = "name a folder that isn't there yet"
    faults = (
        (status.st_uid != os.geteuid(), f"belongs to another user, who {change} N{other[1:]}"),
        (mode & 0o022, f"has mode {mode:o}, so others {change} Run `chmod go-w {out}`, or {other}"),
        (
            with_keys and mode & 0o077,
            f"has mode {mode:o}, so others can read the keys that would be in it. Run `chmod 700 {out}`, or {other}",
        ),
        (
            held and MARKER not in held,
            f"holds files that aren't a hand-off ({MARKER} isn't there), and what isn't needed would be removed. Name a new"
            " or an empty folder",
        ),
    )
    for wrong, why in faults:
        if wrong:
            raise HandoffError(f"--out {out}: {why}. Nothing was written")


def _put(folder: int, name: str, content: bytes, mode: int) -> None:
    new = f"{name}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new, dir_fd=folder)
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode)
    os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
