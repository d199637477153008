"""The pause between two looks, the same in every loop of every gate."""

from __future__ import annotations

from typing import Protocol

from slinky_iac.drain.deadline import NEXT_STEP
from slinky_iac.drain.owner import Owner
from slinky_iac.errors import DrainBlocked


class Pausing(Protocol):
    """What a loop needs of a session to pause."""

    def pause(self, seconds: float) -> bool:
        """Wait; returns whether the engine has asked to stop."""
        ...

    def engine_lives(self) -> bool:
        """Whether the engine that started this is still there."""
        ...


def rest(session: Pausing, owner: Owner, seconds: float, doing: str, so_far: str = "Nothing was killed") -> None:
    """Wait for the next look.

    :raises DrainBlocked: the engine has asked to stop, or it is gone. A gate without an engine changes nothing more: the
        next run may have begun, and would find its drains lifted.
    """
    if session.pause(seconds):
        raise DrainBlocked(f"{owner.text}: interrupted in {doing}. {so_far}; drained nodes stay so. {NEXT_STEP}")
    if not session.engine_lives():
        raise DrainBlocked(f"{owner.text}: the engine is gone; this gate changes nothing more")
