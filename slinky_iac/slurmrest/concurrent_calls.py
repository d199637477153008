"""Calls that don't depend on one another, some at once: questions and writes of many pods or jobs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

AT_ONCE: Final = 8
"""Requests under way at one moment. A connection holds ten; API server and slurmrestd serve others too."""
Given = TypeVar("Given")
Made = TypeVar("Made")


def several(call: Callable[[Given], Made], given: Collection[Given]) -> Iterator[Made]:
    """The results in the order of ``given``. At the first error by that order, what has not begun is left out; the error is
    raised once all that has begun is over, so that nothing is under way behind the caller's back."""
    if len(given) < 2:
        yield from map(call, given)
        return
    pool = ThreadPoolExecutor(min(AT_ONCE, len(given)), thread_name_prefix="several")
    try:
        yield from pool.map(call, given)
    finally:
        pool.shutdown(cancel_futures=True)
