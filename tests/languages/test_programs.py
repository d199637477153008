"""Programs in TypeScript and Go on the real engine: SDKs that it makes of the package, Outputs of another resource in the
cluster, gates that refuse, secrets, a provider of the program's own, and a setting that is refused.

They need what no registry serves: Pulumi's language hosts, beside `pulumi` in $SLINKY_IAC_BIN. npm's and Go's packages come
from their registries. So CI doesn't run this folder; docs/adr/0031-other-languages.md has its runs. Kubernetes is a real API
server with the operator's CRDs; Slurm and the operator are played.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.integration.engine import STACK, Engine, Project
from tests.integration.kube_api import KubeApi
from tests.integration.one_nodeset import NODESET, POD, Operator, api_of_operator, empty_slurm
from tests.integration.two_gates import World
from tests.made.rows import job, number
from tests.raw_keys import text_key
from tests.stacks import ROOT
from tests.wheel import Site, build, install

HOST = "slurm-machine.example.org"
PROGRAMS = Path(__file__).parent
PACKAGE = ROOT / "examples" / "other-languages" / "slinky"
LANGUAGES = {"typescript": "nodejs", "go": "go"}
"""Folders here, and what Pulumi calls their runtime."""
CHECKS = {"typescript": ["npx", "--no-install", "tsc", "--noEmit"], "go": ["go", "vet", "."]}


class Program:
    """A program of this folder with its stack and its SDK."""

    def __init__(self, engine: Engine, folder: Path, kubeconfig: Path) -> None:
        self.project = Project(engine, folder)
        tools = [str(Path(found).parent) for each in ("node", "go") if (found := shutil.which(each))]
        self.env = {"PATH": ":".join([str(engine.tools.bin_dir), *tools, "/usr/bin", "/bin"]), "KUBECONFIG": str(kubeconfig)}

    def run(self, *words: str, ok: bool = True, stdin: str | None = None, python: str = "") -> str:
        env = self.env | ({"PATH": f"{python}:{self.env['PATH']}"} if python else {})
        done = self.project.run(*words, ok=ok, stdin=stdin, env=env, timeout=400)
        assert ok or done.returncode != 0, done.stdout
        return done.stdout + done.stderr

    def set(self, **values: object) -> None:
        for name, value in values.items():
            self.run("config", "set", name, stdin=str(value))

    def secrets(self) -> list[str]:
        """What must not be read in a state, and is in this one."""
        return [base64.b64encode(text_key(name)).decode() for name in ("slurmKey", "jwtKey")]

    def check(self, language: str) -> None:
        """The language's own check of the program, with the SDK."""
        done = subprocess.run(
            CHECKS[language],
            cwd=self.project.folder,
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApi]:
    with api_of_operator(tmp_path_factory.mktemp("api")) as made:
        yield made


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with its environment; `pulumi package add` finds what the wheel asks for in that of the tests."""
    folder = shutil.copytree(PACKAGE, tmp_path_factory.mktemp("package") / "slinky")
    wheel = build(folder / "wheels")
    install(wheel, Site(folder))
    return folder


@pytest.fixture(params=sorted(LANGUAGES))
def program(request: pytest.FixtureRequest, engine: Engine, package: Path, api: KubeApi, tmp_path: Path) -> Program:
    language: str = request.param
    host = engine.tools.bin_dir / f"pulumi-language-{LANGUAGES[language]}"
    assert host.exists(), (
        f"{host.name} isn't beside the engine: put Pulumi's own of the engine's release into $SLINKY_IAC_BIN"
    )
    folder = shutil.copytree(PROGRAMS / language, tmp_path / "program")
    (folder / "slinky").symlink_to(package)
    runtime = {"name": LANGUAGES[language], "options": {"virtualenv": "slinky/venv"}}
    (folder / "Pulumi.yaml").write_text(
        yaml.safe_dump({"name": "platform", "runtime": runtime, "packages": {"slinky": "./slinky"}})
    )
    made = Program(engine, folder, api.kubeconfig)
    made.run("install", python=f"{sys.base_prefix}/bin")  # it makes the package's environment, too
    made.check(language)
    made.run("stack", "init", STACK)
    for name, value in zip(("slurmKey", "jwtKey"), made.secrets(), strict=True):
        made.run("config", "set", "--secret", f"slinky-iac:{name}", stdin=value)
    return made


@pytest.fixture
def slurm() -> Iterator[tuple[World, str]]:
    with empty_slurm("atlas") as served:
        yield served


def test_the_example_is_what_the_language_takes(program: Program, request: pytest.FixtureRequest) -> None:
    language = request.node.callspec.params["program"]
    for file in (PACKAGE.parent / language).glob("*.[tg][so]"):
        shutil.copy(file, program.project.folder)
    assert "network" in "".join(file.read_text() for file in program.project.folder.glob("*.[tg][so]"))
    program.check(language)


def test_a_program_makes_a_cluster_and_its_gates_refuse(program: Program, api: KubeApi, slurm: tuple[World, str]) -> None:
    world, url = slurm
    program.set(url=url, replicas=-2)
    said = program.run("preview", ok=False)
    assert said.count("nodesetDefaults.replicas: must be at least 0, got -2") == 1
    assert "Traceback" not in said

    program.set(replicas=1, provider="true")
    said = program.run("preview", ok=False)
    assert "provider" in said
    assert "Traceback" not in said

    program.set(provider="false")
    with Operator(api, world):
        program.run("preview")
        program.run("up", "--yes", "--skip-preview")
        controller = json.loads(api.kubectl("get", "controller", "slurm", "-n", "slurm", "-o", "json"))
        assert controller["spec"]["externalConfig"]["host"] == HOST
        nodeset = json.loads(api.kubectl("get", "nodeset", NODESET, "-n", "slurm", "-o", "json"))
        assert nodeset["spec"]["slurmd"]["image"] == "example.org/slurmd:slurm-machine"
        assert nodeset["spec"]["slurmd"]["resources"]["limits"] == {"cpu": "16", "memory": "64Gi"}
        program.run("preview", "--expect-no-changes")
        state = program.run("stack", "export")
        assert [each for each in (*program.secrets(), HOST) if each in state] == []

        with world.lock:
            world.slurm.add(job(77, nodes=POD, limit=9999, end_time=number(int(time.time()) + 9999)))
            world.slurm.nodes[POD]["state"] = ["ALLOCATED"]
        program.set(replicas=0)
        said = program.run("up", "--yes", "--skip-preview", ok=False)
        assert "77" in said
        assert "Traceback" not in said
        nodeset = json.loads(api.kubectl("get", "nodeset", NODESET, "-n", "slurm", "-o", "json"))
        assert nodeset["spec"]["replicas"] == 1
        said = program.run("destroy", "--yes", "--skip-preview", ok=False)
        assert "77" in said
        assert NODESET in api.kubectl("get", "nodesets", "-n", "slurm", "-o", "name")

        with world.lock:
            del world.slurm.jobs[77]
            world.slurm.nodes[POD]["state"] = ["DRAIN", "IDLE"]
        program.run("destroy", "--yes", "--skip-preview")
    assert api.kubectl("get", "nodesets", "-n", "slurm", "-o", "name") == ""
