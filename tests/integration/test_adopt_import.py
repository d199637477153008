"""A living release is taken over on the real engine: a real API server with the operator's CRDs and objects as Helm leaves
them, the real program, and a slurmrestd in memory. No operator runs: pods, nodes and its status are made by hand.

What the operator would replace pods for is held by the objects themselves: a daemon's pods follow spec, labels and
annotations of their object, a NodeSet's the fields that its digest has."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.charts import crd_dir
from slinky_iac import names
from slinky_iac.commands import cli
from slinky_iac.specs.workers import template_digest
from tests.e2e.world import steps
from tests.integration.deadly import Deadly
from tests.integration.engine import REPO, Engine, Project, create_project, eventually
from tests.integration.kube_api import KubeApi, served
from tests.integration.test_fence_pods import call, done, merge, pod
from tests.integration.two_gates import World
from tests.integration.two_gates import served as slurm_served
from tests.made.rows import node
from tests.stacks import read_yaml
from tests.unit.adopt.chart_objects import CONTROLLER, HELM, NODESET, RESTAPI, record
from tests.unit.slurmrest.fake import KEY

VERSION = "1.1.0"
PLURALS = {"Controller": "controllers", "RestApi": "restapis", "NodeSet": "nodesets", "LoginSet": "loginsets"}
REFERENCE = {"name": "slurm", "namespace": "slurm"}
LIMITS = {"limits": {"cpu": "2", "memory": "4Gi"}}
LOGINSET: dict[str, Any] = {
    "controllerRef": REFERENCE,
    "replicas": 1,
    "login": {"image": "ghcr.io/slinkyproject/login:25.11-site"},
    "initconf": {"image": "docker.io/library/alpine:latest"},
    "sssdConfRef": {"name": "slurm-sssd-conf", "key": "sssd.conf"},
    "template": {"metadata": {"labels": HELM}},
    "service": {"spec": {"type": "LoadBalancer"}},
}
NODESET_NAME = "NodeSet slurm-worker-gpu"
OBJECTS: dict[str, dict[str, Any]] = {
    "Controller slurm": {key: value for key, value in CONTROLLER.items() if key != "inplaceReconfigure"},
    "RestApi slurm": {**RESTAPI, "controllerRef": REFERENCE},
    NODESET_NAME: {
        **NODESET,
        "controllerRef": REFERENCE,
        "slurmd": {**NODESET["slurmd"], "resources": LIMITS},
    },
    "LoginSet slurm-login-main": LOGINSET,
}
VALUES: dict[str, Any] = {
    "clusterName": "atlas",
    "nodesets": {
        "slinky": {"enabled": False},
        "gpu": {"replicas": 2, "slurmd": {"env": [{"name": "SITE_MODE", "value": "hunter2hunter2"}], "resources": LIMITS}},
    },
    "partitions": {"all": {"enabled": False}},
    "loginsets": {"slinky": {"enabled": False}, "main": {"enabled": True, "replicas": 1}},
}


class Slurm(World):
    """A slurmctld whose two nodes run jobs; Kubernetes is a real one, beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.slurm.controller = "atlas"
        self.slurm.nodes = {each: node(each, "ALLOCATED") for each in ("gpu-0", "gpu-1")}


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApi]:
    """One for each test, since no namespace is ever gone where no controllers run."""
    with served(tmp_path_factory.mktemp("api")) as made:
        made.kubectl("create", "--validate=false", "-f", str(crd_dir(VERSION)))
        made.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        yield made


@pytest.fixture
def api(server: KubeApi) -> Iterator[KubeApi]:
    """The release as Helm and the operator leave it."""
    server.kubectl("create", "namespace", "slurm")
    for revision, status in ((1, "superseded"), (2, "deployed")):
        labels = {"owner": "helm", "name": "slurm", "version": str(revision), "status": status}
        packed = base64.b64encode(record(VALUES, version=VERSION)).decode()
        helm(server, "v1", "Secret", f"sh.helm.release.v1.slurm.v{revision}", labels, data={"release": packed})
    yield from released(server, helm)


