"""Whose is a ladder's folder: one process at a time holds it, it says which cluster its ladder is on, and nothing that a
ladder didn't put into it is removed.

The lock is on an open file, which a `pulumi` that was begun has open too: after a `kill -9` of the command it says that its
update still runs.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import signal
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from slinky_iac.errors import ProjectError

GRACE_S: Final = 60.0
"""How long an update without its command may take to end after its first signal."""
LOOK_S: Final = 0.1
_LOCK: Final = "lock"
_MARK: Final = "ladder.json"
_OWN: Final = frozenset({_LOCK, _MARK, ".gitignore", "passphrase", "project", "pulumi.log", "requests.log", "state"})
"""All that a ladder puts into its folder."""


@dataclass(frozen=True)
class Mark:
    """Which ladder, and on which Kubernetes cluster."""

    ladder: str
    server: str = ""
    context: str = ""
    """Empty where the kubeconfig has none, as in a pod."""


class Folder:
    """A ladder's folder. This process may write and remove it after :meth:`make` or :meth:`take`, inside of ``with``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: int | None = None

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self._let_go()

    @property
    def exists(self) -> bool:
        """Something has its name."""
        return os.path.lexists(self._path)

    @property
    def lock(self) -> tuple[int, ...]:
        """The open file of the lock, for a process that works in the folder."""
        return () if self._lock is None else (self._lock,)

    def make(self, mark: Mark) -> None:
        """Make it, and hold it. Raises :class:`ProjectError` where it is there already, or can't be made."""
        try:
            self._path.mkdir(mode=0o700)
            self._lock = self._opened()
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.runs(0)
            (self._path / ".gitignore").write_text("*\n", encoding="utf-8")
            (self._path / _MARK).write_text(json.dumps(asdict(mark)), encoding="utf-8")
        except FileExistsError:
            raise ProjectError(
                f"{self._path}: another ladder has just begun in it. Nothing was made. Wait for its end"
            ) from None
        except OSError as wrong:
            raise ProjectError(
                f"{wrong.filename or self._path}: can't be written ({wrong.strerror}); no ladder began. Run it in a copy of"
                " the project that you may write to"
            ) from None

    def take(self) -> Mark | None:
        """Hold one that a ladder has left, and end the update that may still run for it; whose it is, None where it doesn't
        say. Raises :class:`ProjectError` where a ladder is at work, or no ladder made it."""
        if self._path.is_symlink() or not self._path.is_dir():
            raise ProjectError(f"{self._path}: isn't a folder, and no ladder made it. It was left as it is. Move it away")
        self._require_own()
        try:
            self._lock = self._opened()
            if not self._locked():
                self._end_orphan()
        except OSError as wrong:
            raise ProjectError(f"{self._path}: can't be locked ({wrong.strerror}). Nothing was removed") from None
        self.runs(0)
        try:
            return Mark(**json.loads((self._path / _MARK).read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def at_work(self) -> int:
        """The ladder's process that holds it now; 0 where none does, or only an update that was left without one."""
        try:
            held = os.open(self._path / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            return 0
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = self._numbers(held)[0]
            return owner if _lives(owner) else 0
        finally:
            os.close(held)
        return 0

    def runs(self, group: int) -> None:
        """Write down which group of processes works in it for this one."""
        if self._lock is not None:
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, f"{os.getpid()} {group}\n".encode(), 0)

    def remove(self) -> None:
        """Remove it, if it is held. Raises :class:`ProjectError` where something of it stays."""
        if self._lock is None:
            return
        self._require_own()
        try:
            shutil.rmtree(self._path)
        except OSError as wrong:
            raise ProjectError(f"{wrong.filename}: can't be removed ({wrong.strerror})") from None
        self._let_go()

    def _require_own(self) -> None:
        if strange := sorted({path.name for path in self._path.iterdir()} - _OWN):
            raise ProjectError(
                f"{self._path} has {len(strange)} entries that no ladder made, {strange[0]!r} first. Nothing of it was"
                " removed. Move them away"
            )

    def _opened(self) -> int:
        return os.open(self._path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)

    def _let_go(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
        self._lock = None

    def _locked(self) -> bool:
        assert self._lock is not None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _end_orphan(self) -> None:
        assert self._lock is not None
        owner, group = self._numbers(self._lock)
        if _lives(owner) or group <= 1:
            self._let_go()
            raise ProjectError(
                f"a ladder is at work in {self._path} (process {owner}). Nothing was removed. Wait for its end, or end it:"
                f" `kill -INT {owner}`"
            )
        for number in (signal.SIGINT, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(group, number)
            ends = time.monotonic() + GRACE_S
            while time.monotonic() < ends:
                if self._locked():
                    return
                time.sleep(LOOK_S)
        self._let_go()
        raise ProjectError(
            f"an update of a ladder that was killed still runs (process {group}). Nothing was removed. End it"
        )

    @staticmethod
    def _numbers(held: int) -> tuple[int, int]:
        words = os.pread(held, 64, 0).decode(errors="replace").split()
        numbers = [int(word) for word in words if word.isdecimal() and word.isascii()]
        return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)


def new_ladder() -> str:
    """A name that no other ladder has."""
    return secrets.token_hex(8)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return process > 0
