"""`slinky qualify`: it doesn't begin where it must not, makes and removes its own alone, and counts what it reports."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import httpx
import pytest

from lab import kwok
from slinky_iac.cluster.connection import Connection
from slinky_iac.cluster_access import reach
from slinky_iac.commands.qualify import fleet, settings
from slinky_iac.commands.qualify.cli import _sizes, _values
from slinky_iac.commands.qualify.cluster import Nodes
from slinky_iac.commands.qualify.folder import Mark
from slinky_iac.commands.qualify.ladder import JOB, NUDGE_S, OPERATORS_BATCH, Ladder, lost
from slinky_iac.commands.qualify.model import ALONE, GATE, Rung, Step, growth, rows
from slinky_iac.commands.qualify.project import FOLDER, Project
from slinky_iac.errors import ProjectError, QualifyRefused
from slinky_iac.kube import tally
from slinky_iac.kube.connection import KubeTransport
from slinky_iac.kube.fake_nodes import ANNOTATION, SELECTOR, FakeNodesClient, Served, between, served
from slinky_iac.kube.pods import AddressedPod
from slinky_iac.kube.wire import Clock, Retry
from tests.made.jobs import job
from tests.made.kubernetes import kube_access
from tests.made.nodes import node
from tests.made.pods import pod
from tests.made.wire import read as made_read
from tests.unit.slurmrest.fake import FakeSlurm

Json = dict[str, Any]
CLEAN = "`slinky qualify --clean --config Pulumi.prod.yaml`"
ACCESS = kube_access(token="a-secret-bearer-token")
BASE: Json = {
    "cluster": {"name": "prod", "namespace": "slurm", "images": {"slurmd": "site/slurmd:1"}, "resourceName": "prod"},
    "operator": {"version": "1.2.1"},
    "controller": {"external": {"host": "ctl"}},
    "nodesets": {"gpu": {"replicas": 500}},
    "logins": {"main": {}},
}


class Cluster:
    """An API server's nodes, Controllers and namespaces, and what was written."""

    def __init__(self, *, kwok: bool = True) -> None:
        self.kwok = kwok
        self.nodes: dict[str, Json] = {"real-1": {"metadata": {"name": "real-1", "uid": "u-1"}, "status": READY}}
        self.controllers: list[tuple[str, str]] | None = None
        self.namespaces: set[str] = set()
        self.refuse = 0
        """A status for every POST."""
        self.ending = False
        """Whether namespaces are being deleted."""
        self.every: httpx.Response | None = None
        """The answer to all."""
        self.no: tuple[str, str, int] | None = None
        """A method, what the path ends with, and the status that it gets."""
        self.deleted: list[str] = []
        self.now = 0.0

    def handle(self, request: httpx.Request) -> httpx.Response:
        path, method = request.url.path, request.method
        if self.every is not None:
            return self.every
        if self.no is not None and method == self.no[0] and path.endswith(self.no[1]):
            return missing(self.no[2])
        return self.read_one(request, path) if method == "GET" else self.write(request, method, path)

    def read_one(self, request: httpx.Request, path: str) -> httpx.Response:
        if path.endswith("/controllers") and self.controllers is not None:
            items = [{"metadata": meta(name) | {"namespace": space}, "spec": {}} for space, name in self.controllers]
            return httpx.Response(200, json={"items": items})
        if path.startswith("/api/v1/namespaces/") and path.rpartition("/")[2] in self.namespaces:
            ending = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if self.ending else {}
            return httpx.Response(200, json={"metadata": {"name": path.rpartition("/")[2], "uid": "u", **ending}})
        if path == "/api/v1/nodes":
            wanted = dict(part.split("=") for part in request.url.params.get("labelSelector", "").split(",") if part)
            found = [each for each in self.nodes.values() if wanted.items() <= each["metadata"].get("labels", {}).items()]
            return httpx.Response(200, json={"items": found})
        return missing(404)

    def write(self, request: httpx.Request, method: str, path: str) -> httpx.Response:
        if method == "POST":
            if self.refuse:
                return missing(self.refuse)
            made = json.loads(request.content)
            made["metadata"]["uid"] = f"u-{made['metadata']['name']}"
            self.nodes[made["metadata"]["name"]] = made | ({"status": READY} if self.kwok else {})
            return httpx.Response(201, json=made)
        name = path.rpartition("/")[2]
        assert json.loads(request.content)["preconditions"]["uid"] == self.nodes.pop(name)["metadata"]["uid"]
        self.deleted.append(name)
        return httpx.Response(200, json={})

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def read(self) -> float:
        return self.now

    def fleet(self, ladder: str = "one") -> Nodes:
        clock = Clock(sleep=self.sleep, monotonic=self.read)
        transport = KubeTransport(ACCESS, clock=clock, connect=lambda tls: httpx.MockTransport(self.handle))
        kube = FakeNodesClient(ACCESS, clock=clock, retry=Retry(tries=1), transport=transport)
        return Nodes(kube, ladder, sleep=self.sleep, now=self.read)


