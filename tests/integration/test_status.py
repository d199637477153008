"""A status from what a real engine wrote down: no `up` yet, an `up` that failed for want of a cluster, a destroy since."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration import leaks
from tests.integration.engine import REPO, Engine, Project, create_project
from tests.integration.test_examples import configure, link_program

EXAMPLE = REPO / "examples" / "Pulumi.controller-outside.yaml"


def command(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m slinky_iac` as a user of that project runs it."""
    argv = [sys.executable, "-m", "slinky_iac", *arguments]
    env = project.engine.env
    return subprocess.run(argv, cwd=project.folder, env=env, capture_output=True, text=True, timeout=120, check=False)


def status(project: Project, code: int) -> dict[str, Any]:
    done = command(project, "status", "--json")
    assert done.returncode == code, done.stdout + done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture
def linked(engine: Engine, tmp_path: Path) -> Project:
    project = create_project(engine, tmp_path / "project", "slinky-iac")
    link_program(project)
    return project


def test_a_stacks_life_as_its_status_tells_it(linked: Project) -> None:
    values = configure(linked, EXAMPLE)
    empty = status(linked, 0)
    assert (empty["holds"], empty["endpoints"], empty["last"]) == (0, [], None)
    text = command(linked, "status").stdout
    assert "holds nothing" in text

    assert linked.up(ok=False).returncode != 0, "there is no cluster"
    failed = status(linked, 0)
    assert failed["holds"] > 0
    assert (failed["last"]["result"], failed["last"]["later"]) == ("failed", "")
    assert failed["cluster"] == "atlas"
    assert failed["key_changes"] == []
    linked.run("config", "set", "--secret", "slurmKeyNext", "a-key-that-comes")
    (change,) = status(linked, 0)["key_changes"]
    linked.run("config", "rm", "slurmKeyNext")
    assert (change["key"], change["how"], change["signs"][0]) == ("slurm.key", "planned stop", "slurmKeyNext is set")

    linked.destroy()
    gone = status(linked, 0)
    assert gone["last"]["result"] == "failed"
    assert gone["last"]["later"] == "since then: destroy succeeded"
    shown = json.dumps([empty, failed, gone]) + text
    (linked.engine.root / "shown.txt").write_text(shown)
    for value in values:
        assert leaks.find(value, linked.engine.root, linked.folder) == []


def test_a_stack_that_is_not_there_is_one_sentence(linked: Project) -> None:
    done = command(linked, "status", "--stack", "nowhere")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: `pulumi stack export` ended with")
    assert "Traceback" not in done.stderr


def test_a_diagram_of_a_stack_needs_no_secret_and_no_cluster(linked: Project) -> None:
    configure(linked, EXAMPLE)
    for secret in ("slurmKey", "jwtKey"):
        linked.run("config", "rm", secret)
    done = command(linked, "diagram", "--format", "mermaid")
    assert done.returncode == 0, done.stderr
    assert "slurmctld.example.org" in done.stdout
