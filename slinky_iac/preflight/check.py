"""One check and its verdict: what was checked, from where, what came back, what to change, the line to paste."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SLURM_CONF: Final = "in slurm.conf on slurmctld's host, then run `scontrol reconfigure` there"
"""Where most lines go."""
RESTARTED: Final = "in slurm.conf on slurmctld's host, then restart slurmctld"
"""Where lines go that slurmctld reads only when it starts."""
ON_SLURMCTLD: Final = "on slurmctld's host"
EVERYWHERE: Final = "on every outside host"


class Verdict(StrEnum):
    """What a check came to, the worst first."""

    PROBLEM = "problem"
    """The two halves don't fit: something will not work."""
    WARNING = "warning"
    """It works, and something will surprise."""
    UNKNOWN = "unknown"
    """It could not be asked; how to find out by hand is said."""
    FINE = "fine"
    """Looked at, and right."""


@dataclass(frozen=True)
class Check:
    """One sentence about one thing. Texts of others (names, answers) may stand in it, a key never."""

    name: str
    """Of the check: a word for scripts."""
    verdict: Verdict
    subject: str
    """What it is about: a daemon, a key, a NodeSet."""
    source: str
    """From where it was looked at, or who said it: ``here``, ``pod on node-1``, ``slurmctld`` …"""
    got: str
    """What came back."""
    change: str = ""
    """What to change, or how to find out."""
    paste: tuple[str, ...] = ()
    """Lines to paste or to run, as they are."""
    at: str = ""
    """Where to paste or run them: ``on slurmctld's host``, ``in slurm.conf …``."""


def fine(name: str, subject: str, source: str, got: str) -> Check:
    """Looked at, and right."""
    return Check(name, Verdict.FINE, subject, source, got)


def unknown(name: str, subject: str, source: str, got: str, change: str = "", *paste: str, at: str = "") -> Check:
    """It could not be asked: why, and how to find out."""
    return Check(name, Verdict.UNKNOWN, subject, source, got, change, paste, at)


def problem(name: str, subject: str, source: str, got: str, change: str, *paste: str, at: str = "") -> Check:
    """It doesn't fit: what came back, and what to change."""
    return Check(name, Verdict.PROBLEM, subject, source, got, change, paste, at)


def warning(name: str, subject: str, source: str, got: str, change: str, *paste: str, at: str = "") -> Check:
    """It will surprise: what came back, and what to change."""
    return Check(name, Verdict.WARNING, subject, source, got, change, paste, at)