def missing(code: int) -> httpx.Response:
    return httpx.Response(code, json={"kind": "Status", "message": "no", "code": code})


READY: Json = {"conditions": [{"type": "Ready", "status": "True"}]}


def meta(name: str) -> Json:
    return {"name": name, "uid": f"u-{name}", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}


# -- where it doesn't begin -----------------------------------------------------------------------------------------------


def test_a_cluster_with_a_slurm_in_it_is_refused_unless_told() -> None:
    cluster = Cluster()
    cluster.controllers = [("slurm", "prod")]
    with pytest.raises(QualifyRefused, match=r"Controller slurm/prod.* Nothing was made.*--beside-slurm"):
        cluster.fleet().check(beside_slurm=False, folder="", clean=CLEAN)
    assert cluster.fleet().check(beside_slurm=True, folder="", clean=CLEAN), "the operator is there"


def test_the_operators_absence_is_seen() -> None:
    assert not Cluster().fleet().check(beside_slurm=False, folder="", clean=CLEAN)


def test_a_cluster_without_a_real_node_is_too_small() -> None:
    cluster = Cluster()
    taint = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    cluster.nodes["real-1"]["spec"] = {"taints": [taint]}
    with pytest.raises(QualifyRefused, match=r"this cluster has no ready node.*Add one node"):
        cluster.fleet().check(beside_slurm=False, folder="", clean=CLEAN)


def test_what_an_earlier_ladder_left_is_named_with_the_command_that_removes_it() -> None:
    cluster = Cluster()
    cluster.fleet().make(3)
    with pytest.raises(
        QualifyRefused, match=r"folder x, 3 Kubernetes nodes with label .*Run `slinky qualify --clean --conf"
    ):
        cluster.fleet().check(beside_slurm=False, folder="folder x", clean=CLEAN)


def test_a_namespace_of_the_ladders_name_that_it_did_not_make_is_refused() -> None:
    cluster = Cluster()
    cluster.namespaces = {settings.NAMESPACE}
    with pytest.raises(QualifyRefused, match=r"namespace slinky-qualify is there"):
        cluster.fleet().check(beside_slurm=False, folder="", clean=CLEAN)


def test_without_kwok_the_ladder_stops_and_says_how_to_get_it() -> None:
    cluster = Cluster(kwok=False)
    nodes = cluster.fleet()
    with pytest.raises(QualifyRefused, match=r"no kwok answers: none of 3 .*Install kwok \(https"):
        nodes.make(3)
    nodes.remove()
    assert set(cluster.nodes) == {"real-1"}


def test_a_folder_without_a_project_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    project = Project(tmp_path)
    with pytest.raises(ProjectError, match=r"has no Pulumi\.yaml.*slinky new DIR"):
        project.make(Mark("one"))
    assert not project.exists
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["", "36,x", "1", "0", "-4", "144,36", "36,36", "20000", "3_6", "٣٦", "36,,144", "9" * 9999]
)
def test_sizes_that_are_no_ladder_are_refused(text: str) -> None:
    with pytest.raises(Exception, match="sizes are whole numbers from 2 to") as refused:
        _sizes(text)
    assert len(str(refused.value)) < 200


# -- what it makes --------------------------------------------------------------------------------------------------------


