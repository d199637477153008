"""A program under Pulumi's mocks asks nothing of the network: its tests run anywhere, and at once."""

from __future__ import annotations

import socket
from typing import Any

import pulumi
import pytest
from pulumi.runtime import mocks

import components.program_parts
from components import threads
from components.program_parts import HybridCluster
from tests.program import Recording, configured
from tests.unit.components.test_program_parts import KEYS, OUTSIDE


def with_mocks(*, preview: bool) -> None:
    mocks.set_mocks(Recording(), project="platform", preview=preview)
    cluster: dict[str, Any] = {"slurmctld": "192.0.2.10", "accounting": {"enabled": False}, **OUTSIDE}
    pulumi.runtime.test(lambda: HybridCluster("atlas", **cluster) and None)()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("preview", [True, False])
def test_nothing_is_asked_where_the_monitor_is_a_mock(preview: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(components.program_parts, "notices", lambda *_, **__: asked.append("notices") or ())
    monkeypatch.setattr(components.program_parts, "lost", lambda *_: asked.append("lost"))
    monkeypatch.setattr(socket.socket, "connect", lambda _, place: asked.append(str(place)))
    with configured({}, KEYS):
        with_mocks(preview=preview)
        assert asked == []
        monkeypatch.setattr(threads, "has_mocks", lambda: False)
        with_mocks(preview=preview)
    assert "notices" in asked
