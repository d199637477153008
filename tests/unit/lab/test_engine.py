"""`lab down` ends what killed engines of this lab have left, and nothing of anybody else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab import engine

ORPHAN = """
import os

read, write = os.pipe()  # exec() closes both in the child
if os.fork() == 0:
    os.execvp("sleep", ["pulumi-resource-x", "60"])
os.close(write)
os.read(read, 1)
"""


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(engine, "BACKEND", tmp_path / "pulumi")
    return tmp_path / "pulumi"


def left_behind(backend: Path) -> None:
    """A process with that backend in its environment whose parent has ended. It has its new name before the parent ends."""
    env = {**os.environ, "PULUMI_BACKEND_URL": f"file://{backend}"}
    subprocess.run([sys.executable, "-c", ORPHAN], env=env, stdout=subprocess.DEVNULL, check=True)


def test_a_plugin_without_a_parent_is_ended(backend: Path) -> None:
    left_behind(backend)
    assert engine.end_left_behind() == 1
    end = time.monotonic() + 30
    while engine.end_left_behind():
        assert time.monotonic() < end, "it does not end"
        time.sleep(0.05)


def test_another_labs_plugin_and_one_with_a_parent_stay(backend: Path) -> None:
    env = {**os.environ, "PULUMI_BACKEND_URL": f"file://{backend}"}
    with subprocess.Popen(["pulumi-resource-x", "60"], executable="/bin/sleep", env=env) as child:
        left_behind(backend.with_name("another"))
        assert engine.end_left_behind() == 0
        assert child.poll() is None
        child.kill()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "BACKEND", backend.with_name("another"))
        assert engine.end_left_behind() == 1
