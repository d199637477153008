"""What a part has that writes the number of a NodeSet beside its gate, so that the gate stops it while it drains.

Where gates run there is no configuration: a part answers by what it has given the gate (``Part.gate_props``).
``parts/writers.py`` names those that there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

from slinky_iac.drain.plan import Seen
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import GateSettings
from slinky_iac.kube.client import KubeClient


@dataclass(frozen=True)
class WriterState:
    """How it is, for people."""

    paused: bool
    said: tuple[str, ...] = ()
    """What to know where it doesn't do its work."""


class OwnWriter(ABC):
    """Each method does nothing where the stack makes none for the NodeSet."""

    called: ClassVar[str]
    """What it is, in one word."""

    @abstractmethod
    def inputs(self, olds: Mapping[str, Any], news: dict[str, Any]) -> dict[str, Any]:
        """The gate's inputs, with what this one update has to know."""

    @abstractmethod
    def previewed(self, session: Session, settings: GateSettings, seen: Observation, plan: Seen) -> Seen:
        """The plan, with what is a reason to run; the session says what to know of it."""

    @abstractmethod
    def standing_still(self, session: Session, settings: GateSettings, current: int) -> AbstractContextManager[bool]:
        """Inside of it nothing of this one is written to a NodeSet with ``current`` replicas; yields whether that was
        necessary, so that the gate writes the number."""

    @abstractmethod
    def stop_for_removal(self, session: Session, settings: GateSettings) -> None:
        """Before a NodeSet is removed: no pod comes any more."""

    @abstractmethod
    def give_back(self, session: Session, settings: GateSettings) -> int:
        """Let it continue where a run of this gate has stopped it; returns how many steps that took."""

    @abstractmethod
    def question(self, settings: GateSettings) -> Callable[[KubeClient], WriterState] | None:
        """Asks how it is; None where the stack makes none."""
