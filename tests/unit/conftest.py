"""Hypothesis as all unit tests have it: an example may take what it takes, since how busy the machine is proves nothing.

No unit test asks the cluster of the person who runs it: a lab beside it would answer.

Python makes no event loop on demand here, as from 3.14 on: a test that needs one says so (`tests.program.with_loop`).
"""

import asyncio
import gc
import os
import sys
import threading

from hypothesis import settings

from tests.unit.examples import examples

os.environ.pop("KUBECONFIG", None)
gc.disable()  # until all is collected: it would look through all modules again and again
settings.register_profile("slinky", deadline=None, max_examples=examples(100))
settings.load_profile("slinky")

if sys.version_info < (3, 14):

    class NoneOnDemand(asyncio.DefaultEventLoopPolicy):
        """Raises where no loop was set; 3.12 and 3.13 warn of it, in the main thread."""

        _has = threading.local()

        def set_event_loop(self, loop: asyncio.AbstractEventLoop | None) -> None:
            self._has.one = loop is not None
            super().set_event_loop(loop)

        def get_event_loop(self) -> asyncio.AbstractEventLoop:
            if not getattr(self._has, "one", False):
                raise RuntimeError("there is no current event loop")
            return super().get_event_loop()

    asyncio.set_event_loop_policy(NoneOnDemand())


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: no garbage collection of a test's need go through it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # of the tests' own objects too: hypothesis counts the time of every collection
    gc.enable()
