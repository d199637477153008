"""A project of a site's own: its four files, from the template, and never over what is there."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from slinky_iac.commands.cli import main
from slinky_iac.commands.new import FILES, WHEEL, next_steps, shipped
from tests.stacks import ROOT


def test_a_new_project_is_the_template_without_what_pulumi_new_alone_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a" / "b"
    assert main(["new", str(folder)]) == 0
    assert {path.name for path in folder.iterdir()} == set(FILES)
    project = yaml.safe_load((folder / "Pulumi.yaml").read_text())
    assert set(project) == {"name", "description", "runtime"}
    assert project["name"] == "slinky-iac", "settings belong to this name"
    out = capsys.readouterr().out
    assert "put " not in out
    named = [line for line in (folder / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert named == [str(ROOT)], "a checkout is what it is installed from"
    assert any("put " in line for line in next_steps(folder, needs_wheel=True)), "an installed package has no source"
    order = ["pulumi install", "pulumi login", "PULUMI_CONFIG_PASSPHRASE_FILE", "slinky init", "slinky check", "pulumi up"]
    assert sorted(order, key=out.index) == order, "a user who pastes the lines meets no step that isn't there"


def test_the_page_shows_what_the_command_prints() -> None:
    said = "\n".join(next_steps(Path("my-cluster"), needs_wheel=False))
    assert f"```text\n{said}\n```" in (ROOT / "docs" / "own-repository.md").read_text()


def test_the_wheel_is_copied_where_requirements_ask_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wheel = tmp_path / WHEEL
    wheel.write_bytes(b"zip")
    assert main(["new", str(tmp_path / "a"), "--wheel", str(wheel)]) == 0
    named = [line for line in (tmp_path / "a" / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert named == [f"./wheels/{WHEEL}"]
    assert (tmp_path / "a" / named[0]).read_bytes() == b"zip"
    assert "put " not in capsys.readouterr().out


@pytest.mark.parametrize("name", FILES)
def test_nothing_that_is_there_is_changed(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text("mine")
    assert main(["new", str(tmp_path)]) == 1
    assert f"already has {name}" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("name", ["other.whl", WHEEL])
def test_another_file_than_the_wheel_is_refused_before_anything_is_made(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name != WHEEL:
        (tmp_path / name).write_bytes(b"zip")
    assert main(["new", str(tmp_path / "a"), "--wheel", str(tmp_path / name)]) == 1
    assert "nothing was made" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["new", str(tmp_path / "file" / "a")]) == 1
    assert "can't be written" in capsys.readouterr().err


def test_the_template_of_a_checkout_is_the_one_that_is_committed() -> None:
    assert shipped("templates/site") == ROOT / "templates" / "site"
