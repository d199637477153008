"""Whatever `pulumi` does instead of answering is reported as one StateError: what was asked, what came back, what to do."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

from slinky_iac.cluster.pulumi_command import QUOTED, Runner, answer, printed, remedy
from slinky_iac.errors import StateError


def saying(out: str, code: int = 0) -> Runner:
    def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(arguments, code, out, "error: no such stack\n")

    return run


def raising(error: Exception) -> Runner:
    def run(_: Sequence[str]) -> subprocess.CompletedProcess[str]:
        raise error

    return run


def count(found: Any) -> int:
    return int(found["count"])


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (raising(FileNotFoundError("pulumi")), r"pulumi was not found\. Install Pulumi 3\.255 or newer"),
        (raising(subprocess.TimeoutExpired("pulumi", 120)), r"gave no answer in 120 s"),
        (saying("{}", 255), r"ended with 255: error: no such stack$"),
        (saying(""), "printed something else than a count$"),
        (saying("[]"), "printed something else than a count$"),
        (saying("{}"), "printed something else than a count$"),
        (saying('{"count": "many"}'), "printed something else than a count$"),
    ],
)
def test_no_answer_is_told_with_the_question_but_not_with_its_options(run: Runner, told: str) -> None:
    with pytest.raises(StateError, match=rf"^`pulumi stack output`:? ?{told}"):
        answer(run, ["stack", "output", "--show-secrets"], "prod", count, wanted="a count")


@pytest.mark.parametrize(("stack", "named"), [("prod", ["--stack", "prod"]), (None, [])])
def test_pulumi_never_asks_back_and_is_told_the_stack_only_where_one_is_named(stack: str | None, named: list[str]) -> None:
    asked: list[Sequence[str]] = []

    def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        asked.append(arguments)
        return saying('{"count": 3}')(arguments)

    assert answer(run, ["stack", "output"], stack, count, wanted="a count") == 3
    assert asked == [["stack", "output", "--non-interactive", *named]]


def test_decrypted_secrets_are_never_quoted() -> None:
    def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(arguments, 1, "c2VjcmV0" * 20, "")

    with pytest.raises(StateError) as told:
        printed(run, ["config", "--json", "--show-secrets"])
    assert str(told.value) == "`pulumi config` ended with 1:"


def test_the_end_of_a_long_output_is_quoted_since_errors_stand_there() -> None:
    def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(arguments, 1, "+ 40 resources\n" * QUOTED + "error: deadline", "")

    with pytest.raises(StateError, match=r"(?s)^`pulumi up` ended with 1: .*error: deadline$") as told:
        printed(run, ["up", "--yes"])
    assert len(str(told.value)) < QUOTED + 50


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        (
            "error: PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions",
            "Log in: `pulumi login file://",
        ),
        ("error: no stack selected; please use `pulumi stack select`", "Name the stack with --stack"),
        (
            "error: no stack named 'prd' found",
            "`pulumi stack ls` lists the stacks; a new one is made by `pulumi stack select --create NAME`",
        ),
        ("error: no Pulumi.yaml project file found (searching upwards from /tmp)", "Run it in the project's folder"),
        ("error: organization name must be 'organization'", "Write --stack NAME alone"),
        ("error: unable to open bucket file:///no/such", "The backend isn't there"),
        (
            "error: unable to read PULUMI_CONFIG_PASSPHRASE_FILE: open /no/file: no such file or directory",
            "Set it to the file",
        ),
        ("error: the server is on fire", ""),
    ],
)
def test_each_cause_has_its_own_next_step_and_no_other(said: str, advice: str) -> None:
    def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(arguments, 255, "", said)

    with pytest.raises(StateError) as told:
        printed(run, ["stack", "export"])
    assert str(told.value).startswith(f"`pulumi stack export` ended with 255: {said}{'. ' + advice if advice else ''}")
    if not advice:
        assert str(told.value).endswith(said)


def test_outside_a_project_pulumis_own_advice_is_left_out_for_it_makes_another_project() -> None:
    said = (
        "error: no Pulumi.yaml project file found (searching upwards from /tmp). If you have not created a project yet, use"
        " `pulumi new` to do so: no project file found"
    )

    def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(arguments, 1, "", said)

    with pytest.raises(StateError) as told:
        printed(run, ["stack", "export"])
    assert str(told.value) == (
        "`pulumi stack export` ended with 1: error: no Pulumi.yaml project file found (searching upwards from /tmp). Run it"
        " in the project's folder, which has Pulumi.yaml; `slinky new DIR` makes a project"
    )


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (
            {"PULUMI_CONFIG_PASSPHRASE": "hunter2", "PULUMI_CONFIG_PASSPHRASE_FILE": "/right"},
            "pulumi reads PULUMI_CONFIG_PASSPHRASE, which is set, and not the file of PULUMI_CONFIG_PASSPHRASE_FILE. If that"
            " file has this stack's passphrase: `unset PULUMI_CONFIG_PASSPHRASE`",
        ),
        ({"PULUMI_CONFIG_PASSPHRASE": ""}, "pulumi reads PULUMI_CONFIG_PASSPHRASE, which is set. Unset it, and set"),
        ({"PULUMI_CONFIG_PASSPHRASE_FILE": "/wrong"}, "pulumi read the file of PULUMI_CONFIG_PASSPHRASE_FILE. Set "),
        ({}, "Set PULUMI_CONFIG_PASSPHRASE_FILE to the file with this stack's passphrase"),
    ],
)
def test_a_wrong_passphrase_is_told_from_a_right_one_that_was_not_read(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], said: str
) -> None:
    """The variable has precedence over the file (pulumi pkg/secrets/passphrase), also where it is empty."""
    for name in ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = remedy("error: incorrect passphrase")
    assert said in found
    assert "hunter2" not in found
