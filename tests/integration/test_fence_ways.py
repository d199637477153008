"""The fence on a real API server: changes that would take pods without deleting or shrinking a NodeSet, and what belongs to
others on the same Kubernetes cluster."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from lab.charts import crd_dir
from slinky_iac import names
from slinky_iac.config.reading.load import load
from slinky_iac.parts.fence.policies import policies
from tests.integration.kube_api import KubeApi, served
from tests.stacks import minimal

NODESETS = {"gpu": {"replicas": 1}, "rolled": {"replicas": 1, "updateStrategy": {"type": "RollingUpdate"}}}
KINDS = ("nodesets", "controllers", "restapis")
GPU = "slurm-worker-gpu"
CLOSES = '{"spec": {"extraConf": ""}}'
KEYS = {"slurmKeyRef": {"name": "k", "key": "slurm.key"}, "jwtHs256KeyRef": {"name": "k", "key": "jwt.key"}}


def stands(api: KubeApi, *words: str) -> None:
    """Wait until the API server refuses this: it reads new policies about once a second."""
    until = time.monotonic() + 60
    while run(api, *words, "--dry-run=server").returncode == 0:
        assert time.monotonic() < until, f"the fence doesn't refuse {words} in 60 s"
        time.sleep(0.2)


def run(api: KubeApi, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = ["kubectl", f"--kubeconfig={api.kubeconfig}", *words]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)


def make(api: KubeApi, kind: str, name: str, namespace: str, **spec: object) -> None:
    more = {} if kind == "Controller" else {"controllerRef": {"name": "slurm", "namespace": namespace}}
    meta = {"name": name, "namespace": namespace, "annotations": {names.ANNOTATION_UPDATE: "OnDelete"}}
    body = {"apiVersion": names.API_VERSION, "kind": kind, "metadata": meta, "spec": {**more, **spec}}
    api.kubectl("create", "--validate=false", "-f", "-", stdin=json.dumps(body))


def nodeset(api: KubeApi, name: str, namespace: str = "slurm") -> None:
    on_delete = {"type": "OnDelete"}
    make(api, "NodeSet", name, namespace, replicas=3, slurmd={"image": "slurmd:1"}, updateStrategy=on_delete)


def definitions(api: KubeApi) -> None:
    for kind in KINDS:
        api.kubectl("create", "--validate=false", "-f", str(crd_dir("1.1.0") / f"{names.GROUP}_{kind}.yaml"))
        api.kubectl("wait", "--for=condition=Established", f"crd/{kind}.{names.GROUP}", "--timeout=30s")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApi]:
    with served(tmp_path_factory.mktemp("api")) as made:
        definitions(made)
        for namespace in ("slurm", "other"):
            made.kubectl("create", "namespace", namespace)
            for policy in policies(load(minimal(nodesets=NODESETS, cluster={"name": "lab", "namespace": namespace}))):
                made.make_policy(policy)
        make(made, "Controller", "slurm", "slurm", extraConf="PartitionName=batch Nodes=gpu", **KEYS)
        make(made, "RestApi", "slurm", "slurm", replicas=1)
        nodeset(made, GPU)
        nodeset(made, "by-hand", "other")
        stands(made, "delete", f"nodesets.{names.GROUP}", GPU, "-n", "slurm")
        stands(made, "delete", f"controllers.{names.GROUP}", "slurm", "-n", "slurm")
        stands(made, "patch", f"controllers.{names.GROUP}", "slurm", "-n", "slurm", "--type=merge", "-p", CLOSES)
        stands(made, "delete", "namespace", "slurm")
        stands(made, "delete", "namespace", "other")
        stands(made, "delete", "crd", f"nodesets.{names.GROUP}")
        yield made


def patched(api: KubeApi, kind: str, name: str, change: object) -> subprocess.CompletedProcess[str]:
    words = ("patch", f"{kind}.{names.GROUP}", name, "-n", "slurm", "--type=merge", "--dry-run=server")
    return run(api, *words, "-p", json.dumps(change))


def refused(done: subprocess.CompletedProcess[str]) -> bool:
    """Refused by the fence, with the way out."""
    return done.returncode != 0 and "kubectl delete validatingadmissionpolicybinding slinky-iac-" in done.stderr


@pytest.mark.parametrize(
    "spec",
    [
        {"scalingMode": "DaemonSet"},
        {"controllerRef": {"name": "nowhere"}},
        {"updateStrategy": {"type": "RollingUpdate"}},
        {"updateStrategy": {"type": "RollingUpdate"}, "slurmd": {"image": "slurmd:2"}},
        {"updateStrategy": {"type": None}},
        {"updateStrategy": None},
    ],
    ids=json.dumps,
)
def test_no_field_of_a_nodeset_is_changed_by_which_the_operator_removes_pods(api: KubeApi, spec: dict[str, object]) -> None:
    done = patched(api, "nodesets", GPU, {"spec": spec})
    assert refused(done), done.stdout + done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("scale", "--replicas=2"),
        ("scale", "--replicas=0"),
        ("patch", "--type=merge", "-p", '{"spec": {"replicas": 2}}'),
        ("patch", "--type=json", "-p", '[{"op": "remove", "path": "/spec/replicas"}]'),
        ("patch", "--subresource=scale", "--type=merge", "-p", '{"spec": {"replicas": 2}}'),
    ],
    ids=" ".join,
)
def test_no_number_is_lowered_without_a_permission(api: KubeApi, words: tuple[str, ...]) -> None:
    done = run(api, words[0], f"nodesets.{names.GROUP}", GPU, "-n", "slurm", *words[1:], "--dry-run=server")
    assert refused(done), done.stdout + done.stderr


def test_a_permission_is_for_one_number_and_one_generation(api: KubeApi) -> None:
    found = json.loads(run(api, "get", f"nodesets.{names.GROUP}", GPU, "-n", "slurm", "-o", "json").stdout)
    now = int(found["metadata"]["generation"])

    def lowered(permit: str, number: int) -> subprocess.CompletedProcess[str]:
        change = {"metadata": {"annotations": {names.ANNOTATION_PERMIT: permit}}, "spec": {"replicas": number}}
        return patched(api, "nodesets", GPU, change)

    assert lowered(names.permit_to_scale(2, now), 2).returncode == 0
    assert refused(lowered(names.permit_to_scale(2, now), 1))
    assert refused(lowered(names.permit_to_scale(2, now + 1), 2))
    assert refused(lowered(names.permit_to_delete(now), 2))


def test_the_stack_itself_may_give_a_nodeset_another_update_strategy(api: KubeApi) -> None:
    """Its settings ask for it, and the custom resource says so in the same request."""
    change = {
        "metadata": {"annotations": {names.ANNOTATION_UPDATE: "RollingUpdate"}},
        "spec": {"updateStrategy": {"type": "RollingUpdate"}},
    }
    assert patched(api, "nodesets", GPU, change).returncode == 0
    assert patched(api, "nodesets", GPU, {"spec": {"slurmd": {"image": "slurmd:2"}}}).returncode == 0
    assert patched(api, "nodesets", GPU, {"spec": {"replicas": 4}}).returncode == 0


@pytest.mark.parametrize("text", ["", None, "PartitionName=batch Nodes=gpu\nPartitionName=more Nodes=gpu"])
def test_slurm_conf_is_written_by_its_gate_alone(api: KubeApi, text: str | None) -> None:
    found = json.loads(run(api, "get", f"controllers.{names.GROUP}", "slurm", "-n", "slurm", "-o", "json").stdout)
    now = int(found["metadata"]["generation"])
    change = {"spec": {"extraConf": text}}
    done = patched(api, "controllers", "slurm", change)
    assert refused(done), done.stdout + done.stderr
    used = {"metadata": {"annotations": {names.ANNOTATION_PERMIT: names.permit_to_configure(now - 1)}}}
    assert refused(patched(api, "controllers", "slurm", change | used))
    permit = {"metadata": {"annotations": {names.ANNOTATION_PERMIT: names.permit_to_configure(now)}}}
    assert patched(api, "controllers", "slurm", change | permit).returncode == 0
    assert patched(api, "controllers", "slurm", {"spec": {"slurmctld": {"image": "slurmctld:2"}}}).returncode == 0


def test_a_restapi_keeps_a_pod_while_a_nodeset_is_left(api: KubeApi) -> None:
    done = patched(api, "restapis", "slurm", {"spec": {"replicas": 0}})
    assert refused(done), done.stdout + done.stderr
    assert patched(api, "restapis", "slurm", {"spec": {"replicas": 2}}).returncode == 0


@pytest.mark.parametrize("kind", ["controllers", "restapis"])
def test_a_nodeset_of_any_name_keeps_the_controller_that_it_names(api: KubeApi, kind: str) -> None:
    """Also one that Helm or kubectl made."""
    made = {
        "controllers": (
            "Controller",
            {"slurmKeyRef": {"name": "k", "key": "k"}, "jwtHs256KeyRef": {"name": "j", "key": "j"}},
        )
    }
    name, spec = made.get(kind, ("RestApi", {"replicas": 1}))
    make(api, name, "slurm", "other", **spec)
    done = run(api, "delete", f"{kind}.{names.GROUP}", "slurm", "-n", "other", "--dry-run=server")
    assert refused(done), done.stdout + done.stderr


def test_a_namespace_with_a_nodeset_of_any_name_stays(api: KubeApi) -> None:
    done = run(api, "delete", "namespace", "other", "--dry-run=server")
    assert refused(done), done.stdout + done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_a_crd_stays_while_there_is_a_nodeset(api: KubeApi, kind: str) -> None:
    done = run(api, "delete", "crd", f"{kind}.{names.GROUP}", "--dry-run=server")
    assert refused(done), done.stdout + done.stderr


def stranger_crd() -> dict[str, object]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "example.org", "scope": "Namespaced", "names": {"plural": "ones", "kind": "One"}, "versions": [version]}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**kind, "metadata": {"name": "ones.example.org"}, "spec": spec}


def strangers(api: KubeApi) -> dict[str, Callable[[], subprocess.CompletedProcess[str]]]:
    """Deletions of what isn't of any Slurm cluster."""
    api.kubectl("create", "namespace", "strangers")
    api.kubectl("create", "-f", "-", stdin=json.dumps(stranger_crd()))
    return {
        "namespace": lambda: run(api, "delete", "namespace", "strangers", "--dry-run=server"),
        "crd": lambda: run(api, "delete", "crd", "ones.example.org", "--dry-run=server"),
    }


def test_what_others_have_can_be_deleted_while_nodesets_live(api: KubeApi) -> None:
    for what, deleted in strangers(api).items():
        assert deleted().returncode == 0, what


def test_what_others_have_can_be_deleted_where_the_kind_nodeset_is_not_known(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The operator isn't installed yet, or its CRDs went and the API server started again since: parameters that can't be
    had refuse whatever the rules match."""
    with served(tmp_path_factory.mktemp("api")) as api:
        api.kubectl("create", "namespace", "slurm")
        api.kubectl("create", "--validate=false", "-f", str(crd_dir("1.1.0") / f"{names.GROUP}_controllers.yaml"))
        for policy in policies(load(minimal(nodesets=NODESETS))):
            api.make_policy(policy)
        stands(api, "delete", "namespace", "slurm")
        stands(api, "delete", "crd", f"controllers.{names.GROUP}")
        for what, deleted in strangers(api).items():
            done = deleted()
            assert done.returncode == 0, (what, done.stderr)
