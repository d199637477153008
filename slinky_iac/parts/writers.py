"""What parts have that writes the number of a NodeSet beside its gate, and what is asked of all at once. No configuration is
imported here: gates run in a process without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from slinky_iac.drain.own_writers import OwnWriter, WriterState
from slinky_iac.drain.plan import Seen
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import GateSettings
from slinky_iac.kube.client import KubeClient
from slinky_iac.parts.autoscale.writer import Keda

WRITERS: Final[tuple[OwnWriter, ...]] = (Keda(),)


def inputs(olds: Mapping[str, Any], news: dict[str, Any]) -> dict[str, Any]:
    """A gate's inputs, with what this one update has to know."""
    for writer in WRITERS:
        news = writer.inputs(olds, news)
    return news


def previewed(session: Session, settings: GateSettings, seen: Observation, plan: Seen) -> Seen:
    """A plan, with what is a reason to run."""
    for writer in WRITERS:
        plan = writer.previewed(session, settings, seen, plan)
    return plan


@contextmanager
def standing_still(session: Session, settings: GateSettings, current: int) -> Iterator[bool]:
    """Inside of it none of them writes; yields whether the gate writes the number instead."""
    with ExitStack() as stack:
        yield any([stack.enter_context(writer.standing_still(session, settings, current)) for writer in WRITERS])


def stop_for_removal(session: Session, settings: GateSettings) -> None:
    """Before a NodeSet is removed: none of them adds a pod any more."""
    for writer in WRITERS:
        writer.stop_for_removal(session, settings)


def give_back(session: Session, settings: GateSettings) -> int:
    """Let them continue; returns how many steps that took."""
    return sum(writer.give_back(session, settings) for writer in WRITERS)


def questions(settings: GateSettings) -> dict[str, Callable[[KubeClient], WriterState]]:
    """How those are that write a NodeSet's number, by what they are called."""
    asked = ((writer.called, writer.question(settings)) for writer in WRITERS)
    return {called: question for called, question in asked if question is not None}