def test_fake_nodes_keep_other_pods_away_and_only_they_are_removed() -> None:
    cluster = Cluster()
    nodes = cluster.fleet()
    nodes.make(2)
    nodes.make(4)
    (one,) = (each for name, each in cluster.nodes.items() if name == "slinky-qualify-3")
    assert one["metadata"]["annotations"] == {ANNOTATION: "fake", settings.BY: "one"}
    assert one["spec"]["taints"] == [{"key": ANNOTATION, "value": "fake", "effect": "NoSchedule"}]
    assert nodes.remove() == 4
    assert cluster.deleted == list(settings.node_names(4))
    assert set(cluster.nodes) == {"real-1"}


def test_a_rungs_stack_is_a_cluster_of_its_own_and_sound() -> None:
    found = settings.settings(BASE, 144, operator_there=True, context="other")
    config = _values(found).config
    assert (config.cluster.name, config.cluster.namespace, config.cluster.max_node_count) == (
        "qualify",
        "slinky-qualify",
        208,
    )
    assert found["operator"] == {"version": "1.2.1", "install": False}
    assert found["kubernetes"] == {"context": "other"}
    assert set(config.nodesets) == {"fake"}, "the site's own stay out"
    assert "logins" not in found
    assert config.nodesets["fake"].replicas == 144
    assert reach(config).restapi_service == "qualify-restapi"


def test_without_an_operator_the_rung_brings_its_own_and_takes_its_crds_along() -> None:
    found = settings.settings(BASE, 4, operator_there=False, context=None)
    assert found["operator"] == {"version": "1.2.1", "install": True, "installCrds": True, "protectCrds": False}
    assert "kubernetes" not in found


def test_only_the_operators_own_scale_in_has_no_fence() -> None:
    found = settings.settings(BASE, 4, operator_there=False, context=None)
    assert "fence" not in found["cluster"]  # type: ignore[operator]
    assert settings.unguarded(found)["cluster"]["fence"] is False  # type: ignore[index]
    assert settings.with_replicas(found, 2)["nodesets"]["fake"]["replicas"] == 2  # type: ignore[index]


# -- Slurm's nodes --------------------------------------------------------------------------------------------------------


def addressed(name: str, **more: Any) -> AddressedPod:
    found = pod(name, slurm_node=name, **more)
    return made_read(
        AddressedPod,
        {
            "metadata": meta(name) | ({"deletionTimestamp": "2026-01-01T00:00:00Z"} if found.terminating else {}),
            "spec": {"hostname": name, "nodeName": "n"},
            "status": {"phase": found.status.phase, "podIP": "10.0.0.7"},
        },
    )


