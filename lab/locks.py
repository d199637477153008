"""One at a time, across processes. The kernel gives a lock back however its holder ends."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lab import paths


@contextmanager
def alone(name: str, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock `name`; `waiting` is called before a wait. Locks lie in CACHE: `lab down` removes STATE."""
    folder = paths.CACHE / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
