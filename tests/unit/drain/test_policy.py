"""A policy goes through props unharmed, and what it can't mean is refused with all faults at once."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.drain.settings import DrainPolicy, Limits, parse_policy, plain_policy


def test_nothing_given_means_the_defaults():
    assert parse_policy({}) == DrainPolicy()
    assert parse_policy({"limits": {}}).limits == Limits()


def test_numbers_from_the_wire_are_whole_floats():
    policy = parse_policy({"deadline_s": 60.0, "max_at_once": 3.0, "limits": {"max_jobs": 0.0, "max_share": 1}})
    assert policy.deadline_s == 60
    assert type(policy.deadline_s) is int
    assert type(policy.max_at_once) is int
    assert policy.limits == Limits(max_share=1.0, max_jobs=0)


@pytest.mark.parametrize(
    ("raw", "path", "allowed"),
    [
        ({"deadline_s": -1}, "deadline_s", "from 0"),
        ({"deadline_s": 1.5}, "deadline_s", "whole number"),
        ({"deadline_s": True}, "deadline_s", "whole number"),
        ({"deadline_s": "60"}, "deadline_s", "whole number"),
        ({"deadline_s": math.nan}, "deadline_s", "whole number"),
        ({"deadline_s": math.inf}, "deadline_s", "whole number"),
        ({"deadline_s": None}, "deadline_s", "whole number"),
        ({"on_deadline": "kill"}, "on_deadline", "keep, undo, requeue, cancel"),
        ({"on_deadline": ["keep"]}, "on_deadline", "one of"),
        ({"signal": "SIGKILL"}, "signal", "SIGTERM"),
        ({"max_at_once": 0}, "max_at_once", "from 1"),
        ({"poll_s": 0}, "poll_s", "from 1"),
        ({"min_hold_s": 10}, "min_hold_s", "from 600"),
        ({"limits": {"max_share": 0}}, "limits.max_share", "above 0 to 1"),
        ({"limits": {"max_share": 1.01}}, "limits.max_share", "above 0 to 1"),
        ({"limits": {"max_jobs": -1}}, "limits.max_jobs", "from 0"),
        ({"limits": {"max_nodes": 1}}, "limits.max_nodes", "max_job_age_s"),
        ({"limits": 3}, "limits", "mapping"),
        ({"dead_line": 3}, "dead_line", "deadline_s"),
    ],
)
def test_what_it_cannot_mean_is_refused_with_path_value_and_what_is_allowed(raw, path, allowed):
    with pytest.raises(ValueError, match="nothing was drained") as caught:
        parse_policy(raw)
    assert f"{path}: " in str(caught.value)
    assert allowed in str(caught.value)


def test_all_faults_are_told_at_once():
    with pytest.raises(ValueError, match="deadline_s") as caught:
        parse_policy({"deadline_s": -1, "signal": "x", "limits": {"max_jobs": "many"}})
    assert str(caught.value).count("allowed is") == 3


def test_dead_mans_switch_outlasts_the_deadline_and_the_hand_over():
    assert DrainPolicy(deadline_s=60).hold_s == 3600
    assert DrainPolicy(deadline_s=7200).hold_s == 14400
    assert DrainPolicy(deadline_s=7200, hold_factor=0).hold_s is None
    assert DrainPolicy(deadline_s=30_000_000, hold_factor=1000).hold_s == 400 * 24 * 3600


POLICIES = st.builds(
    DrainPolicy,
    deadline_s=st.integers(0, 10**6),
    on_deadline=st.sampled_from(["keep", "undo", "requeue", "cancel"]),
    signal=st.sampled_from(["SIGTERM", "SIGUSR1", "SIGUSR2", "SIGINT"]),
    max_at_once=st.none() | st.integers(1, 10**6),
    start_at_once=st.none() | st.integers(1, 10**6),
    hold_factor=st.floats(0, 1000),
    limits=st.builds(Limits, max_share=st.none() | st.floats(0.01, 1), max_jobs=st.none() | st.integers(0, 10**9)),
)


@given(POLICIES)
def test_policy_comes_back_from_plain_values_as_it_went(policy):
    assert parse_policy(plain_policy(policy)) == policy


@given(st.dictionaries(st.text(max_size=12), st.none() | st.booleans() | st.floats() | st.text(max_size=5), max_size=5))
def test_any_mapping_is_a_policy_or_a_value_error(raw):
    try:
        policy = parse_policy(raw)
    except ValueError:
        return
    assert parse_policy(plain_policy(policy)) == policy
