"""The plugin serves its engine alone, knows it exactly, and ends with it.

The plugin is Pulumi's own, `python -m pulumi.dynamic` below a shell; the engine is played (played_engine.py).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from slinky_iac.engine import plugin_process
from slinky_iac.errors import PluginRefused
from tests.stacks import ROOT
from tests.unit.engine import played_engine

NAMED = {plugin_process.OWN_PROVIDERS: "provides.Other,provides.Waits"}
STRANGER = 3401
BOUND_S = 40.0


@dataclass(frozen=True)
class Played:
    """The engine's process, and the plugin below it."""

    process: subprocess.Popen[str]
    folder: Path
    port: int
    shell: int
    address: str

    def call(self, what: str = "Waits", seconds: float = 0) -> str:
        """The engine calls; what was answered."""
        self.begin(what, seconds)
        return _read(self.process.stdout)

    def begin(self, what: str, seconds: float) -> None:
        """The engine begins a call."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what} {seconds}\n")
        self.process.stdin.flush()

    def called_by_another(self, what: str) -> str:
        """Another process of this machine calls, of another user where the tests run as root."""
        argv = [sys.executable, played_engine.__file__, str(STRANGER), str(self.port), str(self.folder), what, "0"]
        return subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout.strip()

    def plugin(self) -> list[int]:
        """What lives of the plugin's process group: the shell and its Python."""
        return [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and _group(entry) == (self.shell, True)
        ]

    def has(self, name: str) -> bool:
        """Whether a call has left this file."""
        return (self.folder / name).exists()


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    for name, value in NAMED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    tmp_path.chmod(0o777)
    argv = [sys.executable, played_engine.__file__, str(tmp_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        begun = json.loads(_read(process.stdout))
        try:
            yield Played(process, tmp_path, begun["port"], begun["shell"], begun["address"])
        finally:
            process.kill()
            for pid in Played(process, tmp_path, 0, begun["shell"], "").plugin():
                with suppress(ProcessLookupError):  # its lifeline may have ended it by now
                    os.kill(pid, signal.SIGKILL)


def test_another_process_is_refused_before_its_pickle_is_loaded(engine: Played) -> None:
    assert engine.call().startswith("made ")
    assert "doesn't come from the pulumi process" in engine.called_by_another("code")
    assert "doesn't come from the pulumi process" in engine.called_by_another("Waits")
    assert not engine.has("code-was-run")
    assert engine.call().startswith("made "), "the engine is served as before"


def test_another_process_can_end_no_wait(engine: Played) -> None:
    engine.call()
    engine.begin("Waits", 3)
    assert "doesn't come from the pulumi process" in engine.called_by_another("Cancel")
    assert _read(engine.process.stdout).startswith("made ")


def test_another_process_can_give_the_plugin_no_configuration(engine: Played) -> None:
    engine.call()
    assert "doesn't come from the pulumi process" in engine.called_by_another("Configure")
    assert engine.call("Configure") == "configured"


def test_the_engine_can_end_a_wait(engine: Played) -> None:
    engine.call()
    assert engine.call("Cancel") == "cancelled"
    assert "interrupted" in engine.call("Waits", 60)


def test_code_in_a_pickle_is_not_loaded_whoever_sends_it(engine: Played) -> None:
    """A state that somebody else has written comes from the engine."""
    engine.call()
    assert "holds code, or values" in engine.call("code")
    assert not engine.has("code-was-run")


def test_a_provider_that_was_served_before_the_first_gate_is_named_by_that_one(engine: Played) -> None:
    """Otherwise the order of calls would decide whether the preview reports it, or an update or destroy that has begun."""
    assert engine.call("Unnamed") == "made unnamed", "no gate has looked yet"
    assert "names 'provides.Unnamed'); it was loaded before a gate's" in engine.call()
    assert "SLINKY_IAC_PROVIDERS=MODULE.CLASS" in engine.call(), "each later call says it too"


def test_a_plugin_ends_with_its_engine_and_not_with_the_engines_port(engine: Played) -> None:
    """Another process may listen where the engine did."""
    engine.call()
    engine.begin("Waits", 120)
    _until(lambda: engine.has("begun-120"))
    assert len(engine.plugin()) == 2
    engine.process.kill()
    engine.process.wait()
    with _listening(engine.address):
        _until(lambda: engine.has("orphaned"))
        _until(lambda: not engine.plugin())


def test_an_idle_plugin_ends_with_its_engine(engine: Played) -> None:
    engine.call()
    engine.process.kill()
    engine.process.wait()
    _until(lambda: not engine.plugin())


@pytest.mark.parametrize(
    ("pickled", "why"),
    [
        (None, "holds code, or values"),
        ("not base64", "holds code, or values"),
        ("gASVAAAA", "holds code, or values"),
        (played_engine.by_name("Waits").hex(), "holds code, or values"),
    ],
)
def test_what_is_no_reference_to_a_class_is_refused(pickled: object, why: str) -> None:
    with pytest.raises(PluginRefused, match=f"{why}.*verify-state.*{plugin_process.OWN_PROVIDERS}=MODULE.CLASS"):
        plugin_process.require_known(pickled)


def test_outside_a_plugin_nothing_is_changed_and_the_engine_is_taken_to_live() -> None:
    plugin_process.prepare()
    assert plugin_process.engine_address() is None
    assert plugin_process.engine_lives()


def _read(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().strip()


def _group(entry: Path) -> tuple[int, bool]:
    """Process group, and whether the process has not ended."""
    try:
        fields = (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0, False
    return int(fields[2]), fields[0] != "Z"


def _listening(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_server((host, int(port)))


def _until(true: object) -> None:
    assert callable(true)
    end = time.monotonic() + BOUND_S
    while not true():
        assert time.monotonic() < end, f"not within {BOUND_S} s"
        time.sleep(0.05)


def test_calls_that_came_before_the_pool_was_widened_begin_too() -> None:
    """Ten gates: four calls run and six wait in the pool's queue when the first of them widens it. An executor adds threads
    only as it is given work, so these six would wait for the next call, which may never come."""
    begun, all_given = threading.Barrier(10), threading.Event()

    def call() -> None:
        all_given.wait(10)
        plugin_process._widen_pool()
        begun.wait(10)

    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(call) for _ in range(10)]
        all_given.set()
        for each in calls:
            each.result(20)
