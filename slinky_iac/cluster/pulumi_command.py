"""Questions to `pulumi` that it answers in JSON, and the words for what goes wrong with them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, Final, TypeVar

from slinky_iac.errors import StateError

TIMEOUT_S: Final = 120
"""Longest wait for one answer; a backend far away takes some ten seconds."""
_REMEDIES: Final[tuple[tuple[str, str], ...]] = (
    ("no Pulumi.yaml", "Run it in the project's folder, which has Pulumi.yaml; `slinky new DIR` makes a project"),
    ("must be set for login", "Log in: `pulumi login file://$HOME/pulumi-state`, or where your state is"),
    ("not logged in", "Log in: `pulumi login file://$HOME/pulumi-state`, or where your state is"),
    ("no stack selected", "Name the stack with --stack, or run `pulumi stack select NAME` (a new one: with --create)"),
    ("no stack named", "`pulumi stack ls` lists the stacks; a new one is made by `pulumi stack select --create NAME`"),
    ("invalid YAML file", "`slinky check` says which line of Pulumi.<stack>.yaml is wrong, and why"),
    ("passphrase must be set", "Set PULUMI_CONFIG_PASSPHRASE_FILE to the file with the stack's passphrase"),
    ("unable to read PULUMI_CONFIG_PASSPHRASE_FILE", "Set it to the file with the stack's passphrase"),
    ("organization name must be", "Write --stack NAME alone: a backend of your own has no other organization"),
    ("unable to open bucket", "The backend isn't there: `pulumi whoami -v` shows its URL, `pulumi login URL` sets another"),
    ("Invalid region", "Set AWS_REGION to the bucket's region"),
    ("unable to find either", "Set PULUMI_CONFIG_PASSPHRASE_FILE to the file with the stack's passphrase"),
)
"""What pulumi says, and the one thing to do about it. Source: pulumi pkg/backend/backenderr, sdk/go/common/workspace,
pkg/secrets/passphrase."""
_MISLEADING: Final = re.compile(
    r"\. If you have not created a project yet, use `pulumi new` to do so(?:: no project file found)?"
)
"""Advice of pulumi's own that makes another project than this program's."""
QUOTED: Final = 1500
"""Characters of its words that are quoted: the last ones, where errors stand."""
Runner = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]
Read = TypeVar("Read")


def run_pulumi(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run `pulumi` here, with the user's own environment."""
    return subprocess.run(["pulumi", *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def no_pulumi(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """In the place of :func:`run_pulumi` where a file was named and no stack is meant: every question has no answer."""
    raise FileNotFoundError(f"pulumi {arguments[0]}")


def answer(run: Runner, arguments: Sequence[str], stack: str | None, read: Callable[[Any], Read], *, wanted: str) -> Read:
    """What ``read`` makes of the JSON that `pulumi` prints for a stack; for the selected one where ``stack`` is None.

    ``read`` may run into ValueError, KeyError, TypeError or AttributeError over JSON that isn't ``wanted``. Raises
    :class:`StateError` for that, and where pulumi can't be run or fails; its own words are quoted then, with what to do.
    """
    text = printed(run, [*arguments, "--non-interactive", *(["--stack", stack] if stack else [])])
    try:
        return read(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StateError(f"{_shown(arguments)} printed something else than {wanted}") from None


def printed(run: Runner, arguments: Sequence[str]) -> str:
    """What `pulumi` prints. Raises :class:`StateError` where it can't be run to its end or fails.

    Its own words are quoted then, but never what it printed of decrypted secrets, nor options and what they hold.
    """
    try:
        done = run(arguments)
    except FileNotFoundError:
        raise StateError(
            f"{_shown(arguments)}: pulumi was not found. Install Pulumi 3.255 or newer"
            " (https://www.pulumi.com/docs/iac/download-install/) and put it on PATH"
        ) from None
    except subprocess.TimeoutExpired:
        raise StateError(f"{_shown(arguments)} gave no answer in {TIMEOUT_S} s; is its backend reachable?") from None
    except OSError as error:
        raise StateError(f"{_shown(arguments)} could not be started: {error.strerror or 'no reason given'}") from None
    if done.returncode != 0:
        said = done.stderr.strip() or ("" if "--show-secrets" in arguments else done.stdout.strip())
        said = _MISLEADING.sub("", said)
        advice = remedy(said)
        stop = "." if advice and said[-1:] not in (".", "") else ""
        raise StateError(f"{_shown(arguments)} ended with {done.returncode}: {said[-QUOTED:]}{stop} {advice}".rstrip())
    return done.stdout


def remedy(said: str) -> str:
    """What to do about pulumi's own words; empty where they say it themselves."""
    if "incorrect passphrase" in said:
        return _of_wrong_passphrase()
    return next((advice for words, advice in _REMEDIES if words in said), "")


_TEXT: Final = "PULUMI_CONFIG_PASSPHRASE"
_FILE: Final = "PULUMI_CONFIG_PASSPHRASE_FILE"


def _of_wrong_passphrase() -> str:
    """Which of its two variables pulumi read: the first has precedence, also where it is empty (``readPassphrase``)."""
    right = f"{_FILE} to the file with this stack's passphrase"
    if _TEXT in os.environ and _FILE in os.environ:
        return (
            f"pulumi reads {_TEXT}, which is set, and not the file of {_FILE}. If that file has this stack's passphrase:"
            f" `unset {_TEXT}`; else set {right}, too"
        )
    if _TEXT in os.environ:
        return f"pulumi reads {_TEXT}, which is set. Unset it, and set {right}"
    read = f"pulumi read the file of {_FILE}. " if _FILE in os.environ else ""
    return f"{read}Set {right}. `pulumi stack ls` marks the selected stack"


def _shown(arguments: Sequence[str]) -> str:
    return f"`pulumi {' '.join(takewhile(lambda word: not word.startswith('-'), arguments))}`"
