"""What a stack's state says, read through `pulumi stack export`: which gates it has and how they reach their clusters.

The gates' props hold no secret, so nothing is decrypted and no passphrase is asked for.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from slinky_iac.drain.settings import GateSettings, OutsideSettings
from slinky_iac.errors import StateError

SCALE_IN_GATE: Final = "pulumi-python:dynamic/slurm:ScaleInGate"
"""Type of the gates that drain before a scale-in, as state files have it."""
OUTSIDE_HOSTS: Final = "pulumi-python:dynamic/slurm:OutsideHosts"

Runner = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


def run_pulumi(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run `pulumi` here, with the user's own environment."""
    return subprocess.run(["pulumi", *arguments], capture_output=True, text=True, timeout=120, check=False)


def export(stack: str | None, run: Runner = run_pulumi) -> list[Mapping[str, Any]]:
    """The resources in a stack's state; the selected stack where ``stack`` is None.

    Raises :class:`StateError` where pulumi can't be run or doesn't answer with a state.
    """
    arguments = ["stack", "export", "--non-interactive", *(["--stack", stack] if stack else [])]
    try:
        done = run(arguments)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StateError(f"`pulumi stack export` could not be run ({type(error).__name__}); is pulumi on PATH?") from None
    if done.returncode != 0:
        raise StateError(
            f"`pulumi stack export` ended with {done.returncode}: {done.stderr.strip()[-300:]} Run it from the project's"
            " folder, logged in to its backend, or name the stack with --stack"
        )
    try:
        resources = json.loads(done.stdout)["deployment"].get("resources") or []
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StateError("`pulumi stack export` printed something else than a stack's state") from None
    return list(resources)


def history(stack: str | None, entries: int, run: Runner = run_pulumi) -> list[Mapping[str, Any]]:
    """The last ``entries`` updates, refreshes and destroys of a stack, newest first. Raises :class:`StateError`.

    The entries hold the configuration of their time, encrypted secrets included: show none of it.
    """
    wanted = ["--json", "--page-size", str(entries)]
    arguments = ["stack", "history", "--non-interactive", *wanted, *(["--stack", stack] if stack else [])]
    try:
        done = run(arguments)
        listed = json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise StateError(f"`pulumi stack history` gave no list ({type(error).__name__})") from None
    if not isinstance(listed, list):
        raise StateError(f"`pulumi stack history` ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return [each for each in listed if isinstance(each, dict)]


def gates(resources: Sequence[Mapping[str, Any]]) -> dict[str, GateSettings]:
    """Settings of all scale-in gates, by NodeSet."""
    found = (GateSettings.from_props(each["outputs"]) for each in resources if each.get("type") == SCALE_IN_GATE)
    return {settings.owner.nodeset: settings for settings in found}


def outside_hosts(resources: Sequence[Mapping[str, Any]]) -> OutsideSettings | None:
    """Settings of the gate of the bare-metal hosts, where the stack has one."""
    found = [OutsideSettings.from_props(each["outputs"]) for each in resources if each.get("type") == OUTSIDE_HOSTS]
    return found[0] if found else None
