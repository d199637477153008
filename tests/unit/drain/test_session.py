"""What the hands of a gate say of an act that Slurm refuses."""

from contextlib import ExitStack

import pytest

from slinky_iac.drain.actions import Cancel, Requeue, Signal
from slinky_iac.drain.session import Session
from slinky_iac.drain.settings import Reach
from slinky_iac.kube.wire import Clock
from slinky_iac.slurmrest.models import JobWord
from tests.unit.drain.test_drive import settings

WORDS = (JobWord("1", 0, ""), JobWord("2", 2021, "done"), JobWord("3_1", 2132, "Only batch jobs are accepted"))


class Slurm:
    """A slurmrestd with one answer."""

    def requeue_jobs(self, *_jobs):
        return WORDS

    cancel_jobs = requeue_jobs


class Told(Session):
    """A session with that slurmrestd."""

    slurm = Slurm()


@pytest.mark.parametrize(
    ("step", "what"),
    [(Requeue((1, 2, "3_1")), "requeued"), (Cancel((1,)), "cancelled"), (Signal((1,), "SIGTERM", ()), "signalled")],
)
def test_a_job_that_slurm_refuses_to_touch_is_told_once_and_stays_on_the_screen(step, what):
    said = []
    reach = Reach("slurm", "hpc-restapi", "jwt", "jwt.key")
    with ExitStack() as stack:
        session = Told(reach, lambda text, **how: said.append((text, how)), stack, budget_s=1, clock=Clock())
        session.act(step, settings(1))
        session.act(step, settings(1))
    kept = {"severity": "warning", "keep": True}
    assert said == [(f"job 3_1 was not {what}: Only batch jobs are accepted", kept)]
