"""What somebody else made is never taken up and never destroyed: it is refused before the first creation, in preview too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from slinky_iac import names, ownership
from slinky_iac.config.reading.load import load
from slinky_iac.errors import KubeForbidden, KubeNotFound, KubeUnreachable
from slinky_iac.kube.client import KubeClient
from slinky_iac.kube.objects import NodeSet, ObjectMeta
from tests.api_server import ApiServer
from tests.clusters import MUNGE, STACKS, recorded
from tests.stacks import form, minimal
from tests.unit.config.rule_cases_adopted import RECORD, UID
from tests.unit.drain.made import nodeset

OURS = {ownership.MANAGED_BY: ownership.US, names.LABEL_CLUSTER: "slurm"}


def marks(
    name: str = "slurm", labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None
) -> ObjectMeta:
    return ObjectMeta(name=name, uid="uid", labels=labels or {}, annotations=annotations or {})


@pytest.mark.parametrize("owner", [None, "other"])
def test_a_namespace_of_others_is_refused_with_both_ways_out(owner: str | None) -> None:
    found = marks(labels=OURS, annotations={names.ANNOTATION_STACK: owner} if owner else {})
    said = ownership.namespace_taken(found, "prod", "cluster.createNamespace") or ""
    assert "Namespace slurm is there already" in said
    assert "set cluster.createNamespace: false" in said
    assert f"kubectl annotate namespace slurm {names.ANNOTATION_STACK}=prod --overwrite" in said


def test_a_namespace_that_a_cut_off_run_of_this_stack_made_is_taken_up() -> None:
    assert ownership.namespace_taken(marks(annotations={names.ANNOTATION_STACK: "prod"}), "prod", "x") is None


@pytest.mark.parametrize(
    "labels", [{}, {ownership.MANAGED_BY: "Helm"}, OURS | {names.LABEL_CLUSTER: "other"}, {names.LABEL_CLUSTER: "slurm"}]
)
def test_a_controller_of_others_is_refused(labels: dict[str, str]) -> None:
    said = ownership.object_taken(marks(labels=labels), "controllers", form("all-in-kubernetes")) or ""
    assert "controllers slurm/slurm is there already" in said
    assert "cluster.resourceName" in said


def test_an_object_that_a_cut_off_run_made_is_taken_up() -> None:
    assert ownership.object_taken(marks(labels=OURS), "controllers", form("all-in-kubernetes")) is None


def test_a_release_that_helm_has_a_record_of_is_refused_with_the_one_command_that_heals_it() -> None:
    record = marks("sh.helm.release.v1.slurm-operator.v1", {"status": "pending-install"})
    said = ownership.release_taken((record,), "slinky", "slurm-operator") or ""
    assert "kubectl delete secret -n slinky -l owner=helm,name=slurm-operator" in said
    assert "pending-install" in said
    assert "operator.install: false" in said
    assert ownership.release_taken((), "slinky", "slurm-operator") is None


ADOPTED: dict[str, Any] = {
    "cluster": {"name": "atlas", "createNamespace": False},
    "keys": {
        "source": "existing",
        "slurmKeyFrom": {"secret": "slurm-auth-slurm"},
        "jwtKeyFrom": {"secret": "slurm-auth-jwt"},
    },
    "adopted": {"release": "slurm", "record": RECORD, "objects": {"RestApi slurm": {"uid": UID}}},
}


def taken_over(folder: Path, uid: str, owner: str = ownership.US) -> str | None:
    """What stops a stack that takes over a RestApi; ``uid`` of the one that is there, ``owner``: label of Helm's record."""
    labels = {"owner": owner, "name": "slurm", "status": "deployed"}
    with ApiServer() as server:
        record = {"metadata": {"name": RECORD, "uid": RECORD, "labels": labels}}
        server.objects[f"/api/v1/namespaces/slurm/secrets/{RECORD}"] = record
        if uid:
            path = f"/apis/{names.API_VERSION}/namespaces/slurm/restapis/slurm"
            server.objects[path] = {"metadata": {"name": "slurm", "uid": uid}}
        config = load(minimal(**ADOPTED, kubernetes={"kubeconfig": server.kubeconfig(folder)}))
        question = ownership.adopted(config)
        assert question is not None
        return ownership.refusal(config, question, {}, folder, preview=True)


def test_what_helm_has_let_go_is_taken_over(tmp_path: Path) -> None:
    assert taken_over(tmp_path, UID) is None


def test_what_helm_still_has_is_not_taken_over(tmp_path: Path) -> None:
    said = taken_over(tmp_path, UID, "helm") or ""
    assert "Helm still has release slurm in namespace slurm" in said
    assert "slinky adopt --let-go" in said


