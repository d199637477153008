"""SIGINT ends a program without a word where Pulumi's executor runs it, and is left alone everywhere else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from slinky_iac.engine.program_process import EXECUTOR, NOTHING_MADE, SHOWN, end_silently
from tests.stacks import ROOT

PROGRAM = """
import asyncio, threading
from slinky_iac.engine.program_process import end_silently

async def main():
    end_silently()
    print("waits", flush=True)
    await asyncio.sleep(60)

loop = asyncio.new_event_loop()
loop.run_in_executor(None, threading.Event().wait, 60)
loop.run_until_complete(main())
"""


def test_sigint_ends_a_program_of_the_executor_at_once_and_silently(tmp_path: Path) -> None:
    """Its exit code is the one to which the language host adds nothing. A thread that waits doesn't hold it up."""
    (tmp_path / EXECUTOR).write_text(PROGRAM)
    argv = [sys.executable, "-u", str(tmp_path / EXECUTOR), "--monitor", "127.0.0.1:1"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (SHOWN, "")


def test_a_process_of_somebody_else_keeps_its_handler() -> None:
    before = signal.getsignal(signal.SIGINT)
    end_silently()
    assert signal.getsignal(signal.SIGINT) is before


REFUSED = """
import asyncio, gc, sys
from slinky_iac.engine.program_process import end_silently

class RPCManager:
    def do_rpc(self):
        async def rpc_wrapper():
            pass
        return rpc_wrapper()

async def own():
    pass

end_silently()
RPCManager().do_rpc()
own()
gc.collect()
"""


def test_words_of_the_sdk_that_a_refusal_cuts_off_are_no_warning_and_a_program_s_own_are(tmp_path: Path) -> None:
    (tmp_path / EXECUTOR).write_text(REFUSED)
    argv = [sys.executable, "-u", str(tmp_path / EXECUTOR)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stderr
    assert "do_rpc" not in said
    assert "coroutine 'own' was never awaited" in said


UNUSED = """
import sys, types
runtime = types.ModuleType("pulumi.runtime")
runtime.is_dry_run = lambda: {dry}
sys.modules["pulumi.runtime"] = runtime
import slinky_iac
{called}
"""


@pytest.mark.parametrize(
    ("dry", "called", "said"),
    [
        (True, "", f"{NOTHING_MADE}\n"),
        (True, "from slinky_iac.engine.program_process import end_silently; end_silently()", ""),
        (False, "", ""),
    ],
)
def test_a_preview_whose_program_calls_nothing_of_the_package_says_so(
    tmp_path: Path, dry: bool, called: str, said: str
) -> None:
    """An `apply` that isn't run, since its value isn't known, shows nothing of the cluster that is in it."""
    (tmp_path / EXECUTOR).write_text(UNUSED.format(dry=dry, called=called))
    argv = [sys.executable, "-u", str(tmp_path / EXECUTOR)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stderr == said
