"""KEDA as what writes a NodeSet's number beside its gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from slinky_iac.drain.own_writers import OwnWriter, WriterState
from slinky_iac.drain.plan import Seen
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import LEAVING, GateSettings
from slinky_iac.errors import SlinkyError
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.scalers import writers
from slinky_iac.parts.autoscale import keda, pause
from slinky_iac.parts.autoscale.demand import in_words, today
from slinky_iac.parts.autoscale.pause_steps import Told


class Keda(OwnWriter):
    """A ScaledObject of the stack's."""

    called = "autoscaler"

    def inputs(self, olds: Mapping[str, Any], news: dict[str, Any]) -> dict[str, Any]:
        """The engine deletes an autoscaler only after the gate has taken the number over, so the gate has to pause it."""
        former = olds.get("autoscaler")
        return {**news, LEAVING: former} if former and news["owner"] == "stack" and not news.get("autoscaler") else news

    def previewed(self, session: Session, settings: GateSettings, seen: Observation, plan: Seen) -> Seen:
        """The same, after today's demand was told; a pause that a killed run has left is a reason to run."""
        told = Told.of(settings)
        if told.leaving:
            session.report(
                f"the autoscaler {told.leaving} is removed: it is paused first, and then the stack sets the number,"
                f" {settings.replicas}",
                keep=True,
            )
        if not told.name:
            return plan
        for text, warns in in_words(today(seen, settings), settings):
            session.report(text, severity="warning" if warns else "info", keep=True)
        try:
            scaler = pause.seen_now(session, settings)
            others = writers(session.kube, settings.reach.namespace, settings.resource, told.name)
        except SlinkyError as error:
            session.report(f"it is unknown whether the autoscaler is paused: {error}", severity="warning")
            return plan
        if others:
            also = f"{', '.join(others)} also writes the number of {settings.resource}"
            session.report(f"{also}: two autoscalers undo each other. Remove one", severity="warning", keep=True)
        if scaler is None or not scaler.is_ours(settings.owner):
            return plan
        return plan.because("the autoscaler is paused by an earlier run, which did not end")

    def standing_still(self, session: Session, settings: GateSettings, current: int) -> AbstractContextManager[bool]:
        return pause.standing_still(session, settings, current)

    def stop_for_removal(self, session: Session, settings: GateSettings) -> None:
        pause.stop_for_removal(session, settings)

    def give_back(self, session: Session, settings: GateSettings) -> int:
        return pause.give_back(session, settings)

    def question(self, settings: GateSettings) -> Callable[[KubeClient], WriterState] | None:
        if not (name := Told.of(settings).name):
            return None
        return partial(keda.state_of, namespace=settings.reach.namespace, name=name, nodeset=settings.resource)
