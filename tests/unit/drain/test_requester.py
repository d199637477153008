"""Who asked for a drain: known CIs by run, people by login, and nothing that could break its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.drain.requester import LONGEST, OVERRIDE, actor

GITHUB = {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "alice", "GITHUB_RUN_ID": "4711", "USER": "runner"}


@pytest.mark.parametrize(
    ("env", "said"),
    [
        (GITHUB, "github alice run 4711"),
        (GITHUB | {"GITHUB_TRIGGERING_ACTOR": "bob"}, "github bob run 4711"),
        (GITHUB | {"GITHUB_ACTOR": "dependabot[bot]"}, "github dependabot[bot] run 4711"),
        (GITHUB | {"GITHUB_ACTOR": ""}, "github run 4711"),
        ({"CI": "true", "GITLAB_CI": "true", "GITLAB_USER_LOGIN": "eve", "CI_PIPELINE_ID": "9"}, "gitlab eve run 9"),
        (
            {"JENKINS_URL": "https://ci", "BUILD_USER_ID": "dmitri", "BUILD_TAG": "jenkins-up-3"},
            "ci dmitri run jenkins-up-3",
        ),
        ({"CI": "1", "GIT_AUTHOR_NAME": "Ann Other", "BUILD_ID": "12"}, "ci Ann Other run 12"),
        ({"CI": "true", "USER": "builder"}, "ci"),
        ({"USER": "alice", "HOSTNAME": "desk.example.org"}, "alice@desk"),
        ({"USER": "root", "SUDO_USER": "alice"}, "alice@here"),
        ({"LOGNAME": "alice"}, "alice@here"),
        ({}, "unknown@here"),
        ({OVERRIDE: "ticket 815, ops", "USER": "alice"}, "ticket 815_ ops"),
        ({OVERRIDE: " \n ", "USER": "alice"}, "alice@here"),
    ],
)
def test_who_asked_is_named_by_run_or_login(env: dict[str, str], said: str) -> None:
    assert actor(env, host="here.example.org") == said


def test_an_environment_that_says_nothing_is_unknown() -> None:
    assert actor({}) == "unknown"


def test_a_long_name_never_hides_the_run() -> None:
    said = actor(GITHUB | {"GITHUB_ACTOR": "a" * 200})
    assert said.endswith("a run 4711")
    assert len(said) == LONGEST


NAMES = ("CI", "GITHUB_ACTIONS", "GITHUB_ACTOR", "GITHUB_RUN_ID", "GITLAB_CI", "GITLAB_USER_LOGIN", "CI_PIPELINE_ID",
         "BUILD_ID", "USER", "HOSTNAME", OVERRIDE)  # fmt: skip


@given(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=200)), st.text(max_size=80))
def test_no_environment_makes_more_than_one_short_harmless_line(env: dict[str, str], host: str) -> None:
    said = actor(env, host=host)
    assert 0 < len(said) <= LONGEST
    assert said == said.strip()
    assert all(" " <= char <= "~" for char in said)
    assert not set(said) & set("'\"\\`$,;|<>&")
