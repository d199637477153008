"""The server by which the engine calls a program's hooks: one, and started before the first of them is registered.

SDK 3.272 makes one for each hook: every registration is a task, and what it notes of its server (``_get_callbacks`` in
``pulumi.runtime.settings``) is in the context of that task alone. A program that ends early, as with an error in an Output's
value, stops servers that are still starting, and there grpcio 1.85 ends the process (``aio.Server.stop`` during ``start``):
Pulumi shows an exit code alone. What is noted in the program's own context, all its tasks have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from pulumi.runtime import settings, sync_await

_TURNS = 10
"""Turns of the event loop in which servers are up that hooks of the program's own have begun to start; each needs two."""


def start_callbacks() -> None:
    """Start it, unless it runs. Where a later SDK has no such step, it isn't taken."""
    get, wait = getattr(settings, "_get_callbacks", None), getattr(sync_await, "_sync_await", None)
    if get is None or wait is None or getattr(settings.SETTINGS, "callbacks", None) is not None:
        return
    settings.SETTINGS.callbacks = wait(_started(get))


async def _started(get: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401 - the SDK's
    server = await get()
    for _ in range(_TURNS):
        await asyncio.sleep(0)
    return server