def conditioned(name: str, **conditions: str) -> AddressedPod:
    said = [
        {"type": kind, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"} for kind, status in conditions.items()
    ]
    return made_read(
        AddressedPod,
        {"metadata": meta(name), "spec": {"nodeName": "n"}, "status": {"phase": "Running", "conditions": said}},
    )


def test_records_come_with_running_pods_and_go_when_these_are_gone() -> None:
    pods = [
        addressed("fake-0"),
        addressed("fake-1"),
        addressed("fake-2", phase="Pending"),
        addressed("fake-3", terminating=True),
    ]
    records = {
        "fake-1": node("fake-1"),
        "fake-8": node("fake-8"),
        "fake-9": node("fake-9", alloc_cpus=1),
    }
    assert fleet.missing(pods, records) == {"fake-0": "10.0.0.7"}
    assert fleet.ended(pods, records, {}) == ("fake-8",), "a node with a job on it stays"
    uid = pods[1].metadata.uid
    assert fleet.ended(pods, records, {"fake-1": uid}) == ("fake-8",)
    assert fleet.ended(pods, records, {"fake-1": "another"}) == ("fake-1", "fake-8"), (
        "a pod of that name has come in its place"
    )


def test_only_a_running_pod_without_a_word_on_its_readiness_gets_it_back() -> None:
    """Readiness that is false has been written by somebody who looked."""
    pods = [
        addressed("silent"),
        addressed("starting", phase="Pending"),
        addressed("leaving", terminating=True),
        conditioned("unready", Ready="False"),
        conditioned("sound", Ready="True", SlurmNodeStateIdle="True"),
        conditioned("overwritten", PodScheduled="True", SlurmNodeStateIdle="True"),
    ]
    assert [each.name for each in fleet.overwritten(pods)] == ["silent", "overwritten"]


def test_only_external_nodes_with_the_ladders_feature_are_the_ladders() -> None:
    own = node("fake-0", "IDLE+EXTERNAL+DYNAMIC_NORM", active_features=["fake"])
    others = [
        node("fake-1", active_features=["fake"]),
        node("x", "IDLE+EXTERNAL", active_features=["gpu"]),
    ]
    assert fleet.of_ladder([own, *others]) == {"fake-0": own}


def test_external_nodes_and_jobs_are_asked_for_as_slurmctld_wants_them() -> None:
    slurm = FakeSlurm()
    with slurm.client() as client, pytest.raises(Exception, match="create 2 nodes"):
        client.create_external({"fake-0": "10.0.0.7", "fake-1": "10.0.0.8"}, "fake")
    ((_, _, body),) = [each for each in slurm.asked if each[1].endswith("new/node/")]
    text = "NodeName=fake-0,fake-1 NodeAddr=10.0.0.7,10.0.0.8 State=EXTERNAL CPUs=1 RealMemory=1000 Features=fake"
    assert body == {"node_conf": text}
    with slurm.client() as client, pytest.raises(ValueError, match="isn't a single node name"):
        client.create_external({"fake-0 State=DOWN": "10.0.0.7"}, "fake")


class Batches:
    """slurmctld and an operator that drains no more nodes before the jobs of the last ones have ended."""

    def __init__(self, nodes: int, batch: int) -> None:
        self.left, self.batch = [f"fake-{number}" for number in range(nodes)], batch
        self.ended: list[int] = []

    def nodes(self, *, allow_none: bool) -> Any:
        assert allow_none
        drained = set(self.left[: self.batch])
        return SimpleNamespace(
            nodes=[
                node(name, f"IDLE+EXTERNAL{'+DRAIN' * (name in drained)}", active_features=["fake"]) for name in self.left
            ]
        )

    def jobs(self) -> Any:
        return SimpleNamespace(jobs=[job(int(name[5:]) + 1, nodes=name, name=JOB) for name in self.left])

    def cancel_jobs(self, ids: list[int]) -> None:
        self.ended += ids
        self.left = [name for name in self.left if int(name[5:]) + 1 not in ids]


def test_an_operator_that_drains_in_batches_gets_the_end_of_their_jobs() -> None:
    slurm = Batches(OPERATORS_BATCH + 38, OPERATORS_BATCH)
    waits: list[float] = []
    ladder = Ladder(Mock(), Mock(), Mock(), print, now=lambda: float(sum(waits)), sleep=waits.append)
    ladder._jobs = set(range(1, OPERATORS_BATCH + 39))
    midway = Mock()
    ended = ladder._end_jobs_of_drained(
        ALONE, 576, cast("Connection", SimpleNamespace(slurm=slurm)), OPERATORS_BATCH + 38, None,
        at_once=OPERATORS_BATCH, midway=midway,
    )  # fmt: skip
    assert len(slurm.ended) == OPERATORS_BATCH + 38
    assert ended.lost == 0
    assert waits == [], "it waits for no more than the operator drains"
    midway.assert_called_once_with()


class Restless:
    """slurmctld: node by node is drained; some jobs ended or began again before anyone ended them."""

    def __init__(self, ended: set[int], again: set[int]) -> None:
        self.gone, self.again, self.left = ended, again, [1, 2, 3, 4]

    def nodes(self, *, allow_none: bool) -> Any:
        assert allow_none
        states = {each: f"IDLE+EXTERNAL{'+DRAIN' * (each == min(self.left))}" for each in self.left}
        return SimpleNamespace(
            nodes=[node(f"fake-{each}", state, active_features=["fake"]) for each, state in states.items()]
        )

    def jobs(self) -> Any:
        state = {each: "COMPLETED" if each in self.gone else "RUNNING" for each in range(1, 5)}
        return SimpleNamespace(
            jobs=[
                job(each, nodes=f"fake-{each}", state=state[each], name=JOB, restart_cnt=int(each in self.again))
                for each in range(1, 5)
            ]
        )

    def cancel_jobs(self, ids: list[int]) -> None:
        assert not self.gone.intersection(ids)
        self.gone |= set(ids)
        self.left.remove(min(self.left))


def test_a_lost_job_counts_once_and_one_that_began_again_is_ended_too() -> None:
    """The gate of a rollout looks at the jobs once a batch: the same loss is no loss of each of them."""
    slurm = Restless(ended={3}, again={2})
    ladder = Ladder(Mock(), Mock(), Mock(), print, now=lambda: 0.0, sleep=Mock())
    ladder._jobs = {1, 2, 3, 4}
    connection = cast("Connection", SimpleNamespace(slurm=slurm))
    ended = ladder._end_jobs_of_drained(GATE, 4, connection, 4, None, at_once=1)
    assert ended.lost == 2
    assert slurm.gone == {1, 2, 3, 4}
    assert ladder.account(slurm.jobs().jobs) == 0, "and not in the next step again, which another is to blame for"


def test_a_wait_for_what_cant_come_says_why() -> None:
    waits: list[float] = [0.0]
    ladder = Ladder(Mock(), Mock(), Mock(), print, now=lambda: sum(waits), sleep=waits.append)
    ladder._fleet = fleet.Fleet(Mock())
    ladder._fleet.trouble = "status of pod a: HTTP 403"
    with pytest.raises(QualifyRefused, match=r"there are not 4 nodes.*last look at pods and Slurm failed: status of pod a"):
        ladder._await("4 nodes", lambda: False)
    ladder._fleet.broken = True
    waits.clear()
    with pytest.raises(QualifyRefused, match="there are not 4 nodes, and the ladder stops here"):
        ladder._await("4 nodes", lambda: False)
    assert waits == []


def test_kwok_that_keeps_some_nodes_is_not_said_to_be_missing() -> None:
    cluster = Cluster()
    nodes = cluster.fleet()
    nodes.make(2)
    cluster.kwok = False
    with pytest.raises(QualifyRefused, match="kwok is too slow, or stopped: 2 of 3 Kubernetes nodes"):
        nodes.make(3)


# -- what it reports ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("age", "waited"), [(0.0, 65.0), (24.0, 41.0), (65.0, 0.0), (600.0, 0.0)])
def test_no_scale_in_is_measured_while_the_operators_client_reads_its_first_lists(age: float, waited: float) -> None:
    """A NodeSet's sync that begins 30 s to 60 s after the client was made ends at 60 s: a gate waits for it, and by then the
    operator alone, whose turn comes later, does not."""
    waits = [age]
    Ladder(Mock(), Mock(), Mock(), print, now=lambda: float(sum(waits)), sleep=waits.append).operator_reads(0.0)
    assert sum(waits) - age == waited


def test_a_job_that_ended_or_began_again_is_lost() -> None:
    jobs = [job(1), job(2, state="COMPLETED"), job(3, restart_cnt=1), job(9)]
    assert lost(jobs, {1}) == 0
    assert lost(jobs, {1, 2, 3, 4}) == 3


def test_each_request_is_one_line_without_anything_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "requests.log"
    monkeypatch.setenv(tally.FILE, str(file))
    cluster = Cluster()
    cluster.fleet().make(3)
    text = file.read_text()
    counted = tally.read(text.splitlines())
    assert counted.of(tally.KUBERNETES) == 4, "three POSTs and a list"
    assert counted.of(tally.SLURMRESTD) == counted.throttled == counted.gates_kib == 0, "no gate's process is here"
    assert "slinky-qualify" not in text
    assert "bearer" not in text


def test_the_tally_is_of_whole_lines() -> None:
    lines = ["gates kubernetes 200 5000", "gates slurmrestd 429 9000", "program kubernetes 0 99000", "gates kuber"]
    counted = tally.read(lines)
    assert (counted.of("kubernetes"), counted.of("slurmrestd")) == (2, 1)
    assert (counted.throttled, counted.gates_kib) == (1, 9000)


def test_the_api_servers_own_count_is_summed() -> None:
    rows = [
        "# TYPE x",
        "process_start_time_seconds 1.7e+09",
        'apiserver_request_total{code="200"} 12',
        'apiserver_request_total{code="201"} 3e+00',
        "other{} 9",
        "",
    ]
    text = "\n".join(rows).encode()
    assert served(text) == Served(15, 1.7e9)
    assert served(b"nothing here\n") is None
    assert served(b"process_start_time_seconds 1\n" + b'apiserver_request_total{code="200"} 1e999\n') is None
    assert served(b"process_start_time_seconds 1\n" + b'apiserver_request_total{code="200"} e+.\n') is None


def test_only_the_same_api_server_counts_on() -> None:
    """Behind one address there may be several, and each counts its own."""
    assert between(Served(15, 1.0), Served(40, 1.0)) == 25
    assert between(Served(15, 1.0), Served(40, 2.0)) is None
    assert between(Served(15, 1.0), Served(14, 1.0)) is None
    assert between(None, Served(14, 1.0)) is None


def test_the_table_has_the_operator_beside_the_gate_and_its_losses_are_its_own() -> None:
    small = Rung(36, (Step(GATE, 10.0, 3.0, 2.0, 40, 20, 300, 88.0, lost=0), Step(ALONE, 9.0, 4.0, 6.0, lost=2)))
    large = Rung(144, (Step(GATE, 40.0, 6.0, 8.0, 80, 40, 900, 92.0, lost=0), Step(ALONE, 18.0, 4.0, 6.0, lost=0)))
    head, first, second, *_ = rows([small, large])
    assert dict(zip(head, first, strict=True))["to slurmrestd"] == "20"
    assert second[1] == "operator alone"
    assert second[-1] == "2"
    assert small.lost == 0
    assert list(growth([small, large])) == [
        "growth of gate from 36 to 144 nodes, exponents: seconds 1.00, requests to Kubernetes 0.50,"
        " requests to slurmrestd 0.50, memory 0.03",
        "growth of operator alone from 36 to 144 nodes, exponents: seconds 0.50",
    ]
    assert list(growth([small])) == []


def test_settings_are_written_over_with_the_salt_kept(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.file.parent.mkdir(parents=True)
    project.file.write_text("encryptionsalt: v1:abc\nconfig: {}\n")
    project.write({"cluster": {"name": "qualify"}})
    assert project.file.read_text().splitlines() == [
        "encryptionsalt: v1:abc",
        'config: {"slinky-iac:cluster": {"name": "qualify"}}',
    ]
    assert project.folder.name == FOLDER


def test_the_labs_kwok_keeps_the_nodes_that_a_ladder_makes() -> None:
    assert kwok.ANNOTATION == SELECTOR


class Asleep:
    """Kubernetes with an operator that deletes a pod only when an annotation of one has changed."""

    def __init__(self) -> None:
        self.pods = [pod(name="a"), pod(name="b")]
        self.touched: list[str] = []

    def worker_pods(self, _namespace: str) -> Any:
        return tuple(self.pods)

    def annotate_pod(self, _namespace: str, which: Any, _annotations: Any) -> None:
        self.touched.append(which.name)
        self.pods.pop()


@pytest.mark.parametrize("alone", [True, False])
def test_an_operator_alone_that_has_stopped_is_made_to_look_again_and_no_gate_is_helped(alone: bool) -> None:
    kube, waits = Asleep(), [0.0]
    said: list[str] = []
    ladder = Ladder(Mock(), Mock(), Mock(), said.append, now=lambda: sum(waits), sleep=waits.append)
    connection = cast("Connection", SimpleNamespace(kube=kube, reach=SimpleNamespace(namespace="slurm")))
    ladder._alone = connection if alone else None
    if not alone:
        with pytest.raises(QualifyRefused, match="there are not one pod"):
            ladder._await("one pod", lambda: len(kube.pods) == 1)
        assert kube.touched == []
        return
    assert ladder._await("one pod", lambda: len(kube.pods) == 1)
    assert kube.touched == ["a"]
    assert len(said) == 1
    assert sum(waits) < 2 * NUDGE_S


def test_a_step_of_the_operator_alone_that_is_cut_off_leaves_no_touch_for_the_removal() -> None:
    """Its connection is closed by then: the removal ended in a traceback, with the ladder left in place."""
    kube, waits = Asleep(), [0.0]
    ladder = Ladder(Mock(), Mock(), Mock(), print, now=lambda: sum(waits), sleep=waits.append)
    connection = cast("Connection", SimpleNamespace(kube=kube, reach=SimpleNamespace(namespace="slurm")))
    with pytest.raises(KeyboardInterrupt), ladder._touching(connection):
        raise KeyboardInterrupt
    with pytest.raises(QualifyRefused, match="there are not one pod"):
        ladder._await("one pod", lambda: len(kube.pods) == 1)
    assert kube.touched == []
