"""What gates have in common that wait until no job is lost by a change, and then make it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

from slinky_iac.drain.driver import Task
from slinky_iac.drain.losses import Loss
from slinky_iac.drain.observe import Met
from slinky_iac.drain.protocol import Step
from slinky_iac.drain.session import Session, act_on_slurm
from slinky_iac.drain.settings import Settings

POLL_S: Final = 5
"""Shortest time between two looks: each asks for all jobs."""
Seen = TypeVar("Seen")


class LosingTask(Task[Seen]):
    """Waits by :func:`slinky_iac.drain.waiting.until_none`, and notes whom it met."""

    acts_at_deadline = True
    idle = 4.0  # 20,000 job records take slurmrestd half a minute

    def __init__(self, session: Session, settings: Settings, stands: str) -> None:
        """``stands``: what is so after a loss."""
        super().__init__(session, settings, settings.policy.deadline_s)
        self.met = Met(settings.owner, anywhere=True, stands=stands)

    @property
    def poll_s(self) -> float:
        return max(self.policy.poll_s, POLL_S)

    def meet(self, lost: Iterable[Loss]) -> None:
        """Note whose jobs hold the change up."""
        self.met.wait_for((each.job for each in lost), self.session.now())

    def act(self, step: Step) -> None:
        say = self.session.report
        act_on_slurm(self.session.slurm, step, self.owner, lambda text: say(text, severity="warning", keep=True))

    def did(self, step: Step) -> None:
        """Note which jobs were signalled, and which were ended."""
        super().did(step)
        self.met.did(step)
