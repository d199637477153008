"""The policy pack reaches a site that has only the wheel: whole, offline, and never over what is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from slinky_iac.commands.cli import main
from slinky_iac.commands.new import shipped
from slinky_iac.commands.policies import FILES, RULES
from tests.stacks import ROOT
from tests.tree import tracked


def test_the_pack_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a" / "pack"
    assert main(["policies", str(folder)]) == 0
    ours = {path.relative_to(shipped("policies")) for path in tracked() if path.is_relative_to(ROOT / "policies")}
    left_out = {Path("mypy.ini"), Path("site.lab.json")}
    assert {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()} == ours - left_out
    assert f"--policy-pack {folder}" in capsys.readouterr().out


@pytest.mark.parametrize("name", [FILES[0], RULES])
def test_nothing_that_is_there_is_changed(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text("mine")
    assert main(["policies", str(tmp_path)]) == 1
    assert f"already has {name}" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["policies", str(tmp_path / "file" / "a")]) == 1
    assert "can't be written" in capsys.readouterr().err


def test_the_pack_of_a_checkout_is_the_one_that_is_committed() -> None:
    assert shipped("policies") == ROOT / "policies"
