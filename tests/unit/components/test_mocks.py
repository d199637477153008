"""A program under Pulumi's mocks asks nothing of the network: its tests run anywhere, and at once."""

from __future__ import annotations

import socket
from typing import Any

import pulumi
import pytest
from pulumi.runtime import mocks

from components.program_parts import HybridCluster
from tests.program import Recording, configured, run
from tests.unit.components.test_program_parts import KEYS, OUTSIDE

CLUSTER: dict[str, Any] = {"slurmctld": "192.0.2.10", "accounting": {"enabled": False}, **OUTSIDE}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where connections went. None is made."""
    found: list[str] = []

    def connect(_socket: socket.socket, place: object) -> None:
        found.append(str(place))
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", connect)
    return found


@pytest.mark.parametrize("preview", [True, False])
def test_nothing_is_asked_where_the_monitor_is_a_mock(preview: bool, asked: list[str]) -> None:
    with configured({}, KEYS):
        mocks.set_mocks(Recording(), project="platform", preview=preview)
        pulumi.runtime.test(lambda: HybridCluster("atlas", **CLUSTER) and None)()  # type: ignore[no-untyped-call]
    assert asked == []


def test_the_same_program_asks_where_it_is_none(asked: list[str]) -> None:
    """The monitor of this repository's tests is a class of its own."""
    with configured({}, KEYS):
        run(lambda: HybridCluster("atlas", **CLUSTER), preview=True)
    assert any("192.0.2.10" in place for place in asked)
