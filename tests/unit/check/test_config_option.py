"""`--config FILE` in the place of `--stack`: commands that need the settings only run without pulumi and without a stack."""

from __future__ import annotations

from pathlib import Path

import pytest

from slinky_iac.commands.cli import main
from tests.stacks import ROOT

EXAMPLE = str(ROOT / "examples" / "Pulumi.all-outside.yaml")


@pytest.fixture(autouse=True)
def _no_pulumi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def test_a_hand_off_of_a_file_needs_no_pulumi(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["handoff", "--config", EXAMPLE, "--out", str(tmp_path / "hand")]) == 0, capsys.readouterr().err
    assert (tmp_path / "hand" / "README.md").exists()
    assert "not known yet" in capsys.readouterr().out


def test_a_hand_off_of_a_file_has_no_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["handoff", "--config", EXAMPLE, "--out", str(tmp_path / "hand"), "--with-keys"]) == 1
    assert "--with-keys: a file's keys are encrypted" in capsys.readouterr().err
    assert not (tmp_path / "hand").exists()


def test_rights_of_a_file_need_no_pulumi(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rights", "--config", EXAMPLE, "--for", "review"]) == 0
    assert "kind: Role" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["rights", "--for", "review"], ["diagram"], ["preflight", "--from-here-only"]])
def test_faults_of_a_file_have_their_lines(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "Pulumi.a.yaml"
    file.write_text("config:\n  slinky-iac:cluster:\n    nam: lab\n")
    assert main([*command, "--config", str(file)]) == 1
    assert f"{file}:3: cluster.nam: is not a setting; did you mean name?" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["rights", "diagram", "preflight", "handoff"])
def test_a_stack_and_a_file_are_not_both(command: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--stack", "a", "--config", EXAMPLE])
    assert ended.value.code == 2
