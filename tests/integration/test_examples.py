"""Every example stack previews on the real engine, without a cluster, and shows no secret."""

import base64
import secrets
from pathlib import Path

import pytest
import yaml

from tests.integration import leaks
from tests.integration.engine import REPO, Engine, Project, create_project

STACKS = [*sorted((REPO / "examples").glob("Pulumi.*.yaml")), REPO / "Pulumi.dev.yaml"]


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


@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.name.removeprefix("Pulumi.").removesuffix(".yaml"))
def test_an_example_previews_without_a_cluster_and_shows_no_secret(engine: Engine, tmp_path: Path, stack: Path) -> None:
    project = create_project(engine, tmp_path / "project", "slinky-iac")
    link_program(project)
    values = configure(project, stack)
    shown = project.preview("--diff")
    for kind in ("slinky:slurm:HybridCluster", "slinky:slurm:NodeSet", "kubernetes:slinky.slurm.net/v1beta1:NodeSet"):
        assert f"+ {kind}: (create)" in shown.stdout
    (engine.root / "shown.txt").write_text(shown.stdout + shown.stderr)
    for value in values:
        assert leaks.find(value, engine.root, project.folder) == []
