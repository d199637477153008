"""What the configuration's drain settings become in the gates' props."""

from __future__ import annotations

import pytest

from components.gates import drain_policy
from slinky_iac.config.workers import Drain


@pytest.mark.parametrize("act", ["keep", "undo", "requeue", "cancel"])
def test_no_call_is_cut_off_before_the_policy_has_had_its_time(act: str) -> None:
    policy = drain_policy(Drain.model_validate({"deadline": 600, "onDeadline": act, "grace": 900}))
    assert policy.bound_s > policy.deadline_s + policy.overtime_s


def test_the_usual_bound_stands_in_users_state_files() -> None:
    """Another value would be a change in every stack's next preview."""
    assert drain_policy(Drain()).bound_s == 1800 + 60 + 60
