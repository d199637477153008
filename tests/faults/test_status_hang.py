"""A slurmctld that hangs delays every answer of slurmrestd; the screen comes nonetheless, and blames the right one."""

from __future__ import annotations

import time

from lab import slurm as outside
from tests.e2e.gated import Gated
from tests.e2e.slurm import await_true
from tests.e2e.test_status import seen

LONGEST_S = 60
"""For one screen: two pings and one question, of which each waits for MessageTimeout, 10 s, on a busy machine."""


def test_a_slurmctld_that_hangs_is_down_and_slurmrestd_is_up(gated: Gated) -> None:
    outside.pause("ctl", "slurmctld")
    began = time.monotonic()
    try:
        code, found = seen(gated)
        took = time.monotonic() - began
    finally:
        outside.resume("ctl", "slurmctld")
    states = {each["name"]: each["state"] for each in found["endpoints"]}
    assert (states["Kubernetes API"], states["slurmrestd"], states["slurmctld"]) == ("up", "up", "down")
    assert (code, found["drains"]) == (4, None)
    assert took < LONGEST_S
    await_true("slurmctld answers again", lambda: seen(gated)[0] == 0, 90, every=2)
