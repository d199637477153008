"""Calls that block, beside the event loop of the program."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import get_monitor

Made = TypeVar("Made")


def has_mocks() -> bool:
    """Whether the program runs in a test with Pulumi's mocks, where nothing outside is asked. A monitor of a test's own
    class is taken for an engine."""
    return type(get_monitor()) is MockMonitor


async def in_thread(call: Callable[[], Made], by_mocks: Made) -> Made:
    """What a call that asks the world returns, in a thread of its own. Raises what the call raises. With Pulumi's mocks
    nothing is asked, and ``by_mocks`` is returned.

    The threads of the loop's own executor, which asyncio uses for this, are the SDK's: each registration holds one until
    the engine is done with it, and the engine waits for hooks. There are four for each of the engine's parallel operations.
    Where more registrations are under way, a hook that needed one of them would never be answered.
    """
    if has_mocks():
        return by_mocks
    pool = ThreadPoolExecutor(1, thread_name_prefix="look")
    try:
        return await asyncio.get_running_loop().run_in_executor(pool, partial(contextvars.copy_context().run, call))
    finally:
        pool.shutdown(wait=False)