@pytest.fixture
def applied(server: KubeApi) -> Iterator[KubeApi]:
    """The same as Argo CD leaves it, by its client-side apply: no record, nothing of Helm's, its own manager and marks."""
    server.kubectl("create", "namespace", "slurm")
    yield from released(server, apply)


def released(server: KubeApi, make: Callable[..., None]) -> Iterator[KubeApi]:
    """Keys, custom resources and pods of the release; ``make``: makes an object as the one who deploys it does."""
    server.kubectl("create", "serviceaccount", "default", "-n", "slurm")
    for name, data in (("slurm-auth-slurm", {"slurm.key": KEY}), ("slurm-auth-jwt", {"jwt.key": KEY})):
        make(server, "v1", "Secret", name, data={key: base64.b64encode(value).decode() for key, value in data.items()})
    for called, spec in OBJECTS.items():
        kind, name = called.split(" ")
        make(server, names.API_VERSION, kind, name, {**HELM, "helm.sh/chart": f"slurm-{VERSION}"}, spec=spec)
    seen = {"replicas": 2, "selector": "", "nodeSetHash": "1", "updatedReplicas": 2}
    merge(server, f"{path(NODESET_NAME)}/status", {"status": seen})
    serving(server)
    uid = found(server, NODESET_NAME)["metadata"]["uid"]
    for each in range(2):
        labels = {"app.kubernetes.io/name": "slurmd", "app.kubernetes.io/instance": NODESET_NAME.split(" ")[1]}
        labels |= {names.LABEL_POD_INDEX: str(each), names.LABEL_SCALING_MODE: "StatefulSet"}
        pod(server, f"gpu-{each}", ["Allocated"], owner="slurm-worker-gpu", labels=labels, uid=uid, machine="k-1")
    with operator(server):
        yield server


def serving(api: KubeApi) -> None:
    """slurmrestd's Deployment, whose pod serves."""
    app = {"app": "slurmrestd"}
    template = {"metadata": {"labels": app}, "spec": {"containers": [{"name": "slurmrestd", "image": "slurmrestd:1"}]}}
    body = {"metadata": {"name": "slurm-restapi"}, "spec": {"selector": {"matchLabels": app}, "template": template}}
    deployments = "/apis/apps/v1/namespaces/slurm/deployments"
    done(call(api, "POST", deployments, {"apiVersion": "apps/v1", "kind": "Deployment", **body}))
    seen = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}
    merge(api, f"{deployments}/slurm-restapi/status", {"status": seen})


@contextmanager
def operator(api: KubeApi) -> Iterator[None]:
    """Says of the NodeSet, as slurm-operator does, that it has seen the newest one."""
    over = threading.Event()

    def sync() -> None:
        while not over.wait(0.2):
            whole = found(api, NODESET_NAME)
            if whole["status"].get("observedGeneration") != whole["metadata"]["generation"]:
                seen = {"observedGeneration": whole["metadata"]["generation"]}
                merge(api, f"{path(NODESET_NAME)}/status", {"status": seen})

    syncing = threading.Thread(target=sync)
    syncing.start()
    try:
        yield
    finally:
        over.set()
        syncing.join()


def helm(api: KubeApi, version: str, kind: str, name: str, labels: dict[str, str] | None = None, **body: Any) -> None:
    """An object as Helm makes it."""
    noted = {"meta.helm.sh/release-name": "slurm", "meta.helm.sh/release-namespace": "slurm"}
    meta = {"name": name, "namespace": "slurm", "labels": labels or HELM, "annotations": noted}
    text = json.dumps({"apiVersion": version, "kind": kind, "metadata": meta, **body})
    api.kubectl("create", "--field-manager=helm", "--validate=false", "-f", "-", stdin=text)


