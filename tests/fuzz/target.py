"""What is fuzzed, and what must hold of each input: an end in time, declared errors only, and no secret in what is said."""

from __future__ import annotations

import hashlib
import random
import signal
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from slinky_iac.errors import SlinkyError
from tests.fuzz.mutate import hostile

SECRET = "zQ7vK2mX9pL4wT8rB3nJ6hY1dF5gS0cA"
"""In the seeds, wherever real inputs hold a secret: letters of all kinds, and nowhere else."""
WINDOW = 20
"""So many characters of :data:`SECRET` in a row are a leak; readers of names may quote a piece in the place of one."""
HANG_S = 5.0
"""Seconds of processor time that one input may take, so that a busy machine proves nothing."""
WAIT_S = 60.0
"""Seconds by the clock that one input may take, as a reader that waits for an answer might."""
Mutate = Callable[[random.Random, Sequence[bytes]], bytes]


@dataclass(frozen=True)
class Target:
    """One reader of what comes from outside."""

    name: str
    seeds: tuple[bytes, ...]
    """What it reads in practice."""
    read: Callable[[bytes], str | None]
    """Reads one input; returns what a person is shown of it, if anything is."""
    declared: tuple[type[Exception], ...] = (SlinkyError,)
    """Errors that its callers know of."""
    mutate: Mutate = hostile
    hang_s: float = HANG_S
    window: int = WINDOW
    tally: Counter[str] = field(default_factory=Counter, compare=False)


class Hang(BaseException):
    """One input took longer than it may. No ``Exception``: a reader that catches all of these must not catch this."""


def inputs(target: Target, seed: int, count: int) -> Iterator[tuple[int, bytes]]:
    """Numbered inputs; the same ones for the same seed, and each can be made alone."""
    for number in range(count):
        digest = hashlib.sha256(f"{target.name}/{seed}/{number}".encode()).digest()
        yield number, target.mutate(random.Random(digest), target.seeds)


def fault(target: Target, data: bytes) -> str:
    """What is wrong with how ``target`` took ``data``; empty where nothing is."""
    try:
        with _at_most(target.hang_s):
            said = target.read(data)
    except target.declared as error:
        target.tally["refused"] += 1
        said = _said(error)
    except Hang:
        return f"no end within {target.hang_s} s of processor time or {WAIT_S} s"
    except BaseException as error:
        return f"undeclared {type(error).__name__}: {str(error)[:200]!r}"
    else:
        target.tally["read"] += 1
    return _fault_in(said or "", target.window)


def _said(error: BaseException) -> str:
    """All that a traceback would print of an error's texts, its causes included."""
    texts: list[str] = []
    seen: BaseException | None = error
    while seen is not None:
        texts.append(str(seen))
        texts.extend(getattr(seen, "__notes__", ()))
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return "\n".join(texts)


def _fault_in(said: str, window: int) -> str:
    """What is wrong with a text that a person is shown."""
    if leaks(said, window):
        return f"the secret is shown: {said[:300]!r}"
    if not said.isascii():
        bad = next((c for c in said if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")), "")
    else:
        bad = next((c for c in said if c != "\n" and not c.isprintable()), "")
    return f"a control character {bad!r} is shown: {said[:300]!r}" if bad else ""


def leaks(said: str, window: int) -> bool:
    """Whether a text holds so many characters of :data:`SECRET` in a row."""
    return any(SECRET[at : at + window] in said for at in range(len(SECRET) - window + 1))


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise Hang

    before = {each: signal.signal(each, ring) for each in (signal.SIGALRM, signal.SIGPROF)}
    signal.setitimer(signal.ITIMER_REAL, WAIT_S)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for each, handler in before.items():
            signal.signal(each, handler)