@pytest.mark.parametrize(
    ("manager", "key"),
    [
        ("argocd-controller", "argo"),
        ("argocd-application-controller", "argo"),
        ("kustomize-controller", "flux"),
        ("flux-operator", "flux"),
    ],
)
@pytest.mark.parametrize(("field", "held"), [("f:spec", True), ("f:metadata", False)])
def test_what_another_program_claims_is_not_taken_over_where_there_is_no_record(
    tmp_path: Path, manager: str, key: str, field: str, held: bool
) -> None:
    claim = {"manager": manager, "operation": "Update", "fieldsV1": {field: {"f:replicas": {}}}}
    section = {key: value for key, value in ADOPTED["adopted"].items() if key != "record"}
    with ApiServer() as server:
        path = f"/apis/{names.API_VERSION}/namespaces/slurm/restapis/slurm"
        server.objects[path] = {"metadata": {"name": "slurm", "uid": UID, "managedFields": [claim]}}
        own = {**ADOPTED, "adopted": section}
        config = load(minimal(**own, kubernetes={"kubeconfig": server.kubeconfig(tmp_path)}))
        question = ownership.adopted(config)
        assert question is not None
        said = ownership.refusal(config, question, {}, tmp_path, preview=True)
    assert (said is not None) == held
    assert said is None or f"slinky adopt --stopped {key} --let-go" in " ".join(said.split())


def claimed(folder: Path, managers: dict[str, dict[str, Any]], *, owner: str = "stack", record: bool = True) -> str | None:
    """What stops a stack that takes over a NodeSet whose spec has these field managers."""
    claims = [{"manager": each, "operation": "Update", "fieldsV1": {"f:spec": spec}} for each, spec in managers.items()]
    taken = {
        "release": "slurm",
        "objects": {"NodeSet slurm-worker-gpu": {"uid": UID}},
        **({"record": RECORD} if record else {}),
    }
    with ApiServer() as server:
        labels = {"owner": ownership.US, "name": "slurm"}
        server.objects[f"/api/v1/namespaces/slurm/secrets/{RECORD}"] = {"metadata": {"name": RECORD, "labels": labels}}
        path = f"/apis/{names.API_VERSION}/namespaces/slurm/nodesets/slurm-worker-gpu"
        server.objects[path] = {"metadata": {"name": "slurm-worker-gpu", "uid": UID, "managedFields": claims}}
        group = {"replicas": 2, "owner": owner, **({"maxReplicas": 4} if owner == "autoscaler" else {})}
        sections = {**ADOPTED, "adopted": taken, "nodesets": {"gpu": group}}
        config = load(minimal(**sections, kubernetes={"kubeconfig": server.kubeconfig(folder)}))
        question = ownership.adopted(config)
        assert question is not None
        return ownership.refusal(config, question, {}, folder, preview=True)


@pytest.mark.parametrize("record", [True, False])
@pytest.mark.parametrize(
    ("manager", "key"),
    [
        ("terraform-provider-helm_v2.17.0_x5", "other"),
        ("fleetagent", "other"),
        ("kapp-controller", "other"),
        ("ci-deployer", "other"),
        ("helmwave", "other"),
        ("slurm-operator-sync", "other"),
        ("helm-controller", "flux"),
        ("kustomize-controller", "flux"),
        ("argocd-controller", "argo"),
    ],
)
def test_no_preview_goes_on_while_any_other_program_claims_fields(
    tmp_path: Path, manager: str, key: str, *, record: bool
) -> None:
    said = claimed(tmp_path, {manager: {"f:slurmd": {}}}, record=record) or "nothing"
    assert "claims fields of NodeSet slurm-worker-gpu in namespace slurm" in said
    assert f"slinky adopt --stopped {key} --let-go" in said


@pytest.mark.parametrize(
    ("managers", "owner"),
    [
        ({"kubectl-edit": {"f:slurmd": {}}, "kubectl": {"f:slurmd": {}}, "kubectl-client-side-apply": {}}, "stack"),
        ({"manager": {"f:slurmd": {}}, "pulumi-kubernetes-0a1b2c3d": {"f:slurmd": {}}}, "stack"),
        ({"helm": {}, "before-first-apply": {}, "slinky-iac": {"f:replicas": {}}}, "stack"),
        ({"node-scaler": {"f:replicas": {}}}, "autoscaler"),
    ],
)
def test_people_and_what_the_stack_leaves_to_others_stop_no_preview(
    tmp_path: Path, managers: dict[str, dict[str, Any]], owner: str
) -> None:
    """What the stack has taken over already may get a field from anybody, as each of its objects may."""
    assert claimed(tmp_path, managers, owner=owner) is None


@pytest.mark.parametrize(("uid", "how"), [("another", "is another object now (UID another)"), ("", "isn't in Kubernetes")])
def test_another_object_than_the_one_that_was_seen_is_not_taken_over(tmp_path: Path, uid: str, how: str) -> None:
    said = taken_over(tmp_path, uid) or ""
    assert f"RestApi slurm in namespace slurm {how}" in said
    assert 'remove "RestApi slurm" from adopted.objects' in said


def test_a_stack_that_takes_over_nothing_asks_nothing() -> None:
    assert ownership.adopted(form("all-in-kubernetes")) is None


def ask(raised: Exception, *, preview: bool) -> str | None:
    def question(_kube: KubeClient) -> str | None:
        raise raised

    return ownership.refusal(
        form("all-in-kubernetes"), question, {"KUBECONFIG": str(NOWHERE)}, Path("/nowhere"), preview=preview
    )


