"""Questions to `pulumi` that it answers in JSON, and the words for what goes wrong with them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, Final, TypeVar

from slinky_iac.errors import StateError

TIMEOUT_S: Final = 120
"""Longest wait for one answer; a backend far away takes some ten seconds."""
Runner = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]
Read = TypeVar("Read")


def run_pulumi(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run `pulumi` here, with the user's own environment."""
    return subprocess.run(["pulumi", *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def answer(
    run: Runner, arguments: Sequence[str], stack: str | None, read: Callable[[Any], Read], *, wanted: str, advice: str = ""
) -> Read:
    """What ``read`` makes of the JSON that `pulumi` prints for a stack; for the selected one where ``stack`` is None.

    ``read`` may run into ValueError, KeyError, TypeError or AttributeError over JSON that isn't ``wanted``. Raises
    :class:`StateError` for that, and where pulumi can't be run or fails; its own words are quoted then, with ``advice``.
    """
    shown = f"`pulumi {' '.join(takewhile(lambda word: not word.startswith('-'), arguments))}`"
    try:
        done = run([*arguments, "--non-interactive", *(["--stack", stack] if stack else [])])
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StateError(f"{shown} could not be run ({type(error).__name__}); is pulumi on PATH?") from None
    if done.returncode != 0:
        raise StateError(f"{shown} ended with {done.returncode}: {done.stderr.strip()[-300:]} {advice}".rstrip())
    try:
        return read(json.loads(done.stdout))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StateError(f"{shown} printed something else than {wanted}") from None
