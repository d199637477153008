"""A slurmctld that hangs, by the real client: slurmrestd tells after MessageTimeout, and the screen waits no longer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import httpx

from slinky_iac.commands.status import ask
from slinky_iac.commands.status.build import status
from slinky_iac.commands.status.model import Seen
from tests.made.rows import META
from tests.unit.slurmrest.fake import FakeSlurm
from tests.unit.status.made import NOW, answers, known_facts

MESSAGE_TIMEOUT_S = 10.0
LONGEST_S = 45.0
"""For all questions together: two pings and one look, each MessageTimeout long, and the pauses between tries."""


class Hanging(FakeSlurm):
    """slurmrestd before a slurmctld that accepts connections and answers nothing."""

    def handle(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.split("/")[2] not in self.served:
            return super().handle(request)
        waited = min(MESSAGE_TIMEOUT_S, request.extensions["timeout"]["read"])
        self.ticks.now += waited
        if waited < MESSAGE_TIMEOUT_S:
            raise httpx.ReadTimeout("no answer yet", request=request)
        if request.url.path.endswith("/ping/"):
            silent = {"hostname": "ctl", "pinged": "DOWN", "responding": False, "primary": True, "mode": "primary"}
            return httpx.Response(200, json={"meta": META, "errors": [], "warnings": [], "pings": [silent]})
        trouble = {"error_number": 5004, "error": "Communication connection failure", "source": "slurm_load_ctl_conf"}
        return httpx.Response(504, json={"meta": META, "errors": [trouble], "warnings": []})


def test_slurmrestd_is_up_slurmctld_down_and_the_screen_there_in_time() -> None:
    slurm = Hanging()
    began = slurm.ticks.now
    with slurm.client(budget_s=ask.BUDGET_S) as client:
        session: Any = SimpleNamespace(slurm=client)
        found = ask._slurm(session, known_facts(), answers())
    took = slurm.ticks.now - began
    shown = status(known_facts(), found)
    states = {each.name: each.state for each in shown.endpoints}
    assert (states["slurmrestd"], states["slurmctld"], states["slurmdbd"]) == ("up", "down", "unknown")
    (why,) = [each for each in shown.unknown if each.startswith("slurmctld: ")]
    assert "slurmrestd runs but can't reach slurmctld" in why
    assert took < LONGEST_S


def test_a_budget_of_one_answer_would_blame_slurmrestd() -> None:
    """What the budgets are for: with the one of all other questions slurmrestd itself looked dead."""
    slurm = Hanging()
    with slurm.client(budget_s=ask.BUDGET_S) as client:
        session: Any = SimpleNamespace(slurm=client)
        found = ask._slurm(session, known_facts(), Seen(now=NOW), ask.BUDGET_S, ask.BUDGET_S)
    assert not found.slurmrestd.known
