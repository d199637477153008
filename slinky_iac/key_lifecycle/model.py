"""A rotation as an ordered plan: which steps, whose turn each is, and where the rotation stands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal

Which = Literal["jwt", "slurm", "tokens"]


class Turn(StrEnum):
    """Who carries out a step."""

    OURS = "this stack"
    HOSTS = "outside hosts"
    PERSON = "you, in a planned stop"


class State(StrEnum):
    """Where a step stands."""

    DONE = "done"
    NOW = "now"
    LATER = "later"


class Role(StrEnum):
    """What a host outside Kubernetes runs; the order is the one in which hosts are changed."""

    LOGIN = "login"
    SLURMD = "slurmd"
    SLURMDBD = "slurmdbd"
    BACKUP = "backup slurmctld"
    SLURMCTLD = "slurmctld"


@dataclass(frozen=True)
class Host:
    """One host outside Kubernetes, by the name or address that the configuration has for it."""

    name: str
    roles: tuple[Role, ...]


@dataclass(frozen=True)
class Step:
    """One step of a rotation."""

    name: str
    turn: Turn
    title: str
    why: str
    state: State = State.LATER
    hosts: tuple[Host, ...] = ()
    """Hosts that take part, in the order in which they are to be changed."""
    commands: tuple[str, ...] = ()
    """Command lines that carry the step out by hand, in their order; empty where `keys rotate` alone knows how."""


@dataclass(frozen=True)
class Rotation:
    """All steps, and the one that is due."""

    which: Which
    steps: tuple[Step, ...]
    under_way: bool
    """Whether a rotation has begun and hasn't ended."""
    notes: tuple[str, ...] = ()
    stop: bool = False
    """Whether the cluster is stopped for it."""

    @property
    def due(self) -> Step | None:
        """The step whose turn it is; None where there is none (any more)."""
        return next((step for step in self.steps if step.state is State.NOW), None)


START: Final = "make"
"""Name of the first step of all rotations: the new key is made, and nothing uses it yet."""


def staged(steps: tuple[Step, ...], due: str | None) -> tuple[Step, ...]:
    """The steps with their states: all before the one named ``due`` are done, all after it come later. None: all done."""
    at = len(steps) if due is None else [step.name for step in steps].index(due)
    states = [State.DONE] * at + [State.NOW] + [State.LATER] * len(steps)
    return tuple(replace(step, state=state) for step, state in zip(steps, states, strict=False))
