"""The demo ends without warnings of the lab's own making, says what to look at next, and its hub's settings are sound."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from lab import demo, paths
from lab.stacks import Stack
from slinky_iac.commands.check import judge
from slinky_iac.commands.cli import COMMANDS
from slinky_iac.config.findings import Level
from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from slinky_iac.config.stack import KINDS
from tests.stacks import ROOT


def test_the_demos_settings_with_a_hub_have_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(paths, "STATE", tmp_path)
    text = demo.with_hub((ROOT / "Pulumi.dev.yaml").read_text(), demo.password())
    config = yaml.safe_load(text)["config"]
    stack = load({name.partition(":")[2]: section for name, section in config.items()})
    hub = stack.clients["nb"].jupyterhub
    assert hub is not None
    assert (Path(str(hub.chart.path)) / "templates" / "hub.yaml").exists()
    assert [each.path for each in findings(stack, frozenset({"slurmKey", "jwtKey"})) if each.level == "error"] == []
    assert demo.password() == demo.password()
    assert (tmp_path / "projects" / "dev.password").stat().st_mode & 0o777 == 0o600


def test_nothing_of_the_lab_s_own_making_is_a_warning() -> None:
    _, places = judge(demo.with_reasons((ROOT / "Pulumi.dev.yaml").read_text()))
    left = {place.finding.id for place in places if place.finding.level in (Level.WARNING, Level.ERROR)}
    assert left <= {*demo.ACKNOWLEDGED, ""}, "without an id: keys that the demo sets"
    assert set(demo.ACKNOWLEDGED) <= set(KINDS)


def test_each_next_step_names_what_is_there() -> None:
    text = "\n".join(demo.next_steps(Stack("dev", Path("projects/dev"), {})))
    assert {word for word in re.findall(r"-m slinky_iac (\w+)", text)} <= set(COMMANDS)
    assert [page for page in re.findall(r"docs/[a-z-]+\.md", text) if not (ROOT / page).exists()] == []
