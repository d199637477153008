"""A rotation as an ordered plan: which steps, whose turn each is, and where the rotation stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from slinky_iac.keys.catalogue import Key, Role


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
class Plan:
    """All steps, and the one that is due."""

    key: Key
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

    def standing_at(self, step: str) -> Plan:
        """The same plan, under way, with ``step`` due."""
        return replace(self, steps=staged(self.steps, step), under_way=True)


START: Final = "make"
"""Name of the first step of all rotations: the new key is made, and nothing uses it yet."""


def start(key: Key) -> Step:
    """The first step of the rotations under running jobs."""
    return Step(START, Turn.OURS, f"make the new key: secret {key.next} of this stack", "nothing uses it yet")


def staged(steps: tuple[Step, ...], due: str | None) -> tuple[Step, ...]:
    """The steps with their states: all before the one named ``due`` are done, all after it come later. None: all done."""
    at = len(steps) if due is None else [step.name for step in steps].index(due)
    states = [State.DONE] * at + [State.NOW] + [State.LATER] * len(steps)
    return tuple(replace(step, state=state) for step, state in zip(steps, states, strict=False))


def readers(key: Key, hosts: Iterable[Host]) -> tuple[Host, ...]:
    """The hosts that hold a key, without their roles that don't: a daemon that knows nothing of it needs no restart."""
    holders = (Host(host.name, tuple(role for role in host.roles if role in key.readers)) for host in hosts)
    return tuple(host for host in holders if host.roles)


BOTH: Final = frozenset({Role.SLURMCTLD, Role.SLURMDBD})


@dataclass(frozen=True, kw_only=True)
class TokenVerdicts:
    """What is so now of keys that tokens are made with: all by public names, and which daemon takes tokens of which."""

    current: str
    """The key of the configuration."""
    next_key: str | None = None
    """The one that replaces it, while it is being replaced."""
    slurmctld: Mapping[str, bool | None] = field(default_factory=dict)
    """Whether slurmctld takes a token made with the key; None: it couldn't be asked."""
    slurmdbd: Mapping[str, bool | None] | None = field(default_factory=dict)
    """The same of slurmdbd; None where the cluster has none."""
    hosts: tuple[Host, ...] = ()

    def taken(self, key: str) -> bool:
        """Whether slurmctld and slurmdbd both certainly take tokens made with ``key``."""
        return all(verdict is True for verdict in self._of(key, BOTH))

    def refused(self, key: str, daemons: frozenset[Role] = BOTH) -> bool:
        """Whether each of ``daemons`` certainly refuses tokens made with ``key``."""
        return all(verdict is False for verdict in self._of(key, daemons))

    def _of(self, key: str, daemons: frozenset[Role]) -> list[bool | None]:
        verdicts = [self.slurmctld.get(key)] if Role.SLURMCTLD in daemons else []
        if self.slurmdbd is not None and Role.SLURMDBD in daemons:
            verdicts.append(self.slurmdbd.get(key))
        return verdicts

    def verdict_notes(self, next_key: str | None, previous: str | None = None) -> tuple[str, ...]:
        """Who takes which key, in words."""
        which = {next_key: "the new key", previous: "the old key"}
        own = "the new key" if previous else "the old key" if next_key else "the key of this stack"
        said = {True: "takes", False: "refuses", None: "could not be asked about"}
        return tuple(
            f"{daemon} {said[verdict]} {which.get(key, own)} ({key[:19]}…)"
            for daemon, accepts in (("slurmctld", self.slurmctld), ("slurmdbd", self.slurmdbd or {}))
            for key, verdict in accepts.items()
        )