def apply(api: KubeApi, version: str, kind: str, name: str, labels: dict[str, str] | None = None, **body: Any) -> None:
    """An object as Argo CD makes it, whose client-side apply is kubectl's."""
    noted = {"argocd.argoproj.io/tracking-id": f"slurm:slinky.slurm.net/{kind}:slurm/{name}"}
    meta = {"name": name, "namespace": "slurm", "labels": labels or HELM, "annotations": noted}
    text = json.dumps({"apiVersion": version, "kind": kind, "metadata": meta, **body})
    api.kubectl("apply", "--field-manager=argocd-controller", "--validate=false", "-f", "-", stdin=text)


def path(called: str) -> str:
    kind, name = called.split(" ")
    return f"/apis/{names.API_VERSION}/namespaces/slurm/{PLURALS[kind]}/{name}"


def found(api: KubeApi, called: str) -> dict[str, Any]:
    return done(call(api, "GET", path(called)))


def what_pods_follow(api: KubeApi) -> dict[str, Any]:
    """Of each object its UID and what slurm-operator makes its pods from."""
    seen: dict[str, Any] = {}
    for called in OBJECTS:
        whole = found(api, called)
        meta, spec = whole["metadata"], {field: value for field, value in whole["spec"].items() if field != "service"}
        if called.startswith("NodeSet "):
            seen[called] = (meta["uid"], spec["replicas"], template_digest(spec))
        else:
            seen[called] = (meta["uid"], spec, meta["labels"], meta["annotations"])
    return seen


@pytest.fixture
def stack(engine: Engine, api: KubeApi, tmp_path: Path) -> Iterator[Project]:
    """The program of this checkout, with the file that `slinky adopt` writes."""
    yield from project_of_a_release(engine, api, tmp_path)


def project_of_a_release(engine: Engine, api: KubeApi, tmp_path: Path, code: int = 0, *more: str) -> Iterator[Project]:
    """That program. ``code``: what `slinky adopt` ends with; ``more``: its arguments."""
    project = create_project(engine, tmp_path / "project", "slinky-iac")
    for name in ("__main__.py", "components", "slinky_iac"):
        (project.folder / name).symlink_to(REPO / name)
    with slurm_served(Slurm()) as (_, url):
        assert adopt(api, "--out", str(tmp_path / "made.yaml"), *more) == code
        made = read_yaml((tmp_path / "made.yaml").read_text())["config"]
        made["slinky-iac:slurmrest"] = {"url": url, "allowPlainHttp": True}
        file = project.folder / "Pulumi.test.yaml"
        file.write_text(json.dumps({**read_yaml(file.read_text()), "config": made}))
        yield project


def adopt(api: KubeApi, *more: str) -> int:
    return cli.main(["adopt", "--kubeconfig", str(api.kubeconfig), *more])


def let_go(api: KubeApi, stack: Project) -> int:
    return adopt(api, "--let-go", str(stack.folder / "Pulumi.test.yaml"))


def previewed(stack: Project) -> dict[str, int]:
    done = stack.preview("--json")
    return dict(json.loads(done.stdout)["changeSummary"])


