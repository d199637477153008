"""What a gate says reaches a person, and no lost line stops a drain."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from slinky_iac.engine import plugin_process
from slinky_iac.engine.plugin_process import engine_report


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process as Pulumi's plugin, of an engine whose address nothing listens at."""
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__spec__=SimpleNamespace(name="pulumi.dynamic.__main__")))
    monkeypatch.setattr(sys, "argv", ["plugin", "127.0.0.1:9"])


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("urn", ["urn:x", "\ud800"], ids=["no engine", "no text"])
def test_a_line_that_the_engine_doesn_t_take_goes_to_the_fallback(urn: str) -> None:
    """gRPC has errors of its own, and none of them is one of the operating system."""
    said: list[str] = []
    engine_report(urn, said.append)("draining gpu-1")
    assert said == ["draining gpu-1"]


@pytest.mark.usefixtures("plugin")
def test_ci_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CI runner may have a terminal all the same; each line would stay in its log."""
    opened: list[str] = []
    monkeypatch.setattr("os.open", lambda path, *_: opened.append(path) or 1)
    monkeypatch.setattr("os.close", lambda _: None)
    monkeypatch.setenv("CI", "true")
    assert not plugin_process.watched()
    monkeypatch.delenv("CI")
    assert plugin_process.watched()
    assert opened == ["/dev/tty"]
