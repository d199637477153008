"""Rules of times that a drain takes: a number without a unit is seconds, and Slurm's own times are minutes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.workers import Drain
from slinky_iac.parts.part import Rule
from slinky_iac.text import counted

SHORT_S: Final = 60
"""A time under which a person who runs jobs hardly means seconds; a trial may."""
_THEN: Final[Mapping[str, str]] = {
    "keep": "`pulumi up` fails where a job on the nodes that go takes longer, and the nodes stay drained",
    "undo": "`pulumi up` fails where a job on the nodes that go takes longer, and the nodes are returned to Slurm",
    "requeue": "a job on the nodes that go is requeued where it takes longer",
    "cancel": "a job on the nodes that go is cancelled where it takes longer",
}


def _short(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    for path, drain in _drains(config):
        if drain.deadline < SHORT_S:
            then = f"and onDeadline is {drain.on_deadline}: {_THEN[drain.on_deadline]}"
            yield _warning(f"{path}.deadline", drain.deadline, then)
        if drain.register_deadline < SHORT_S:
            then = "in which new pods pull their images and register: `pulumi up` fails where one takes longer"
            yield _warning(f"{path}.registerDeadline", drain.register_deadline, then)


def _drains(config: StackConfig) -> Iterator[tuple[str, Drain]]:
    """Those that hold for something, each where it is set."""
    if config.drain is not None:
        yield "drain", config.drain
    for name, nodeset in config.nodesets.items():
        if "drain" in nodeset.model_fields_set:
            yield f"nodesets.{name}.drain", nodeset.drain


def _warning(path: str, seconds: int, then: str) -> Finding:
    return at(path).warning(
        f"is {counted(seconds, 'second')}, {then}. A number without a unit is seconds; Slurm's own times are minutes. For"
        f" minutes write {max(seconds, 1)}m",
        id="short-deadline",
    )


RULES: tuple[Rule, ...] = (_short,)
