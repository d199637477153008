"""The fence on a real API server, with a NodeSet in DaemonSet mode: which Kubernetes nodes fit, its gate alone writes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from slinky_iac import names
from slinky_iac.config.reading.load import load
from slinky_iac.kube.client import merge_patch
from slinky_iac.kube.objects import NodeSet, read
from slinky_iac.kube.selection import selection_of, written
from slinky_iac.parts.fence.policies import policies
from slinky_iac.selection import Selection
from tests.integration import test_fence_pods as pods
from tests.integration.kube_api import KubeApi, served
from tests.integration.test_fence_ways import definitions, make, patched, refused, run, stands
from tests.stacks import minimal

EACH, NEW, NUMBER = "slurm-worker-each", "slurm-worker-new", "slurm-worker-gpu"
POOL = {"nodeSelector": {"pool": "gpu"}}
NODESETS = {"each": {"scalingMode": "DaemonSet"}, "new": {"scalingMode": "DaemonSet"}, "gpu": {"replicas": 3}}
SLURMD = {"slurmd": {"image": "slurmd:1"}, "updateStrategy": {"type": "OnDelete"}}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApi]:
    with served(tmp_path_factory.mktemp("api")) as made:
        definitions(made)
        made.kubectl("create", "namespace", "slurm")
        made.kubectl("create", "serviceaccount", "default", "-n", "slurm")
        mighty = [f"--user={user}" for user in (pods.OPERATOR, "a-person")]
        made.kubectl("create", "clusterrolebinding", "may-all", "--clusterrole=cluster-admin", *mighty)
        for policy in policies(load(minimal(nodesets=NODESETS, operator={"version": "1.2.1"}))):
            made.make_policy(policy)
        make(made, "NodeSet", EACH, "slurm", replicas=0, scalingMode="DaemonSet", template={"spec": POOL}, **SLURMD)
        make(made, "NodeSet", NEW, "slurm", replicas=0, template={"spec": {"hostname": "new-"}}, **SLURMD)
        make(made, "NodeSet", NUMBER, "slurm", replicas=3, template={"spec": POOL}, **SLURMD)
        stands(made, "delete", f"nodesets.{names.GROUP}", EACH, "-n", "slurm")
        yield made


def generation(api: KubeApi, name: str = EACH) -> int:
    found = json.loads(run(api, "get", f"nodesets.{names.GROUP}", name, "-n", "slurm", "-o", "json").stdout)
    return int(found["metadata"]["generation"])


def change(spec: object, permit: str = "") -> dict[str, object]:
    noted = {"metadata": {"annotations": {names.ANNOTATION_PERMIT: permit}}} if permit else {}
    return {"spec": spec, **noted}


OTHER_NODES = [
    {"nodeSelector": {"pool": "cpu"}},
    {"nodeSelector": {"site": "b"}},
    {"nodeSelector": None},
    {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}},
    {"tolerations": [{"operator": "Exists"}]},
]


@pytest.mark.parametrize("fields", OTHER_NODES, ids=json.dumps)
def test_which_nodes_fit_is_written_with_a_permission_of_this_generation_alone(api: KubeApi, fields: object) -> None:
    spec, now = {"template": {"spec": fields}}, generation(api)
    done = patched(api, "nodesets", EACH, change(spec))
    assert refused(done), done.stdout + done.stderr
    assert "would remove the pods of Kubernetes nodes that no longer fit" in done.stderr
    for wrong in (names.permit_to_select(now - 1), names.permit_to_delete(now), names.permit_to_scale(0, now)):
        assert refused(patched(api, "nodesets", EACH, change(spec, wrong)))
    assert patched(api, "nodesets", EACH, change(spec, names.permit_to_select(now))).returncode == 0


def test_other_fields_of_its_template_are_the_stacks(api: KubeApi) -> None:
    spec = {"slurmd": {"image": "slurmd:2"}, "template": {"spec": {"hostname": "x", "priorityClassName": "high"}}}
    assert patched(api, "nodesets", EACH, change(spec)).returncode == 0
    assert patched(api, "nodesets", EACH, change({"template": {"spec": POOL}})).returncode == 0


def test_a_nodeset_with_a_number_may_get_another_selector(api: KubeApi) -> None:
    """No pod of it goes for that."""
    assert (
        patched(api, "nodesets", NUMBER, change({"template": {"spec": {"nodeSelector": {"pool": "cpu"}}}})).returncode == 0
    )


def test_the_mode_is_written_once_by_the_gate_of_a_nodeset_without_a_pod(api: KubeApi) -> None:
    spec = {"scalingMode": "DaemonSet", "template": {"spec": POOL}}
    assert refused(patched(api, "nodesets", NEW, change(spec)))
    assert patched(api, "nodesets", NEW, change(spec, names.permit_to_select(generation(api, NEW)))).returncode == 0
    permit = names.permit_to_select(generation(api, NUMBER))
    assert refused(patched(api, "nodesets", NUMBER, change(spec, permit))), "its three pods would go"
    back = change({"scalingMode": "StatefulSet"}, names.permit_to_select(generation(api)))
    assert refused(patched(api, "nodesets", EACH, back)), "all its pods would go"


def test_what_the_gate_writes_is_let_through_and_is_what_was_asked_for(api: KubeApi) -> None:
    """Through the API server, a second writing has nothing left to write."""

    def live(name: str) -> NodeSet:
        said = run(api, "get", f"nodesets.{names.GROUP}", name, "-n", "slurm", "-o", "json").stdout
        return read(said.encode(), NodeSet, name)

    term = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["gpu"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    for wanted in (
        Selection({"a": "b"}, {"nodeAffinity": required}, ({"key": "gpu", "tolerationSeconds": 300},)),
        Selection({}, {}, ()),
        Selection({"pool": "gpu"}, {}, ()),
    ):
        state = live(NEW)
        spec = {"scalingMode": "DaemonSet", "template": {"spec": merge_patch(written(state).fields, wanted.fields)}}
        body = json.dumps(change(spec, names.permit_to_select(state.metadata.generation)))
        done = run(api, "patch", f"nodesets.{names.GROUP}", NEW, "-n", "slurm", "--type=merge", "-p", body)
        assert done.returncode == 0, done.stderr
        assert selection_of(live(NEW)) == wanted


# -- its pods ------------------------------------------------------------------------------------------------------------
LABELS = {names.LABEL_NAME: "slurmd", names.LABEL_SCALING_MODE: "DaemonSet"}


def worker(api: KubeApi, name: str, states: tuple[str, ...]) -> None:
    pods.pod(api, name, states, owner=EACH, labels=LABELS)


@pytest.fixture
def seen(api: KubeApi) -> Iterator[None]:
    """The operator has seen the newest NodeSet."""
    pods.synced(api, EACH)
    yield
    for name in ("each-a", "each-d", "each-e"):
        body = {"metadata": {"annotations": {names.ANNOTATION_PERMIT: names.PERMIT_DELETE}}}
        if pods.call(api, "PATCH", f"{pods.PODS}/{name}", body, kind="merge-patch+json")[0] < 300:
            pods.done(pods.call(api, "DELETE", f"{pods.PODS}/{name}?gracePeriodSeconds=0"))


@pytest.mark.usefixtures("seen")
def test_a_pod_of_it_is_guarded_against_a_person_and_the_operator(api: KubeApi) -> None:
    worker(api, "each-a", ("Allocated",))
    assert "was to be deleted" in pods.delete(api, "each-a", "a-person")
    assert pods.REFUSED in pods.delete(api, "each-a")
    worker(api, "each-b", ("Idle", "Drain"))
    assert pods.let_through(api, "each-b")


@pytest.mark.usefixtures("seen")
def test_a_report_of_before_the_selection_was_written_lets_a_pod_go_only_for_its_gate(api: KubeApi) -> None:
    now = generation(api)
    worker(api, "each-c", ("Idle", "Drain"))
    worker(api, "each-d", ("Allocated",))
    body = change({"template": {"spec": {"nodeSelector": {"n": str(time.time_ns())}}}}, names.permit_to_select(now))
    pods.merge(api, f"{pods.SETS}/{EACH}", body)
    assert pods.let_through(api, "each-c")
    assert pods.REFUSED in pods.delete(api, "each-d")
    worker(api, "each-e", ("Idle", "Drain"))
    pods.merge(api, f"{pods.SETS}/{EACH}", change({"slurmd": {"image": "slurmd:3"}}))
    assert pods.stays(api, "each-e"), "somebody has written the NodeSet since"
