"""With drain.showUsers: false no user's name comes past the look at Slurm: so none is in a plan, state, message or order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.gates import drain_policy
from slinky_iac.config.workers import Drain
from slinky_iac.drain.observe import shown
from slinky_iac.drain.settings import DrainPolicy, parse_policy, plain_policy, pseudonym
from tests.unit.drain.test_observe import JOB

HIDE = DrainPolicy(show_users=False).hide_by("prod")


def test_users_are_named_unless_it_is_switched_off() -> None:
    assert DrainPolicy().hide_by("prod") == ""
    assert shown(JOB, "").user_name == "alice"
    assert shown(JOB, HIDE).user_name == pseudonym("alice", HIDE)
    assert "alice" not in repr(shown(JOB, HIDE))


@given(st.text(min_size=1, max_size=30))
def test_a_pseudonym_is_short_and_the_same_in_every_look(user: str) -> None:
    found = pseudonym(user, HIDE)
    assert found == pseudonym(user, HIDE)
    assert len(found) == 9
    assert found.startswith("user-")
    assert pseudonym("", HIDE) == ""


def test_stacks_have_pseudonyms_of_their_own_and_users_differ() -> None:
    assert pseudonym("alice", HIDE) != pseudonym("bob", HIDE)
    assert pseudonym("alice", HIDE) != pseudonym("alice", DrainPolicy(show_users=False).hide_by("dev"))


def test_the_setting_reaches_the_gates() -> None:
    policy = drain_policy(Drain.model_validate({"showUsers": False}))
    assert parse_policy(plain_policy(policy)).show_users is False
    assert parse_policy(plain_policy(drain_policy(Drain()))).show_users is True
    with pytest.raises(ValueError, match="true or false"):
        parse_policy({"show_users": "no"})