def test_a_release_is_taken_over_and_no_pod_would_restart(api: KubeApi, stack: Project) -> None:
    """Each run is cut off once, and continued: Helm's letting go, and an update that fails in its middle."""
    before = what_pods_follow(api)
    held = stack.preview(ok=False)
    assert held.returncode != 0
    assert "Helm still has release slurm" in held.stdout + held.stderr
    assert let_go(api, stack) == 0
    assert let_go(api, stack) == 0, "a second run finds all done"
    assert what_pods_follow(api) == before
    assert previewed(stack).keys() <= {"create", "import", "update"}

    run = stack.spawn("up", "--yes", "--skip-preview")
    eventually("the Controller is imported", lambda: "slurm-slurm-controller imported" in run.output)
    run.interrupt()
    assert run.wait() != 0
    assert what_pods_follow(api) == before
    stack.up()
    assert what_pods_follow(api) == before
    made = stack.resources()
    assert {"slurm-slurm-controller", "slurm-slurm-restapi", "slurm-slurm-worker-gpu-nodeset"} <= made.keys()
    assert previewed(stack).keys() == {"same"}, "nothing is left to do"
    nodeset = found(api, NODESET_NAME)
    assert nodeset["spec"]["updateStrategy"]["type"] == "OnDelete"
    assert nodeset["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "slinky-iac"


def test_an_update_that_was_killed_at_the_fence_goes_on(api: KubeApi, stack: Project, tmp_path: Path) -> None:
    """Before, each later run was refused: the API server had a policy that the state had no record of."""
    assert let_go(api, stack) == 0
    with Deadly(api, stack, "validatingadmissionpolicies") as between:
        killed(between, stack, tmp_path, lambda: None)
        assert steps(stack.preview("--json")) == [], "nothing is left to do"
    assert between.killed_at == ["validatingadmissionpolicies"]


def killed(between: Deadly, stack: Project, folder: Path, look: Callable[[], None]) -> None:
    """Update the stack until an update isn't killed any more; ``look`` after each."""
    file = stack.folder / "Pulumi.test.yaml"
    made = read_yaml(file.read_text())
    made["config"]["slinky-iac:kubernetes"] = {"kubeconfig": between.kubeconfig(folder / "between")}
    file.write_text(json.dumps(made))
    while True:
        before = len(between.killed_at)
        between.run = run = stack.spawn("up", "--yes", "--skip-preview")
        code = run.wait(240)  # a gate waits a minute for a lease of a run that is dead
        between.settle()
        look()
        if len(between.killed_at) == before:
            assert code == 0, f"after {between.killed_at}: {run.output}"
            return
        for each in stack.engine.backend.rglob("*.attrs"):  # as docs/troubleshooting.md says
            if not each.stat().st_size:
                each.unlink()
        stack.run("cancel", "--yes")
        assert previewed(stack).keys() <= {"create", "import", "update", "same", "refresh"}, between.killed_at


@pytest.fixture
def argo(engine: Engine, applied: KubeApi, tmp_path: Path) -> Iterator[Project]:
    """The program with the file that `slinky adopt` writes from the values."""
    values = tmp_path / "values.yaml"
    values.write_text(json.dumps(VALUES))
    yield from project_of_a_release(engine, applied, tmp_path, 3, "--values", str(values))


def test_a_release_that_argo_cd_made_is_taken_over_and_no_pod_would_restart(applied: KubeApi, argo: Project) -> None:
    api = applied
    before = what_pods_follow(api)
    held = argo.preview(ok=False)
    assert "Argo CD claims fields of Controller slurm" in held.stdout + held.stderr
    assert let_go(api, argo) == 3, "its marks are there"
    assert adopt(api, "--stopped", "argo", "--let-go", str(argo.folder / "Pulumi.test.yaml")) == 0
    assert what_pods_follow(api) == before
    assert previewed(argo).keys() <= {"create", "import", "update"}
    argo.up()
    assert what_pods_follow(api) == before
    assert previewed(argo).keys() == {"same"}, "nothing is left to do"
    nodeset = found(api, NODESET_NAME)
    assert nodeset["spec"]["updateStrategy"]["type"] == "OnDelete"
    assert nodeset["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "slinky-iac"


def test_a_foreign_object_under_the_name_is_not_taken_over(api: KubeApi, stack: Project) -> None:
    assert let_go(api, stack) == 0
    api.kubectl("delete", "restapi", "slurm", "-n", "slurm")
    helm(api, names.API_VERSION, "RestApi", "slurm", spec=OBJECTS["RestApi slurm"])
    said = stack.preview(ok=False)
    assert said.returncode != 0
    assert "RestApi slurm in namespace slurm is another object now" in said.stdout + said.stderr
    assert stack.resources().keys() <= {"slinky-iac-test"}
