"""A living release whose NodeSet has a pod on each Kubernetes node that fits is taken over on the real engine and a real API
server: neither the mode nor the selection is written, the gate finds both as they should be, and nothing is left to do."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slinky_iac import names
from tests.integration import test_adopt_import as whole
from tests.integration.engine import Engine, Project
from tests.integration.kube_api import KubeApi
from tests.integration.test_adopt_import import (
    NODESET_NAME,
    OBJECTS,
    VALUES,
    VERSION,
    found,
    helm,
    let_go,
    previewed,
    server,
)
from tests.integration.test_fence_pods import call, done, merge, pod
from tests.unit.adopt.chart_objects import HELM, record

__all__ = ("server",)
SELECTS = {"nodeSelector": {"pool": "gpu"}, "tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 300,
                                                             "effect": "NoExecute"}]}  # fmt: skip


def each() -> dict[str, Any]:
    """The NodeSet in DaemonSet mode, whose template is otherwise as the chart has it."""
    spec = json.loads(json.dumps(OBJECTS[NODESET_NAME]))
    spec["scalingMode"] = "DaemonSet"
    spec["template"]["spec"] |= SELECTS
    return dict(spec)


def machine(api: KubeApi, name: str) -> None:
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"pool": "gpu"}}}
    done(call(api, "POST", "/api/v1/nodes", body))


@pytest.fixture
def api(server: KubeApi) -> Iterator[KubeApi]:
    server.kubectl("create", "namespace", "slurm")
    values = json.loads(json.dumps(VALUES))
    values["nodesets"]["gpu"] = {**values["nodesets"]["gpu"], "scalingMode": "DaemonSet"}
    labels = {"owner": "helm", "name": "slurm", "version": "1", "status": "deployed"}
    packed = base64.b64encode(record(values, version=VERSION)).decode()
    helm(server, "v1", "Secret", "sh.helm.release.v1.slurm.v1", labels, data={"release": packed})
    objects = {**OBJECTS, NODESET_NAME: each()}
    for name, data in (("slurm-auth-slurm", {"slurm.key": whole.KEY}), ("slurm-auth-jwt", {"jwt.key": whole.KEY})):
        helm(server, "v1", "Secret", name, data={key: base64.b64encode(value).decode() for key, value in data.items()})
    server.kubectl("create", "serviceaccount", "default", "-n", "slurm")
    for called, spec in objects.items():
        kind, name = called.split(" ")
        helm(server, names.API_VERSION, kind, name, {**HELM, "helm.sh/chart": f"slurm-{VERSION}"}, spec=spec)
    seen = {"replicas": 2, "selector": "", "nodeSetHash": "1", "updatedReplicas": 2, "desired": 2}
    merge(server, f"{whole.path(NODESET_NAME)}/status", {"status": seen})
    whole.serving(server)
    uid = found(server, NODESET_NAME)["metadata"]["uid"]
    for number in range(2):
        machine(server, f"gpu-{number}")
        marks = {"app.kubernetes.io/name": "slurmd", "app.kubernetes.io/instance": NODESET_NAME.split(" ")[1]}
        marks |= {names.LABEL_POD_HOSTNAME: f"gpu-{number}", names.LABEL_SCALING_MODE: "DaemonSet"}
        marks |= {"controller.kubernetes.io/hash": "1"}
        pod(server, f"slurm-worker-gpu-{number}x", ["Allocated"], owner="slurm-worker-gpu", labels=marks, uid=uid,
            machine=f"gpu-{number}", hostname=f"gpu-{number}")  # fmt: skip
    with whole.operator(server):
        yield server


@pytest.fixture
def stack(engine: Engine, api: KubeApi, tmp_path: Path) -> Iterator[Project]:
    yield from whole.project_of_a_release(engine, api, tmp_path)


def pods_follow(api: KubeApi) -> dict[str, Any]:
    spec = found(api, NODESET_NAME)["spec"]
    return {"uid": found(api, NODESET_NAME)["metadata"]["uid"], "mode": spec["scalingMode"], "template": spec["template"]}


def test_a_nodeset_with_a_pod_on_each_node_is_taken_over_as_it_is(api: KubeApi, stack: Project) -> None:
    before = pods_follow(api)
    assert let_go(api, stack) == 0
    assert previewed(stack).keys() <= {"create", "import", "update"}
    stack.up()
    assert pods_follow(api) == before, "no pod is touched"
    assert previewed(stack).keys() == {"same"}, "nothing is left to do"
    annotations = found(api, NODESET_NAME)["metadata"]["annotations"]
    assert names.ANNOTATION_PERMIT not in annotations, "its gate wrote no selection"

    # While the section has it, the engine replaces nothing.
    file = stack.folder / "Pulumi.test.yaml"
    made = json.loads(file.read_text())
    other = json.loads(file.read_text())
    gpu = other["config"]["slinky-iac:nodesets"]["gpu"]
    gpu |= {"scalingMode": "StatefulSet", "replicas": 2}
    file.write_text(json.dumps(other))
    said = stack.preview()
    assert "resources that still specify an ID may not be replaced" in said.stdout + said.stderr
    said = stack.run("up", "--yes", "--skip-preview", ok=False)
    assert said.returncode != 0
    assert "please remove the `import` declaration" in said.stdout + said.stderr
    assert pods_follow(api) == before, "nothing is drained or deleted"
    made["config"].pop("slinky-iac:adopted")
    file.write_text(json.dumps(made))
    assert previewed(stack).keys() <= {"same", "update", "create"}, "the section may go, and nothing is replaced"
    stack.up()
    assert pods_follow(api) == before | {"template": pods_follow(api)["template"]}
    assert pods_follow(api)["template"]["spec"]["nodeSelector"] == {"pool": "gpu"}
