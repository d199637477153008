"""The demo's settings with a hub are ones that the stack takes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lab import demo, paths
from slinky_iac.config.load import load
from slinky_iac.config.rules import findings
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
