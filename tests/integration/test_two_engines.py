"""Two real engines at one cluster, as after `pulumi cancel` of a run that lives: one lease lets only one of them touch
bare-metal hosts. The record is on a real API server."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from slinky_iac.cluster.partition_closing import place
from tests.integration.engine import Engine, Project, Tools, eventually
from tests.integration.kube_api import KubeApi
from tests.integration.two_gates import PROPS, World, served
from tests.stacks import ROOT
from tests.unit.slurmrest.fake import KEY

SPACE = "engines"
GATE = """
    import json
    from pathlib import Path
    from pulumi.dynamic import Resource
    from slinky_iac.drain.gates import OutsideHostsProvider

    class OutsideHosts(Resource, module="slurm", name="OutsideHosts"):
        def __init__(self, props):
            super().__init__(OutsideHostsProvider(), "hosts", {**props, "plan": None})

    OutsideHosts(json.loads(Path("hosts.json").read_text()))
"""


@pytest.fixture
def world(kube: KubeApi) -> Iterator[tuple[World, str]]:
    kube.kubectl("create", "namespace", SPACE)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "jwt"}}
    key = {"data": {"jwt.key": base64.b64encode(KEY).decode()}}
    kube.kubectl("create", "-n", SPACE, "-f", "-", stdin=json.dumps(secret | key))
    with served(World()) as made:
        yield made
    kube.kubectl("delete", "namespace", SPACE, "--wait=false")


def lease(kube: KubeApi) -> dict[str, object]:
    found = json.loads(kube.kubectl("get", "configmap", place("hpc"), "-n", SPACE, "-o", "json"))
    return dict(json.loads(found["data"]["run"]))


def test_a_second_engine_stops_while_the_first_lives_and_goes_on_once_it_is_killed(
    project: Project,
    tools: Tools,
    world: tuple[World, str],
    kube: KubeApi,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, url = world
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def wants(which: Project, **hosts: str) -> None:
        way = {"kubeconfig": str(kube.kubeconfig), "url": url, "allowPlainHttp": "true", "namespace": SPACE}
        (which.folder / "hosts.json").write_text(json.dumps({**PROPS, **way, "inside": False, "hosts": hosts}))

    project.write(main=GATE)
    wants(project, **{"a-1": "active"})
    project.up()
    assert lease(kube)["ended"] is True, "a run that is over leaves nothing to wait for"
    other = project.twin(Engine(tools, tmp_path / "other"), tmp_path / "twin")

    wants(project, **{"a-1": "drained"})
    first = project.spawn("up", "--yes", "--skip-preview")
    eventually("the first one has drained the host, and waits for its job", lambda: now.drained("a-1"))
    holder = lease(kube)["id"]
    wants(other, **{"a-1": "active", "b-1": "active"})
    said = other.up(ok=False)
    assert said.returncode != 0
    assert f"another run is at work on this cluster: run {holder} of" in said.stdout
    assert "This gate changed nothing" in said.stdout
    assert now.drained("a-1")
    assert first.process.poll() is None, "the first one waits on"

    first.kill()
    eventually("its gate has ended with it", lambda: lease(kube)["ended"] is True)
    other.up()
    assert not now.drained("a-1")
    assert lease(kube)["id"] != holder
    assert len(now.slurm.jobs) == 4, "no job was touched"
    other.destroy()
    assert place("hpc") not in kube.kubectl("get", "configmaps", "-n", SPACE, "-o", "name")
