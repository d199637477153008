"""`--config FILE` in the place of `--stack`: commands that need the settings only run without pulumi and without a stack."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from slinky_iac.cluster.pulumi_command import remedy
from slinky_iac.commands.cli import main
from slinky_iac.commands.rotation import cluster
from slinky_iac.commands.rotation.engine import Engine
from slinky_iac.errors import StateError
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


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A stack's file of a project whose program describes the cluster."""
    (tmp_path / "Pulumi.yaml").write_text("name: platform\nruntime: python\n")
    (tmp_path / "__main__.py").write_text("import slinky_iac\n\nslinky_iac.HybridCluster('atlas')\n")
    file = tmp_path / "Pulumi.a.yaml"
    file.write_text("config:\n  slinky-iac:slurmKey:\n    secure: v1:abc\n")
    return file


@pytest.mark.parametrize("command", [["rights", "--for", "review"], ["preflight", "--from-here-only"], ["handoff"]])
def test_settings_that_are_in_a_program_are_said_to_be_there(
    command: list[str], program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main([*command, "--config", str(program), *(["--out", str(program.parent / "h")] if command == ["handoff"] else [])])
        == 1
    )
    said = capsys.readouterr().err
    assert "this project's settings are in its program (__main__.py)" in said
    assert "is missing" not in said


def test_check_of_such_a_file_asks_for_no_section(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in (program.read_text(), "encryptionsalt: v1:salt\n", ""):
        program.write_text(text)
        assert main(["check", str(program)]) == 0
        said = capsys.readouterr().out
        assert "settings are in its program (__main__.py)" in " ".join(said.split())
        assert "`pulumi preview`" in said
        assert "slinky-iac:cluster:" not in said


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("Pulumi.a.yaml", "config: [", "the bracket that opens in line 1 isn't closed"),
        ("Pulumi.a.yaml", "config:\n  slinky-iac:nodesets: {}\n", "cluster: is missing"),
        (
            "__main__.py",
            "from slinky_iac.components.program import hybrid_cluster\nhybrid_cluster()\n",
            "cluster: is missing",
        ),
        ("__main__.py", "print()\n", "cluster: is missing"),
        ("Pulumi.yaml", "name: platform\nruntime: python\nmain: elsewhere\n", "cluster: is missing"),
    ],
)
def test_of_any_other_file_all_that_is_missing_is_said(
    file: str, text: str, said: str, program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (program.parent / file).write_text(text)
    assert main(["check", str(program)]) == 6
    assert said in capsys.readouterr().out


class Pulumi(Engine):
    """An engine whose stack has secrets alone."""

    def pulumi(self, *_: str, **_more: object) -> str:
        return json.dumps({"slinky-iac:slurmKey": {"value": "AAAA", "secret": True}})


@pytest.mark.parametrize("read", [cluster.read, cluster.read_to_import])
def test_commands_of_keys_say_it_in_the_same_words(
    read: Callable[[Engine], object], program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.parent)
    with pytest.raises(StateError, match="this project's settings are in its program") as wrong:
        read(Pulumi(None))
    assert ("pulumi config set --secret slinky-iac:slurmKey" in str(wrong.value)) == (read is cluster.read_to_import)


def test_a_stack_s_file_that_pulumi_cannot_read_leads_to_check() -> None:
    assert "`slinky check`" in remedy("error: invalid YAML file: yaml: line 36: could not find expected ':'")