NOWHERE = Path(__file__).resolve().parents[1] / "kubeconfig-nowhere.yaml"


def test_what_is_not_there_may_be_made() -> None:
    assert ask(KubeNotFound("x"), preview=False) is None


@pytest.mark.parametrize("error", [KubeUnreachable("no answer"), KubeForbidden("may not")])
def test_an_update_that_cannot_ask_makes_nothing_and_a_preview_goes_on(error: Exception) -> None:
    assert str(error) in (ask(error, preview=False) or "")
    assert ask(error, preview=True) is None


@pytest.mark.parametrize("stack", [*STACKS, MUNGE])
def test_all_that_could_be_somebody_elses_is_looked_at_before_it_is_made(stack: str) -> None:
    recording = recorded(stack)
    looked = {hook.removeprefix("slinky-first-look-") for each in recording.resources for hook in each.hooks}
    wanted = {
        "core/v1:Namespace": "namespace",
        "v3:Release": "slurm-operator",
        "v1beta1:Controller": "controllers",
        "v1beta1:RestApi": "restapis",
        "v1beta1:Accounting": "accountings",
        "v1:CustomResourceDefinition": "service-monitor-stub",
    }
    for kind, hook in wanted.items():
        assert (hook in looked) is bool(recording.of(kind)), kind
    bare = [
        each.name
        for each in recording.resources
        if each.type.endswith(("core/v1:Namespace", "v3:Release", "v1:CustomResourceDefinition")) and not each.hooks
    ]
    assert bare == []


@pytest.mark.parametrize("stack", [*STACKS, MUNGE])
def test_pods_that_may_do_more_than_they_need_are_warned_of_and_none_is_refused(stack: str) -> None:
    (labels,) = [
        each.inputs["metadata"]["labels"]
        for each in recorded(stack).of("core/v1:Namespace")
        if each.inputs["metadata"]["name"] != "slinky"
    ]
    assert {key: value for key, value in labels.items() if key.startswith("pod-security")} == {
        "pod-security.kubernetes.io/warn": "restricted",
        "pod-security.kubernetes.io/audit": "restricted",
    }


@pytest.mark.parametrize("stack", STACKS)
def test_the_namespace_says_whose_it_is(stack: str) -> None:
    for namespace in recorded(stack).of("core/v1:Namespace"):
        assert namespace.inputs["metadata"]["annotations"] == {names.ANNOTATION_STACK: "test"}


@pytest.mark.parametrize(("text", "said"), [("incident 4711", "incident 4711"), ("", "no text"), (None, None)])
def test_a_nodeset_that_is_frozen_is_not_changed(text: str | None, said: str | None) -> None:
    class Kube(KubeClient):
        def __init__(self) -> None:
            self.asked: list[tuple[str, str]] = []

        def nodeset(self, namespace: str, name: str) -> NodeSet:
            self.asked.append((namespace, name))
            live = nodeset(2)
            noted = live.metadata.annotations | ({} if text is None else {names.ANNOTATION_FREEZE: text})
            return replace(live, metadata=replace(live.metadata, annotations=noted))

    kube = Kube()
    found = ownership.frozen(form("all-in-kubernetes"), "slurm-worker-gpu")(kube)
    assert kube.asked == [("slurm", "slurm-worker-gpu")]
    assert (found is None) == (said is None)
    assert found is None or f"frozen by its annotation {names.ANNOTATION_FREEZE} ({said})" in found


@pytest.mark.parametrize(
    ("replicas", "labels", "refused"),
    [(3, OURS, True), (0, OURS, False), (3, {}, False), (3, OURS | {names.LABEL_CLUSTER: "other"}, False)],
)
def test_a_nodeset_that_is_newer_than_the_state_is_refused_once_its_gate_has_scaled_it(
    replicas: int, labels: dict[str, str], refused: bool
) -> None:
    """The command in its place is tried on the engine: tests/integration/test_older_state.py."""

    class Kube(KubeClient):
        def __init__(self) -> None:
            pass

        def nodeset(self, namespace: str, name: str) -> NodeSet:
            assert (namespace, name) == ("slurm", "slurm-worker-gpu")
            live = nodeset(replicas)
            return replace(live, metadata=replace(live.metadata, labels=labels))

    found = ownership.newer(form("all-in-kubernetes"), "slurm-worker-gpu")(Kube())
    assert (found is not None) is refused
    same = ownership.newer(form("all-in-kubernetes"), "slurm-worker-gpu", replaces="StatefulSet")(Kube())
    assert same == found
    other = ownership.newer(form("all-in-kubernetes"), "slurm-worker-gpu", replaces="DaemonSet")(Kube())
    assert other is None, "a preview of another mode: its gate deletes it first"
    assert found is None or ("3 replicas" in found and found.endswith("run the command again:\n{}"))


def test_each_nodeset_is_looked_at_before_it_is_made_and_before_it_is_changed() -> None:
    made = recorded("all-in-kubernetes").of("v1beta1:NodeSet")
    assert made
    for each in made:
        name = each.inputs["metadata"]["name"]
        assert set(each.hooks) == {f"slinky-first-look-{name}", f"slinky-before-update-{name}"}
