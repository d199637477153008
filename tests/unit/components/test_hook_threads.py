"""Hooks are answered while all threads of the program wait for the engine, which waits for the hook."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pulumi
import pytest

from components import first_look, ways
from components.connection import as_it_is
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import StackConfig
from tests.stacks import minimal
from tests.tree import ROOT


def minimal_cluster() -> StackConfig:
    return load(minimal())


ARGS = pulumi.ResourceHookArgs(urn="urn", id="", name="name", type="type", new_inputs={"a": 1}, old_inputs={})


def answered(look: Callable[[], str]) -> None:
    """The hook's answer, while the SDK's threads are taken: each registration holds one until the engine is done."""

    async def program() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        engine = threading.Event()
        registration = loop.run_in_executor(None, engine.wait, 60)
        try:
            asked = ways.asks(ways.way_of(minimal_cluster(), as_it_is), lambda _: look())
            hook = first_look.look_before("one", lambda *_: True, asked, warns="{}", stops="{}")
            await asyncio.wait_for(hook.callback(ARGS), 20)  # type: ignore[arg-type]
        finally:
            engine.set()
            await registration

    asyncio.run(program())


def test_a_look_before_an_update_needs_no_thread_of_the_sdk() -> None:
    """With 100 NodeSets a preview never ended."""
    looked: list[str] = []

    def look() -> str:
        looked.append(threading.current_thread().name)
        return ""

    answered(look)
    assert len(looked) == 1


def test_an_error_of_a_look_is_the_hooks() -> None:
    def look() -> str:
        raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is"):
        answered(look)


def test_no_hook_uses_the_threads_of_the_sdk() -> None:
    modules = sorted((ROOT / "components").rglob("*.py"))
    assert [each.name for each in modules if "to_thread" in each.read_text()] == []
