"""Policy packs through the language host: a mandatory violation stops a preview and an update, an advisory one does not."""

import json
import textwrap
from pathlib import Path

import pytest

from tests.integration.engine import REPO, Project, processes_of

PACK_VENV = REPO / "policies" / "venv"
MAIN = """
    from pulumi.dynamic import CreateResult, Resource, ResourceProvider

    class Provider(ResourceProvider):
        def create(self, props):
            return CreateResult("n", props)

    class Nodes(Resource, module="slurm", name="Nodes"):
        def __init__(self, name, replicas):
            super().__init__(Provider(), name, {"replicas": replicas})

    Nodes("nodes", %d)
"""
PACK = """
    from pulumi_policy import EnforcementLevel, PolicyConfigSchema, PolicyPack, ResourceValidationPolicy

    def few(args, report):
        if args.resource_type.endswith(":Nodes") and args.props["replicas"] > args.get_config()["max"]:
            report(f"{int(args.props['replicas'])} replicas are more than {int(args.get_config()['max'])}")

    PolicyPack("lab", policies=[
        ResourceValidationPolicy("few-nodes", "Not too many nodes.", few, EnforcementLevel.%s,
                                 PolicyConfigSchema(properties={"max": {"type": "number"}}, required=["max"])),
    ])
"""


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A folder for a policy pack that uses the venv of policies/."""
    assert (PACK_VENV / "bin" / "python").exists(), "policies/venv is missing: run `lab/lab tools`"
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "PulumiPolicy.yaml").write_text(f"runtime: {{name: python, options: {{virtualenv: {PACK_VENV}}}}}\n")
    (folder / "config.json").write_text(json.dumps({"few-nodes": {"max": 3}}))
    return folder


def write(pack: Path, level: str) -> list[str]:
    """Write the pack; the arguments that apply it."""
    (pack / "__main__.py").write_text(textwrap.dedent(PACK % level))
    return ["--policy-pack", str(pack), "--policy-pack-config", str(pack / "config.json")]


def test_a_mandatory_violation_stops_preview_and_update(project: Project, pack: Path) -> None:
    flags = write(pack, "MANDATORY")
    project.write(main=MAIN % 4)
    for failed in (project.preview(*flags, ok=False), project.up(*flags, ok=False)):
        assert failed.returncode != 0
        assert "4 replicas are more than 3" in failed.stdout + failed.stderr
    assert "nodes" not in project.resources()
    assert project.locks() == []


def test_a_stack_that_obeys_passes_and_leaves_no_process(project: Project, pack: Path) -> None:
    flags = write(pack, "MANDATORY")
    project.write(main=MAIN % 3)
    project.preview(*flags)
    project.up(*flags)
    assert "nodes" in project.resources()
    assert processes_of(project.engine) == {}


def test_an_advisory_violation_is_shown_and_stops_nothing(project: Project, pack: Path) -> None:
    flags = write(pack, "ADVISORY")
    project.write(main=MAIN % 4)
    done = project.up(*flags)
    assert "4 replicas are more than 3" in done.stdout + done.stderr
    assert "nodes" in project.resources()


def test_a_pack_that_does_not_start_stops_the_preview(project: Project, pack: Path) -> None:
    flags = write(pack, "MANDATORY")
    (pack / "__main__.py").write_text("import no_such_module\n")
    project.write(main=MAIN % 3)
    failed = project.preview(*flags, ok=False)
    assert failed.returncode != 0
    assert "no_such_module" in failed.stdout + failed.stderr
