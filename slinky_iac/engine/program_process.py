"""What a program can do about the process that it runs in: Pulumi's executor (``pulumi-language-python-exec``).

When a resource has failed, and at Ctrl-C, the language host sends that process SIGINT and waits for its end
(``cmd.Cancel`` in pulumi-language-python's ``Run``). Python answers with two tracebacks of KeyboardInterrupt, below the
one sentence that matters. A terminal's Ctrl-C doesn't come here: the engine starts plugins in process groups of their own.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import warnings
from pathlib import PurePath
from types import FrameType
from typing import Final

EXECUTOR: Final = "pulumi-language-python-exec"
SHOWN: Final = 32
"""Exit code by which the executor says that the error has been shown: the language host adds no sentence of its own."""


NOTHING_MADE: Final = (
    "slinky_iac: this preview makes nothing of it, though the program imports it. A HybridCluster in an `apply` isn't seen"
    " while the value isn't known, and is refused once it is: make it outside, and give the Output itself (`slinky docs"
    " own-repository 'A cluster beside its machines'`)"
)
_called = False


def say_if_unused() -> None:
    """At the end of a preview, say that the program has called nothing of this package: an `apply` that isn't run can't."""
    if _is_executors():
        atexit.register(_say_if_unused)


def _say_if_unused() -> None:
    runtime = sys.modules.get("pulumi.runtime")
    if not _called and runtime is not None and runtime.is_dry_run():
        print(NOTHING_MADE, file=sys.stderr)


def _is_executors() -> bool:
    """Whether Pulumi's executor runs this process."""
    return any(PurePath(word).name == EXECUTOR for word in getattr(sys, "orig_argv", ())[:4])  # python, -u, the executor


def end_silently() -> None:
    """From now on, SIGINT ends the program at once and without a word, and a refusal with its own sentence alone. Only in
    Pulumi's executor, and in its main thread: elsewhere the process is somebody else's (a test, an inline program of the
    Automation API)."""
    global _called  # noqa: PLW0603 - of the process, as its signals are
    _called = True
    if not _is_executors():
        return
    # A refusal ends the program while the SDK has words on their way; that these aren't awaited then says nothing.
    warnings.filterwarnings("ignore", r"coroutine 'RPCManager\.do_rpc\b.*' was never awaited", RuntimeWarning)
    is_pythons = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a program's own handler stays
    if is_pythons and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _end)


def _end(_signal: int, _frame: FrameType | None) -> None:
    os._exit(SHOWN)
