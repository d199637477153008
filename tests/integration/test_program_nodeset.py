"""A NodeSet that joins a HybridCluster of the program, on the real engine: slurmrestd outlives its gate, and a destroy that
waits for its job has deleted nothing that the gate needs. Its keys are Outputs of the program, and so is what leads to
slurmrestd: no key is left anywhere in plain text.

Kubernetes is a real API server with the operator's CRDs; Slurm and the operator are played.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from slinky_iac import names
from tests.integration import leaks
from tests.integration.engine import Project
from tests.integration.kube_api import KubeApi
from tests.integration.one_nodeset import NODESET, POD, Operator, api_of_operator, empty_slurm
from tests.integration.two_gates import World
from tests.made.rows import job, number
from tests.raw_keys import text_key
from tests.stacks import ROOT

PROGRAM = """
    import pulumi
    import slinky_iac

    store = pulumi.Config("store")
    atlas = slinky_iac.HybridCluster(
        "atlas",
        slurmctld="slurmctld.example.org",
        accounting={{"enabled": False}},
        cluster={{"createNamespace": False, "fence": False}},
        operator={{"install": False, "namespace": "slinky"}},
        keys={{"source": "imported", "protect": False}},
        kubernetes={{"context": "one"}},
        slurm_key=store.require_secret("slurmKey"),
        jwt_key=store.require_secret("jwtKey"),
        more={{"slurmrest": {{"url": pulumi.Output.from_input({url!r})}}}},
    )
    {nodeset}
"""
JOINED = 'slinky_iac.NodeSet("cpu", cluster=atlas, replicas=1, drain={"deadline": 20, "onDeadline": "keep"})'

LATER = """
    async def nothing():
        return None

    async def unknown():
        return False

    number = pulumi.Output(set(), nothing(), unknown())
    slinky_iac.NodeSet("cpu", cluster=atlas, replicas=number, drain={"deadline": 20, "onDeadline": "keep"})
"""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApi]:
    with api_of_operator(tmp_path_factory.mktemp("api")) as made:
        yield made


@pytest.fixture
def slurm() -> Iterator[tuple[World, str]]:
    with empty_slurm("atlas") as served:
        yield served


class Program:
    """The program with its stack."""

    def __init__(self, project: Project, api: KubeApi, url: str) -> None:
        self.project, self.url = project, url
        self.env = {"PYTHONPATH": str(ROOT), "KUBECONFIG": str(api.kubeconfig)}
        for name in ("slurmKey", "jwtKey"):
            value = base64.b64encode(text_key(name)).decode()
            project.run("config", "set", "--secret", f"store:{name}", stdin=value)

    def leaked(self, said: str) -> list[str]:
        """Places that hold a key: the backend, the engine's home, the project, and what was said."""
        engine = self.project.engine
        (self.project.folder / "said.txt").write_text(said)
        folders = (engine.backend, engine.home, self.project.folder)
        return [f"{name}: {place}" for name in ("slurmKey", "jwtKey") for place in leaks.find(text_key(name), *folders)]

    def run(self, *words: str, ok: bool = True, nodeset: str = JOINED) -> str:
        self.project.write(main=PROGRAM.format(url=self.url, nodeset=nodeset))
        done = self.project.run(*words, ok=ok, env=self.env)
        assert ok or done.returncode != 0
        return done.stdout + done.stderr


def test_slurmrestd_and_the_keys_outlive_its_gate(project: Project, api: KubeApi, slurm: tuple[World, str]) -> None:
    world, url = slurm
    program = Program(project, api, url)
    with Operator(api, world):
        said = program.run("preview") + program.run("up", "--yes", "--skip-preview")
        assert program.leaked(said) == []
        outputs = project.outputs()
        assert outputs["nodesets"] == {"cpu": 1}
        assert "PartitionName=cpu" in outputs["outsideSlurmConf"]
        assert kinds(project, "pulumi:providers:kubernetes") == ["atlas-kubernetes"]
        program.run("preview", "--expect-no-changes")

        with world.lock:
            world.slurm.add(job(77, nodes=POD, limit=9999, end_time=number(int(time.time()) + 9999)))
            world.slurm.nodes[POD]["state"] = ["ALLOCATED"]
        said = program.run("preview", nodeset="")
        assert "cpu leaves the program: 1 node" in said

        said = program.run("preview", nodeset=LATER)
        assert "not known in this preview: maxReplicas, replicas (an Output of another resource)" in " ".join(said.split())

        before = there(api)
        said = program.run("destroy", "--yes", "--skip-preview", ok=False)
        assert "77" in said
        assert world.drained(POD)
        assert there(api) == before, "nothing that the gate needs was deleted before it"
        assert f"nodeset.{names.GROUP}/{NODESET}" in before

        with world.lock:
            del world.slurm.jobs[77]
            world.slurm.nodes[POD]["state"] = ["DRAIN", "IDLE"]
        program.run("destroy", "--yes", "--skip-preview")
    assert there(api) == set()


def there(api: KubeApi) -> set[str]:
    """What the stack has made in Kubernetes, by kind and name."""
    kinds = "nodesets,controllers,restapis,secrets"
    return set(api.kubectl("get", kinds, "-n", "slurm", "-o", "name").split())


def kinds(project: Project, kind: str) -> list[str]:
    found: list[dict[str, Any]] = json.loads(project.run("stack", "export").stdout)["deployment"]["resources"]
    return [each["urn"].rpartition("::")[2] for each in found if each["type"] == kind]
