"""A picture from a file or from a stack; what can't be read is a sentence; secrets aren't needed and never drawn."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from slinky_iac.commands.cli import main, parser
from slinky_iac.commands.diagram import cli
from slinky_iac.commands.diagram.build import picture
from slinky_iac.commands.diagram.mermaid import mermaid
from slinky_iac.commands.diagram.svg import svg
from tests.stacks import ROOT, form, sections, told

EXAMPLE = ROOT / "examples" / "Pulumi.all-outside.yaml"


def test_a_file_gives_its_picture_to_stdout_or_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagram", "--config", str(EXAMPLE), "--format", "mermaid"]) == 0
    assert capsys.readouterr().out == mermaid(picture(form("all-outside")))
    assert main(["diagram", "--config", str(EXAMPLE), "--title", "ours", "--out", str(tmp_path / "a.svg")]) == 0
    assert (tmp_path / "a.svg").read_text() == svg(picture(form("all-outside"), "ours"))
    assert capsys.readouterr().out == ""


def test_a_stack_is_read_through_pulumi_and_needs_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[list[str]] = []

    def pulumi(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        asked.append(list(words))
        own = sections(ROOT / "examples" / "Pulumi.slurmdbd-outside.yaml")
        return subprocess.CompletedProcess(list(words), 0, json.dumps(told(own)), "")

    assert cli.run(parser().parse_args(["diagram", "--stack", "prod", "--format", "mermaid"]), pulumi) == 0
    assert asked == [["config", "--json", "--non-interactive", "--stack", "prod"]]
    assert "slurmdbd.example.org" in capsys.readouterr().out


def test_ciphertext_is_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = yaml.safe_load(EXAMPLE.read_text())
    whole["config"]["slinky-iac:slurmKey"] = {"secure": "v1:abcdef"}
    whole["config"]["other:thing"] = 1
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({**whole, "encryptionsalt": "v1:salt"}))
    assert main(["diagram", "--config", str(tmp_path / "s.yaml")]) == 0
    shown = capsys.readouterr().out
    assert "abcdef" not in shown
    assert "salt" not in shown


@pytest.mark.parametrize(
    "text",
    ["", "config: 7", "[]", "config:\n  slinky-iac:cluster: {}", "a: [", "config:\n  slinky-iac:slurmKey: plain-key-text"],
)
def test_a_file_that_is_no_stack_file_is_told_without_its_words(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.yaml").write_text(text)
    assert main(["diagram", "--config", str(tmp_path / "s.yaml")]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "isn't a stack file" in said.err or "configuration has" in said.err
    assert "plain-key-text" not in said.err


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagram", "--config", str(EXAMPLE), "--out", str(tmp_path / "no" / "a.svg")]) == 1
    assert "a.svg: can't be written (No such file or directory)" in capsys.readouterr().err
    assert main(["diagram", "--config", str(tmp_path / "absent.yaml")]) == 1


@pytest.mark.parametrize("tokens", ["prepared", "rs256"])
def test_a_file_with_a_token_key_is_drawn_before_the_key_is_there(
    tokens: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = EXAMPLE.read_text().replace("slinky-iac:keys:", f"slinky-iac:keys:\n    tokens: {tokens}")
    (tmp_path / "s.yaml").write_text(text)
    assert main(["diagram", "--config", str(tmp_path / "s.yaml")]) == 0, capsys.readouterr().err
    assert "token key" in capsys.readouterr().out
