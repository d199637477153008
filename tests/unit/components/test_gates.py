"""What the configuration's drain settings become in the gates' props."""

from __future__ import annotations

from typing import Any

import pytest

from components.gates import drain_policy
from slinky_iac.config.reading.load import load
from slinky_iac.config.workers import Drain
from slinky_iac.drain.settings import parse_policy, plain_policy
from slinky_iac.errors import ConfigError
from tests.stacks import minimal


@pytest.mark.parametrize("act", ["keep", "undo", "requeue", "cancel"])
def test_no_call_is_cut_off_before_the_policy_has_had_its_time(act: str) -> None:
    policy = drain_policy(Drain.model_validate({"deadline": 600, "onDeadline": act, "grace": 900}))
    assert policy.bound_s > policy.deadline_s + policy.overtime_s


def test_the_usual_bound_stands_in_users_state_files() -> None:
    """Another value would be a change in every stack's next preview."""
    assert drain_policy(Drain()).bound_s == 1800 + 60 + 60


LONGEST: dict[str, Any] = {
    "deadline": "365d",
    "grace": "30d",
    "registerDeadline": "365d",
    "maxAtOnce": 1_000_000,
    "startAtOnce": 1_000_000,
}
BEYOND: dict[str, Any] = {
    "deadline": "366d",
    "grace": "31d",
    "registerDeadline": "366d",
    "maxAtOnce": 1_000_001,
    "startAtOnce": 1_000_001,
}
BEYOND |= {"limits.maxJobs": 1_000_000_001, "limits.maxJobAge": "366d"}
MOST = {"maxShare": 1, "maxJobs": 1_000_000_000, "maxJobAge": "365d"}


@pytest.mark.parametrize("act", ["keep", "undo", "requeue", "cancel"])
def test_a_gate_accepts_whatever_a_stack_s_file_may_say(act: str) -> None:
    """What passes a preview's checks isn't refused by the gate in the middle of an update."""
    drain = Drain.model_validate({**LONGEST, "onDeadline": act, "limits": MOST})
    assert parse_policy(plain_policy(drain_policy(drain))) == drain_policy(drain)


@pytest.mark.parametrize("path", BEYOND)
def test_more_is_refused_under_the_name_that_the_file_has(path: str) -> None:
    section, _, field = path.rpartition(".")
    drain = {section: {field: BEYOND[path]}} if section else {field: BEYOND[path]}
    with pytest.raises(ConfigError, match=rf"drain\.{path}: must be at most"):
        load(minimal(drain=drain))
