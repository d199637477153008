"""A program in YAML (examples/other-languages) on the real engine: the package makes the whole cluster, and its gates run in
the package's Python, which no other Python here is: `python3` on PATH has no pulumi.

Kubernetes is a real API server with the operator's CRDs; Slurm and the operator are played.
"""

from __future__ import annotations

import base64
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from lab import yaml_host
from tests.integration.engine import STACK, Engine, Project
from tests.integration.kube_api import KubeApi
from tests.integration.one_nodeset import NODESET, POD, Operator, api_of_operator, empty_slurm
from tests.integration.two_gates import World
from tests.made.rows import job, number
from tests.raw_keys import text_key
from tests.stacks import ROOT
from tests.wheel import Site, build, install

EXAMPLE = ROOT / "examples" / "other-languages"
HOST = "slurmctld.example.org"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example, with the package's environment made of the wheel."""
    folder = tmp_path_factory.mktemp("languages")
    copy = shutil.copytree(EXAMPLE, folder / "program")
    install(build(folder / "dist"), Site(copy / "slinky"))
    return copy


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApi]:
    with api_of_operator(tmp_path_factory.mktemp("api")) as made:
        yield made


class Program:
    """The program with its stack, in a folder."""

    def __init__(self, engine: Engine, folder: Path, kubeconfig: Path) -> None:
        self.project = Project(engine, folder)
        path = f"{engine.tools.bin_dir}:{yaml_host.program().parent}:/usr/bin:/bin"
        self.env = {"PATH": path, "KUBECONFIG": str(kubeconfig)}
        self.run("stack", "init", STACK)
        for name in ("slurmKey", "jwtKey"):
            value = base64.b64encode(text_key(name)).decode()
            self.run("config", "set", "--secret", f"slinky-iac:{name}", stdin=value)

    def give(self, **properties: object) -> None:
        """Properties of the cluster, in place of the example's or beside them; None takes one away."""
        file = self.project.folder / "Pulumi.yaml"
        program = yaml.safe_load(file.read_text())
        given = program["resources"]["atlas"]["properties"]
        given |= properties
        program["resources"]["atlas"]["properties"] = {name: each for name, each in given.items() if each is not None}
        file.write_text(yaml.safe_dump(program))

    def run(self, *words: str, ok: bool = True, stdin: str | None = None) -> str:
        done = self.project.run(*words, ok=ok, stdin=stdin, env=self.env)
        assert ok or done.returncode != 0
        return done.stdout + done.stderr


@pytest.fixture
def program(engine: Engine, example: Path, api: KubeApi, tmp_path: Path) -> Program:
    folder = shutil.copytree(example, tmp_path / "program", symlinks=True)
    return Program(engine, folder, api.kubeconfig)


@pytest.fixture
def slurm() -> Iterator[tuple[World, str]]:
    with empty_slurm("atlas") as served:
        yield served


def test_the_whole_cluster_is_made_and_its_destroy_waits_for_a_job(
    program: Program, api: KubeApi, slurm: tuple[World, str]
) -> None:
    world, url = slurm
    program.give(
        slurmctld={"fn::secret": HOST},  # an Output
        slurmdbd=None,
        accounting={"enabled": False},
        cluster={"createNamespace": False, "fence": False},
        operator={"install": False, "namespace": "slinky"},
        keys={"source": "imported", "protect": False},
        kubernetes={"context": "one"},
        slurmrest={"url": url},
        nodesets={"cpu": {"replicas": 1, "drain": {"deadline": 20, "onDeadline": "keep"}}},
    )
    with Operator(api, world):
        program.run("up", "--yes", "--skip-preview")
        controller = json.loads(api.kubectl("get", "controller", "slurm", "-n", "slurm", "-o", "json"))
        assert controller["spec"]["externalConfig"]["host"] == HOST
        assert HOST in program.project.run("stack", "output", "join", "--show-secrets", env=program.env).stdout
        program.run("preview", "--expect-no-changes")

        with world.lock:
            world.slurm.add(job(77, nodes=POD, limit=9999, end_time=number(int(time.time()) + 9999)))
            world.slurm.nodes[POD]["state"] = ["ALLOCATED"]
        said = program.run("destroy", "--yes", "--skip-preview", ok=False)
        assert "77" in said
        assert world.drained(POD)
        assert NODESET in api.kubectl("get", "nodesets", "-n", "slurm", "-o", "name")

        with world.lock:
            del world.slurm.jobs[77]
            world.slurm.nodes[POD]["state"] = ["DRAIN", "IDLE"]
        program.run("destroy", "--yes", "--skip-preview")
    assert api.kubectl("get", "nodesets", "-n", "slurm", "-o", "name") == ""


def test_without_the_package_s_python_nothing_is_made(program: Program, api: KubeApi) -> None:
    """pulumi/pulumi#5455: the engine looks for the dynamic provider's Python in the program, which is in YAML."""
    file = program.project.folder / "Pulumi.yaml"
    without = yaml.safe_load(file.read_text())
    without["runtime"] = "yaml"
    file.write_text(yaml.safe_dump(without))
    program.give(operator={"install": False, "namespace": "slinky"}, kubernetes={"context": "one"})
    assert "No module named 'pulumi'" in program.run("up", "--yes", "--skip-preview", ok=False)
    assert [kind for kind in types_of(program) if kind.startswith(("kubernetes:", "pulumi-python:"))] == []


def test_a_setting_that_is_refused_is_named_once(program: Program) -> None:
    program.give(nodesets={"cpu": {"replicas": -2}})
    said = program.run("preview", "--diff", ok=False)
    assert said.count("nodesets.cpu.replicas: must be at least 0, got -2") == 1
    assert "it wasn't made; the error above says why" in said
    assert "Traceback" not in said


def types_of(program: Program) -> list[str]:
    """Of what is in the state."""
    deployment = json.loads(program.project.run("stack", "export", env=program.env).stdout)["deployment"]
    return [each["type"] for each in deployment.get("resources", [])]
