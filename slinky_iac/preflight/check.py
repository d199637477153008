"""One check and its verdict: what was checked, from where, what came back, what to change, the line to paste.

A check is a row of a table: an :class:`Expect` with its name, its subject and the function that judges the facts, which
yields an :class:`Answer` for each thing that it has to say. :mod:`slinky_iac.preflight.compare` runs the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Flag, StrEnum, auto
from typing import Final

from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.catalogue import Key
from slinky_iac.parts.slurmctld.place import InsideSlurmctld, OutsideSlurmctld
from slinky_iac.preflight.facts import Facts


class At:
    """Where lines are pasted, or commands run."""

    SLURM_CONF: Final = "in slurm.conf on slurmctld's host, then run `scontrol reconfigure` there"
    """Most lines."""
    RESTARTED: Final = "in slurm.conf on slurmctld's host, then restart slurmctld"
    """Lines that slurmctld reads only when it starts."""
    SLURMCTLD: Final = "on slurmctld's host"
    HOSTS: Final = "on every outside host"


BY_HAND: Final = "by hand"
"""The source of checks that no daemon can answer."""


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
    """One sentence about one thing. Texts of others (names, answers) may be in it, a key never."""

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
    of: str = ""
    """The one thing for which the stack's file can acknowledge a problem; empty where it can't."""
    reason: str = ""
    """Why the stack's file acknowledges it; empty where it doesn't."""

    @property
    def id(self) -> str:
        """By which the stack's file acknowledges it."""
        return f"preflight.{self.name}"


@dataclass(frozen=True)
class Answer:
    """What one row says of one thing: fields as in :class:`Check`; ``about`` and ``source`` empty: the row's own."""

    verdict: Verdict
    got: str
    change: str = ""
    paste: tuple[str, ...] = ()
    at: str = ""
    about: str = ""
    source: str = ""
    of: str = ""


Answers = Iterator[Answer]


def of(answers: Iterable[Answer], *, about: str = "", source: str = "") -> Answers:
    """The answers, about this and from there where they name nothing else."""
    return (replace(answer, about=answer.about or about, source=answer.source or source) for answer in answers)


def fine(got: str, *, about: str = "", source: str = "") -> Answer:
    """Looked at, and right."""
    return Answer(Verdict.FINE, got, about=about, source=source)


def unknown(got: str, change: str = "", *paste: str, at: str = "", about: str = "", source: str = "") -> Answer:
    """It could not be asked: why, and how to find out."""
    return Answer(Verdict.UNKNOWN, got, change, paste, at, about, source)


def problem(got: str, change: str, *paste: str, at: str = "", about: str = "", source: str = "") -> Answer:
    """It doesn't fit: what came back, and what to change."""
    return Answer(Verdict.PROBLEM, got, change, paste, at, about, source)


def warning(got: str, change: str, *paste: str, at: str = "", about: str = "", source: str = "") -> Answer:
    """It will surprise: what came back, and what to change."""
    return Answer(Verdict.WARNING, got, change, paste, at, about, source)


INSIDE: Final = InsideSlurmctld.where
"""Rows of stacks whose slurmctld is in Kubernetes."""
OUTSIDE: Final = OutsideSlurmctld.where
"""Rows of stacks whose slurmctld is outside."""


class Run(Flag):
    """Which runs have a row."""

    WHOLE = auto()
    """`preflight` of a stack with auth/slurm."""
    PREVIEW = auto()
    """The short look of every preview, which asks slurmctld a few questions and Kubernetes none."""
    HERE = auto()
    """`preflight --from-here-only`."""
    CLIENTS = auto()
    """`preflight` of a stack that makes clients only."""
    SHORT = WHOLE | PREVIEW
    ANY = WHOLE | CLIENTS


@dataclass(frozen=True)
class Expect:
    """One row: what is expected of one thing, and who says whether it is so."""

    name: str
    subject: str
    source: str
    judge: Callable[[StackConfig, Facts], Answers]
    runs: Run = Run.WHOLE
    where: str = ""
    """Where slurmctld is in the stacks that have the row, as :attr:`.InsideSlurmctld.where` says it; empty: anywhere."""

    def checks(self, config: StackConfig, facts: Facts) -> Iterator[Check]:
        """What the facts come to."""
        for answer in self.judge(config, facts) if self.where in ("", config.slurmctld.where) else ():
            about, source = answer.about or self.subject, answer.source or self.source
            yield Check(
                self.name, answer.verdict, about, source, answer.got, answer.change, answer.paste, answer.at, answer.of
            )


def same_key(config: StackConfig, facts: Facts, key: Key, change: str, *paste: str, at: str = "") -> Answers:
    """A key of the configuration is its Secret's. ``change``, ``paste`` and ``at``: what to do where they differ."""
    ours, theirs = facts.keys.get(key.label), facts.kube.keys.get(key.label)
    namespace, missing = config.cluster.namespace, facts.kube.namespace and theirs is None
    source = config.key_source
    if key.label in facts.kube.keys_trouble:
        yield unknown(f"not known: {facts.kube.keys_trouble[key.label]}")
    elif missing and source.awaited:
        said = f"isn't in namespace {namespace} yet. `pulumi up` waits {config.keys.wait} s for it"
        yield warning(said, f"{config.keys.made_by or 'Who makes it (keys.madeBy)'} must create it: see its log")
    elif missing and not source.makes_secrets:
        yield problem(
            f"isn't in namespace {namespace}, and keys.source is existing",
            "Make it before `pulumi up`, from the outside hosts' own file",
            f"kubectl -n {namespace} create secret generic NAME --from-file=ENTRY=FILE",
        )
    elif ours and theirs and ours != theirs:
        yield problem(f"holds {theirs}, and {key.config} of the configuration is {ours}", change, *paste, at=at)
    elif ours and theirs:
        yield fine(f"holds the key of the configuration ({ours})")
