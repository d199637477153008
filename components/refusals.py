"""Refusals of what a program gives: everything that is wrong in one run, with the line of the program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from slinky_iac.config.findings import Finding
from slinky_iac.config.reading.engine import ARGUMENTS
from slinky_iac.config.reading.load import examined
from slinky_iac.errors import ConfigError

from .arguments import in_snake_case, refuse
from .inputs import Given

Read = TypeVar("Read")
_LACKING: Final = re.compile(r"(?P<key>[a-zA-Z]+) is not set; run |needs a password; run |has no sssd\.conf: run ")
"""What the rules say of a secret that isn't there."""
_BY_HAND: Final = re.compile(r"base64 -w0 FILE \| pulumi config set --secret slinky-iac:\w+")
"""How a key is given without a program."""


def require_none(what: str, inputs: Given, *faults: Iterable[Finding]) -> None:
    """Raises :class:`StackRefused` for faults of the arguments themselves, or of settings as plain data, with all that is
    wrong with the other settings' types. Rules between settings are judged once there is none, as in a stack's file."""
    every: list[Finding] = []
    for group in (*faults, inputs.faults):
        every += [one for one in group if not _follows(one, every)]
    if not every:
        return
    more = [fault for fault in examined(inputs.sections)[1] if not _follows(fault, every)]
    raise refuse(what, (*map(str, every), *_worded(inputs, map(str, more))))


def judged(what: str, inputs: Given, read: Callable[[], Read], secrets: Mapping[str, object]) -> Read:
    """What ``read`` gives. Raises :class:`StackRefused` with its errors, which name the arguments of ``secrets``."""
    try:
        return read()
    except ConfigError as error:
        raise refuse(what, _worded(inputs, (_or_argument(fault, secrets) for fault in error.faults))) from None


def _follows(fault: Finding, from_these: Iterable[Finding]) -> bool:
    """Whether a fault is of the same setting as an earlier one, or of one around it or in it: what was taken out of it is
    missing, or something else is in its place."""
    ours = f"{fault.path}."
    return any(
        ours.startswith(theirs) or theirs.startswith(ours) for theirs in (f"{finding.path}." for finding in from_these)
    )


def _worded(inputs: Given, faults: Iterable[str]) -> tuple[str, ...]:
    return tuple(inputs.worded(in_snake_case(fault)) for fault in faults)


def _or_argument(fault: str, secrets: Mapping[str, object]) -> str:
    """A fault with the argument that gives the secret or the host which isn't there, or gave a wrong one."""
    name, _, said = fault.partition(": ")
    if name in secrets and name in ARGUMENTS:
        by_hand = _BY_HAND.sub("give it so: base64.b64encode(RAW).decode()", said)
        return f"{ARGUMENTS[name]}: {by_hand}"
    if fault.startswith("accounting: needs external"):
        return f"{fault}. slurmdbd=HOST gives external; it is None here, or left out"
    if (lacking := _LACKING.search(fault)) is None:
        return fault
    name = lacking["key"] or ("sssdConf" if "sssd" in lacking[0] else "databasePassword")
    return f"{fault}, or give {ARGUMENTS[name]}=OUTPUT"
