"""Outputs stand in these tests' parameters too, and each is made on an event loop."""

from __future__ import annotations

import pytest

from tests.program import with_loop

with_loop()


@pytest.fixture(autouse=True)
def loop() -> None:
    """The loop, where an earlier test has left none."""
    with_loop()
