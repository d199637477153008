"""What `check` shows to paste is the mended file, or says what isn't mended in it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from slinky_iac.commands.check import judge
from slinky_iac.commands.cli import main

HEAD = "config:\n  slinky-iac:cluster: {name: c}\n  slinky-iac:accounting: {enabled: false}\n"


def shown(more: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(HEAD + more)
    main(["check", str(file)])
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "resources",
    ["{requests: {cpu: 1}, limits: {cpu: 16, memory: 64Gi}}", "{limits: {memory: 64Gi, cpu: 16}, requests: {cpu: 1}}"],
)
def test_requests_and_limits_are_one_setting_in_whatever_order(
    resources: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = f"  slinky-iac:nodesets:\n    cpu:\n      replicas: 1\n      resources: {resources}\n"
    (found,) = (place.finding for place in judge(HEAD + more)[1] if place.finding.path.startswith("nodesets.cpu"))
    assert str(found).count("cpu is 16 (requests say 1)") == 1
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(HEAD + more)
    main(["check", "--fix", str(file)])
    capsys.readouterr()
    new = yaml.safe_load((tmp_path / "Pulumi.dev.yaml.new").read_text())
    assert new["config"]["slinky-iac:nodesets"]["cpu"]["resources"] == {"cpus": "16", "memory": "64Gi"}


def test_two_numbers_that_contradict_each_other_are_left_to_a_person() -> None:
    more = "  slinky-iac:nodesets:\n    cpu:\n      replicas: 1\n      resources: {limits: {cpu: 2}, cpus: 3}\n"
    (found,) = (place.finding for place in judge(HEAD + more)[1] if place.finding.path.startswith("nodesets.cpu"))
    assert found.instead is None


def test_what_is_still_wrong_in_a_paste_is_named_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown("  slinky-iac:drain: {dealine: 30m, onDeadline: kill}\n", tmp_path, capsys)
    assert "Still to be put right in it: drain.onDeadline" in out
    assert "it mends 1 of 2 errors" in out


def test_a_paste_that_mends_all_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown("  slinky-iac:drain: {dealine: 30m}\n", tmp_path, capsys)
    assert "Still to be put right" not in out
    assert "it mends all errors" in out


def test_the_key_of_a_toleration_is_a_label_and_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = "  slinky-iac:nodesets:\n    cpu:\n      replicas: 1\n      tolerations: [{key: a, value: b}]\n"
    out = shown(more, tmp_path, capsys)
    assert "No YAML is shown" not in out
    assert "- key: a" in out
