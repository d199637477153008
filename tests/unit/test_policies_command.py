"""The policy pack reaches a site that has only the wheel: whole, offline, and never over what is there."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import jsonschema
import pytest

from slinky_iac.commands.cli import main
from slinky_iac.commands.new import shipped
from slinky_iac.commands.policies import FILES, RULES
from tests.stacks import ROOT
from tests.tree import tracked


def test_the_pack_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a" / "pack"
    assert main(["policies", "write", str(folder)]) == 0
    ours = {path.relative_to(shipped("policies")) for path in tracked() if path.is_relative_to(ROOT / "policies")}
    left_out = {Path("mypy.ini"), Path("site.lab.json")}
    assert {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()} == ours - left_out
    assert f"--policy-pack {folder}" in capsys.readouterr().out


@pytest.mark.parametrize("name", [FILES[0], RULES])
def test_nothing_that_is_there_is_changed(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text("mine")
    assert main(["policies", "write", str(tmp_path)]) == 1
    assert f"already has {name}" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("name", ["passwd", "slurm.conf", ".git"])
def test_a_folder_of_others_gets_no_pack(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`policies write /etc` would put seven names there, and the next commands a Python environment."""
    (tmp_path / name).write_text("theirs")
    assert main(["policies", "write", str(tmp_path)]) == 1
    assert f"has {name}, which isn't a part of a policy pack" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["theirs"]


def test_what_a_pack_leaves_beside_it_is_no_hindrance(tmp_path: Path) -> None:
    """A newer pack is written where the old one was removed: the site's file and the Python environment stay."""
    (tmp_path / "site.json").write_text("{}")
    (tmp_path / "venv").mkdir()
    assert main(["policies", "write", str(tmp_path)]) == 0


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["policies", "write", str(tmp_path / "file" / "a")]) == 1
    assert "can't be written" in capsys.readouterr().err


def test_the_pack_of_a_checkout_is_the_one_that_is_committed() -> None:
    assert shipped("policies") == ROOT / "policies"


REVIEW = """\
    - [mandatory]  slinky-iac v0.0.1  cluster-as-made  (kubernetes:core/v1:LimitRange: limits)
      Role reader: rules[0] allows get of secrets (what: Role/slurm/reader:rules[0])
      LimitRange l: it isn't made by this program, and is among the cluster's own objects (what: LimitRange/slurm/l)
      LimitRange l: it isn't made by this program, and is among the cluster's own objects (what: LimitRange/slurm/l)
"""
SAID = ("--reason", "reviewed in CHANGE-12", "--owner", "platform")


def accepted(tmp_path: Path, *more: str, review: str = REVIEW, days: int = 30) -> int:
    (tmp_path / "review.txt").write_text(review)
    until = (datetime.datetime.now(tz=datetime.UTC).date() + datetime.timedelta(days=days)).isoformat()
    site = str(tmp_path / "site.json")
    said = more if "--reason" in more else (*SAID, *more)
    return main(["policies", "accept", str(tmp_path / "review.txt"), "--site", site, "--until", until, *said])


def entries(tmp_path: Path) -> list[dict[str, str]]:
    return list(json.loads((tmp_path / "site.json").read_text())["cluster-as-made"]["declared"])


def test_what_a_review_shows_is_declared_once_each(tmp_path: Path) -> None:
    assert accepted(tmp_path) == 0
    assert [each["what"] for each in entries(tmp_path)] == ["Role/slurm/reader:rules[0]", "LimitRange/slurm/l"]
    assert {(each["reason"], each["owner"]) for each in entries(tmp_path)} == {("reviewed in CHANGE-12", "platform")}


def test_a_later_entry_replaces_the_one_for_the_same_and_keeps_all_else(tmp_path: Path) -> None:
    (tmp_path / "site.json").write_text('{"all": "mandatory", "cluster-as-made": "mandatory"}')
    assert accepted(tmp_path) == accepted(tmp_path, "--only", "Role/", days=60) == 0
    site = json.loads((tmp_path / "site.json").read_text())
    assert site["all"] == site["cluster-as-made"]["enforcementLevel"] == "mandatory"
    assert [each["what"] for each in entries(tmp_path)] == ["LimitRange/slurm/l", "Role/slurm/reader:rules[0]"]
    assert entries(tmp_path)[0]["until"] < entries(tmp_path)[1]["until"]


@pytest.mark.parametrize(
    ("more", "days", "review", "said"),
    [
        (("--reason", "why", "--owner", "platform"), 30, REVIEW, "--reason needs 8 characters"),
        ((), -1, REVIEW, "--until is"),
        ((), 400, REVIEW, "--until is"),
        ((), 30, "all is well", "has no finding"),
        (("--only", "Secret/"), 30, REVIEW, "begins with Secret/"),
    ],
)
def test_nothing_is_declared_without_reason_end_and_finding(
    more: tuple[str, ...], days: int, review: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert accepted(tmp_path, *more, review=review, days=days) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "site.json").exists()


def test_a_site_file_that_cannot_be_read_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "site.json").write_text("{")
    assert accepted(tmp_path) == 1
    assert "is not a site file" in capsys.readouterr().err
    assert (tmp_path / "site.json").read_text() == "{"


def test_an_entry_that_accept_writes_is_one_that_the_pack_takes(tmp_path: Path) -> None:
    assert accepted(tmp_path) == 0
    schema = json.loads((ROOT / "policies" / "site.schema.json").read_text())
    jsonschema.validate(json.loads((tmp_path / "site.json").read_text()), schema)
