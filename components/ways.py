"""Looks of hooks at jobs: by a way to slurmrestd in which a program's Outputs may be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

import pulumi

from slinky_iac.cluster.reach import Reach
from slinky_iac.cluster_access import reach
from slinky_iac.config.stack import ClusterConfig

from .connection import as_it_is
from .threads import in_thread

Way = Callable[[], Awaitable[Reach | None]]
"""The way to slurmrestd; None where a preview doesn't know it yet."""


def way_of(config: ClusterConfig, filled: Callable[[Any], Any]) -> Way:
    """The way that the settings say, with what Outputs give in the place of placeholders."""

    async def known() -> Reach | None:
        if filled is as_it_is:
            return reach(config)
        whole: pulumi.Output[dict[str, Any]] = pulumi.Output.from_input(filled(asdict(reach(config))))
        return Reach(**await whole.future() or {}) if await whole.is_known() else None

    return known


def asks(way: Way, look: Callable[[Reach], str]) -> Callable[[], Awaitable[str]]:
    """``look``, asked by a way to slurmrestd that a program's Outputs may give. Not known is never nothing found."""

    async def asked() -> str:
        known = await way()
        if known is None:
            return "which jobs run isn't known, because an Output that leads to slurmrestd isn't known yet"
        return await in_thread(lambda: look(known), "")

    return asked
