"""A status from what a real engine wrote down: no `up` yet, an `up` that failed for want of a cluster, a destroy since."""

from __future__ import annotations

import base64
import json
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration import leaks
from tests.integration.engine import REPO, Engine, Project, create_project

EXAMPLE = REPO / "examples" / "Pulumi.controller-outside.yaml"


def link_program(project: Project) -> None:
    """The program of this checkout, in a folder of the test's own."""
    for name in ("__main__.py", "components", "slinky_iac"):
        (project.folder / name).symlink_to(REPO / name)


def configure(project: Project, stack: Path) -> list[str]:
    """The stack's settings, with the operator there already (its chart is on the internet), and new secrets: these."""
    config = yaml.safe_load(stack.read_text())["config"]
    config["slinky-iac:operator"] |= {"install": False, "namespace": "slinky"}
    file = project.folder / "Pulumi.test.yaml"
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), "config": config}))
    imported = config["slinky-iac:keys"]["source"] == "imported"
    database = "database" in config.get("slinky-iac:accounting", {})
    made = {name: secrets.token_hex(32) for name in ("slurmKey", "jwtKey") if imported}
    made |= {"databasePassword": secrets.token_hex(16)} if database else {}
    for name, value in made.items():
        given = value if name == "databasePassword" else base64.b64encode(value.encode()).decode()
        project.run("config", "set", "--secret", name, given)
    return list(made.values())


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
