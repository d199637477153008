"""A text that is too large to be searched ends a strict review with an exit code, by way of the real engine's events."""

from __future__ import annotations

from pathlib import Path

import pytest
from slurm_rules import secret_text

from slinky_iac.commands import cli
from tests.integration.engine import Engine, Tools
from tests.policies.pack import LAB, environment, flags, plain_project, plain_stack


@pytest.mark.parametrize(("size", "code"), [(secret_text.LARGEST, 0), (secret_text.LARGEST + 1, 4)])
def test_a_strict_plan_ends_with_4_over_a_text_that_is_not_judged(
    tools: Tools, tmp_path: Path, size: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    meta = {"name": "notes", "namespace": "web"}
    notes = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta,
        "data": {"notes.txt": "a " * (size // 2) + "a" * (size % 2)},
    }
    change = {"resources": {"notes": {"type": "kubernetes:core/v1:ConfigMap", "properties": notes}}}
    project = plain_project(Engine(tools, tmp_path / "engine"), tmp_path / "project", plain_stack("outside", change))
    env = {**environment(), "PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "1"}
    seen = project.preview("--json", *flags(project.folder, LAB), ok=False, env=env)
    (tmp_path / "preview.json").write_text(seen.stdout)
    assert cli.main(["plan", str(tmp_path / "preview.json"), "--strict"]) == code
    assert ("notes.txt is larger than a text that is judged" in capsys.readouterr().out) is (code == 4)
