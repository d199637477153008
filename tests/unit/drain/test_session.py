"""What the hands of a gate say of an act that Slurm refuses."""

from contextlib import ExitStack

import httpx
import jwt
import pytest

from slinky_iac.cluster.reach import Reach
from slinky_iac.drain.actions import Cancel, Requeue, Signal
from slinky_iac.drain.session import Session
from slinky_iac.kube.wire import Clock
from slinky_iac.slurmrest.controller import JobActionResult
from tests.unit.drain.test_drive import settings

WORDS = (
    JobActionResult("1", 0, ""),
    JobActionResult("2", 2021, "done"),
    JobActionResult("3_1", 2132, "Only batch jobs are accepted"),
)


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
        session.act(step, settings(1).owner)
        session.act(step, settings(1).owner)
    kept = {"severity": "warning", "keep": True}
    assert said == [(f"job 3_1 was not {what}: Only batch jobs are accepted", kept)]


class Opened(Session):
    """A session with a key that needs no Kubernetes, whose user was found to be an administrator."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self._is_admin = True

    def _signing_keys(self):
        return [b"k" * 32]


def test_both_clients_of_a_gate_sign_for_the_user_that_its_state_names():
    reach = Reach("slurm", "hpc-restapi", "jwt", "jwt.key", url="http://127.0.0.1:9", user="drainer")
    with ExitStack() as stack:
        session = Opened(reach, print, stack, budget_s=1, clock=Clock())
        other = stack.enter_context(session.slurm_with([b"k" * 32]))
        for client in (session.slurm, other):
            request = httpx.Request("GET", "http://127.0.0.1:9")
            signed = next(client._sender.client.auth.sync_auth_flow(request))
            token = signed.headers["X-SLURM-USER-TOKEN"]
            assert jwt.decode(token, b"k" * 32, algorithms=["HS256"])["sun"] == "drainer"
