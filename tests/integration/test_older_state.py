"""An older state, as after `pulumi stack import` of an earlier export: a NodeSet made since is in Kubernetes and not in the
state. Its creation would end with a conflict each time; the first look stops it, with the command that takes it up."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.charts import crd_dir
from slinky_iac import names
from tests.integration.engine import Project
from tests.integration.kube_api import KubeApi
from tests.stacks import ROOT, minimal

PROGRAM = """
    import json
    from pathlib import Path
    import pulumi
    from components.connection import Component
    from components.node_set import NodeSet, NodeSetArgs
    from slinky_iac.config.reading.load import load

    config = load(json.loads(Path("stack.json").read_text()))

    class Cluster(Component):
        def __init__(self):
            super().__init__("HybridCluster", "hpc", config, None)
            for name, each in config.nodesets.items():
                args = NodeSetArgs(cluster=config, name=name, settings=each)
                NodeSet(f"hpc-{name}", args, pulumi.ResourceOptions(parent=self))

    Cluster()
"""
PLURAL = f"nodesets.{names.GROUP}"


@pytest.fixture(scope="module")
def api(kube: KubeApi) -> Iterator[KubeApi]:
    kube.kubectl("create", "namespace", "slurm")
    kube.kubectl("create", "--validate=false", "-f", str(crd_dir("1.1.0") / f"{names.GROUP}_nodesets.yaml"))
    kube.kubectl("wait", "--for=condition=Established", f"crd/{PLURAL}", "--timeout=30s")
    yield kube
    kube.kubectl("delete", "namespace", "slurm", "--wait=false")


class Stack:
    """A stack without slurmctld, so its gates are left out by `--target`."""

    def __init__(self, project: Project, api: KubeApi) -> None:
        self.project, self.api = project, api
        self.env = {"PYTHONPATH": str(ROOT), "KUBECONFIG": str(api.kubeconfig)}
        project.write(main=PROGRAM)

    def has(self, *nodesets: str) -> None:
        settings = minimal(nodesets={name: {"replicas": 3} for name in nodesets})
        (self.project.folder / "stack.json").write_text(json.dumps(settings))

    def run(self, what: str, name: str, ok: bool = True) -> str:
        made = ("slurm-slurm-connection", "slurm-slurm-kubernetes", "hpc", f"hpc-{name}", f"slurm-{resource(name)}-nodeset")
        targets = [word for each in made for word in ("--target", f"**::{each}")]
        words = (what, "--yes", "--skip-preview") if what in ("up", "refresh") else (what,)
        done = self.project.run(*words, *targets, ok=ok, env=self.env)
        assert ok or done.returncode != 0
        return done.stdout + done.stderr

    def gate_writes(self, name: str, replicas: int) -> None:
        change = json.dumps({"spec": {"replicas": replicas}})
        words = ("--type=merge", "--field-manager=slinky-iac", "-p", change)
        self.api.kubectl("patch", PLURAL, resource(name), "-n", "slurm", *words)

    def replicas(self, name: str) -> str:
        return self.api.kubectl("get", PLURAL, resource(name), "-n", "slurm", "-o", "jsonpath={.spec.replicas}")


def resource(name: str) -> str:
    return f"slurm-worker-{name}"


@pytest.mark.parametrize("found_by", ["preview", "up"])
def test_a_nodeset_that_is_newer_than_the_state_is_taken_up_by_the_command_that_is_said(
    api: KubeApi, project: Project, tmp_path: Path, found_by: str
) -> None:
    """Found by `up`, its component is in the state by then; found by a preview, it isn't."""
    stack, late = Stack(project, api), f"late-{found_by}"
    stack.has("gpu")
    stack.run("up", "gpu")
    older = tmp_path / "older.json"
    older.write_text(project.run("stack", "export").stdout)
    stack.has("gpu", late)
    stack.run("up", late)
    stack.gate_writes(late, 3)
    project.run("stack", "import", "--file", str(older))

    said = stack.run(found_by, late, ok=False)
    assert f"NodeSet slurm/{resource(late)} is there already with 3 replicas" in said
    assert "the state is older than the NodeSet" in said
    assert stack.replicas(late) == "3"
    command = next(line for line in said.splitlines() if "pulumi import" in line).strip()
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=project.folder,
        env={**project.engine.env, **stack.env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    stack.run("up", late)
    assert f"slurm-{resource(late)}-nodeset" in project.resources()
    assert stack.replicas(late) == "3", "the number is the gate's"
    assert "1 updated" not in stack.run("up", late), "nothing is left to mend"


def test_a_creation_that_was_cut_off_before_the_gate_scaled_it_is_taken_up_as_it_is(api: KubeApi, project: Project) -> None:
    stack = Stack(project, api)
    stack.has("gpu")
    stack.run("up", "gpu")
    older = project.run("stack", "export").stdout
    stack.has("gpu", "cut")
    stack.run("up", "cut")
    project.run("stack", "import", stdin=older)
    stack.run("up", "cut")
    assert stack.replicas("cut") == "0"
