"""The command: exit codes, JSON, a passphrase that isn't at hand, an interrupt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.commands import cli
from slinky_iac.commands.preflight import cli as preflight
from slinky_iac.commands.preflight.ask import Scope
from slinky_iac.config.reading.values import Values
from slinky_iac.errors import StateError
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.preflight.facts import Facts
from tests.unit.preflight.made import FACTS, slurm, stack


def run(
    *arguments: str, facts: Facts | BaseException = FACTS, locked: bool = False, seen: Any = None, look: Any = None
) -> int:
    """The command with these facts; ``locked``: the secrets can't be decrypted. ``seen`` gets what was asked for."""

    def configured(name: str | None, *, with_keys: bool = False) -> Values:
        if with_keys and locked:
            raise StateError("incorrect passphrase")
        return Values(stack(), (), KeyMaterial({"slurmKey": b"1" * 32, "jwtKey": b"2" * 32} if with_keys else {}))

    def ask(values: Values, scope: Scope, **more: Any) -> Facts:
        if seen is not None:
            seen.append((values, scope, more["keys_trouble"]))
        if isinstance(facts, BaseException):
            raise facts
        return facts

    parsed = cli.parser().parse_args(["preflight", *arguments])
    return preflight.run(parsed, configured, ask, look or (lambda _stack, *, decrypted: ()))


def test_a_good_world_gives_0_and_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--strict") == 0
    assert capsys.readouterr().out.startswith("preflight of lab: 7 unknown, ")


def test_a_problem_gives_6_and_json_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json", "--stack", "dev", facts=slurm(partitions=())) == 6
    body = json.loads(capsys.readouterr().out)
    assert (body["schema"], body["stack"], body["counts"]["problem"]) == (1, "dev", 1)
    assert body["checks"][0]["name"] == "partitions"


@pytest.mark.parametrize(
    ("arguments", "scope"),
    [((), Scope()), (("--no-pod",), Scope(pod=False)), (("--from-here-only",), Scope(pod=False, daemons=False))],
)
def test_options_say_how_far_to_look(arguments: tuple[str, ...], scope: Scope) -> None:
    seen: list[Any] = []
    run(*arguments, seen=seen)
    ((values, asked, _),) = seen
    assert asked == scope
    assert (not values.keys.raw) == ("--from-here-only" in arguments), "keys are decrypted only where they are needed"


def test_two_ways_of_looking_less_are_wrong_arguments() -> None:
    with pytest.raises(SystemExit) as ended:
        run("--no-pod", "--from-here-only")
    assert ended.value.code == 2


def test_without_the_passphrase_all_else_is_looked_at_and_the_reason_kept() -> None:
    seen: list[Any] = []
    run(locked=True, seen=seen)
    ((values, _, trouble),) = seen
    assert (values.keys.raw, trouble) == ({}, "incorrect passphrase")


def test_an_interrupt_ends_with_130_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(facts=KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == "preflight: interrupted; it left no short-lived pod\n"


def test_a_configuration_that_can_not_be_read_gives_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cli.main(["preflight"]) == 1
    assert "pulumi" in capsys.readouterr().err


def test_foreign_code_in_the_state_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json", look=lambda _stack, *, decrypted: ("gpu-gate (x): __provider in its outputs is foreign",)) == 6
    (row,) = (each for each in json.loads(capsys.readouterr().out)["checks"] if each["name"] == "state-code")
    assert row["verdict"] == "problem"
    assert "stack import" in row["change"]


@pytest.mark.parametrize(("plain", "code", "verdict"), [((), 0, "unknown"), (("bad",), 6, "problem"), (None, 0, "unknown")])
def test_a_state_that_can_not_be_decrypted_is_judged_by_what_is_plain(
    capsys: pytest.CaptureFixture[str], plain: tuple[str, ...] | None, code: int, verdict: str
) -> None:
    def look(_stack: str | None, *, decrypted: bool) -> tuple[str, ...]:
        if decrypted or plain is None:
            raise StateError("incorrect passphrase")
        return plain

    assert run("--json", look=look) == code
    (row,) = (each for each in json.loads(capsys.readouterr().out)["checks"] if each["name"] == "state-code")
    assert row["verdict"] == verdict
