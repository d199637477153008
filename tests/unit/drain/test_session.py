"""What the hands of a gate say of an act that Slurm refuses."""

from contextlib import ExitStack

import httpx
import jwt
import msgspec
import pytest

from slinky_iac.cluster.reach import Reach
from slinky_iac.drain.lease import ThisRun
from slinky_iac.drain.protocol import Cancel, DeletePods, Drain, Replaced, Requeue, Resume, SetReason, Signal, Undrain
from slinky_iac.drain.session import RECENT_S, Session, act_on_slurm
from slinky_iac.errors import DrainBlocked, SlurmrestRefused, SlurmrestUnreachable
from slinky_iac.kube.wire import Clock
from slinky_iac.slurmrest.controller import JobActionResult
from tests.made.rows import job, node
from tests.unit.drain.made import OWNER, nodeset, pod
from tests.unit.drain.model_session import settings
from tests.unit.slurmrest.fake import FakeSlurm, answer, error

WORDS = (
    JobActionResult("1", 0, ""),
    JobActionResult("2", 2021, "done"),
    JobActionResult("3_1", 2132, "Only batch jobs are accepted"),
)


class Slurm:
    """A slurmrestd with one answer."""

    def requeue_jobs(self, *_jobs):
        return WORDS

    cancel_jobs = requeue_jobs


class Told(Session):
    """A session with that slurmrestd."""

    slurm = Slurm()


@pytest.mark.parametrize(
    ("step", "what"),
    [(Requeue((1, 2, "3_1")), "requeued"), (Cancel((1,)), "cancelled"), (Signal((1,), "SIGTERM"), "signalled")],
)
def test_a_job_that_slurm_refuses_to_touch_is_told_once_and_stays_on_the_screen(step, what):
    said = []
    reach = Reach("slurm", "hpc-restapi", "jwt", "jwt.key")
    with ExitStack() as stack:
        session = Told(reach, lambda text, **how: said.append((text, how)), stack, budget_s=1, clock=Clock())
        session.act(step, settings(1).owner)
        session.act(step, settings(1).owner)
    kept = {"severity": "warning", "keep": True}
    assert said == [(f"job 3_1 was not {what}: Only batch jobs are accepted", kept)]


class OneNodeSet:
    """A Kubernetes with one NodeSet and nothing else."""

    def __init__(self, **annotations):
        self.annotations = {f"slinky-iac/{name}": text for name, text in annotations.items()}

    def nodeset(self, _namespace, _name):
        return nodeset(3, annotations=dict(self.annotations))

    def annotate_nodeset(self, _namespace, _state, annotations):
        self.annotations |= annotations

    def pods_of(self, *_):
        return ()

    listed = pods_of

    def deployment_available(self, *_):
        return 0

    def asked(self, _path, kind, _what, **_):
        return msgspec.convert({"metadata": {"name": "hpc", "uid": "1"}}, kind)


class Run(Session):
    """A session there, without Slurm."""

    @property
    def slurm(self):
        raise SlurmrestUnreachable("asleep")


def runs(stack, kube, number):
    reach = Reach("slurm", "hpc-restapi", "jwt", "jwt.key")
    for _ in range(number):
        session = Run(reach, print, stack, budget_s=1, clock=Clock(), this_run=ThisRun())
        session.kube = kube
        yield session


def test_a_run_ends_when_a_later_one_has_begun():
    """`pulumi cancel` takes the lock away and ends no run: the earlier one drained again what the later one gave back."""
    with ExitStack() as stack:
        earlier, later, looks = runs(stack, OneNodeSet(), 3)
        for session in (earlier, later, earlier):
            session.begin("slurm-worker-gpu")
        later.observe(settings(1))
        looks.observe(settings(1))
        with pytest.raises(DrainBlocked, match="began after this run"):
            earlier.observe(settings(1))


def test_a_run_writes_nothing_on_a_frozen_nodeset():
    kube = OneNodeSet(freeze="an audit")
    with ExitStack() as stack:
        (session,) = runs(stack, kube, 1)
        session.begin("slurm-worker-gpu")
        session.observe(settings(1))
    assert kube.annotations == {"slinky-iac/freeze": "an audit"}


class Opened(Session):
    """A session with a key that needs no Kubernetes, whose user was found to be an administrator."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self._is_admin = True

    def signing_keys(self):
        return [b"k" * 32]


def test_both_clients_of_a_gate_sign_for_the_user_that_its_state_names():
    reach = Reach("slurm", "hpc-restapi", "jwt", "jwt.key", url="http://127.0.0.1:9", user="drainer")
    with ExitStack() as stack:
        session = Opened(reach, print, stack, budget_s=1, clock=Clock())
        other = stack.enter_context(session.slurm_with([b"k" * 32]))
        for client in (session.slurm, other):
            request = httpx.Request("GET", "http://127.0.0.1:9")
            signed = next(client._sender.client.auth.sync_auth_flow(request))
            token = signed.headers["X-SLURM-USER-TOKEN"]
            assert jwt.decode(token, b"k" * 32, algorithms=["HS256"])["sun"] == "drainer"


@pytest.mark.parametrize(("age", "lists"), [(0, 0), (60, 1)])
def test_a_drain_rests_on_the_gates_own_list_of_nodes_while_that_is_young(age, lists):
    """Another list costs eight times as much as the drain; an old one would overwrite what a person has set since."""
    slurm = FakeSlurm().add(node("gpu-0"), node("gpu-1", "IDLE", "DRAIN", reason="fan"))
    with slurm.client() as client:
        seen = client.nodes()
        before = len(slurm.asked_for("GET", "nodes/"))
        recent = seen if age <= RECENT_S else None
        act_on_slurm(client, Drain(("gpu-0", "gpu-1"), OWNER.reason("x"), None), OWNER, print, recent)
    assert len(slurm.asked_for("GET", "nodes/")) - before == lists
    assert (slurm.nodes["gpu-0"]["reason"], slurm.nodes["gpu-1"]["reason"]) == (OWNER.reason("x"), "fan")


@pytest.mark.parametrize("step", [Undrain(("gpu-0",)), Resume(("gpu-0",)), SetReason(("gpu-0",), "x")])
def test_what_lifts_a_drain_lists_the_nodes_again_always(step):
    """A person may have taken the node since the gate looked."""
    slurm = FakeSlurm().add(node("gpu-0", "IDLE", "DRAIN", reason=OWNER.reason("x")))
    with slurm.client() as client:
        seen = client.nodes()
        slurm.nodes["gpu-0"]["reason"] = "fan"
        act_on_slurm(client, step, OWNER, print, seen)
    assert slurm.nodes["gpu-0"]["reason"] == "fan"
    assert "DRAIN" in slurm.nodes["gpu-0"]["state"]


class Cluster:
    """A Kubernetes that notes which pods are deleted, each with the records that Slurm has then."""

    def __init__(self, slurm):
        self.slurm = slurm
        self.deleted = []

    def delete_worker(self, _namespace, pod):
        self.deleted.append((pod.name, sorted(self.slurm.nodes)))


class Replacing(Session):
    """A session there that has seen one pod."""

    slurm = None

    def __init__(self, slurm, kube, stack):
        super().__init__(Reach("slurm", "hpc-restapi", "jwt", "jwt.key"), print, stack, budget_s=1, clock=Clock())
        self.slurm, self.kube, self._pods = slurm, kube, {"hpc-worker-gpu-0": pod(0)}


@pytest.mark.parametrize(("record", "left"), [("gpu-0", ["gpu-1"]), ("", ["gpu-0", "gpu-1"])])
def test_slurms_record_is_gone_when_its_pod_is_deleted(record, left):
    """slurmctld takes a new pod's features only where no record is there."""
    slurm = FakeSlurm().add(node("gpu-0", "IDLE", "DRAIN"), node("gpu-1"))
    kube = Cluster(slurm)
    with slurm.client() as client, ExitStack() as stack:
        Replacing(client, kube, stack).act(DeletePods((Replaced("hpc-worker-gpu-0", record),)), OWNER)
    assert kube.deleted == [("hpc-worker-gpu-0", left)]


def test_no_pod_is_deleted_whose_record_slurm_keeps():
    """A job has come since the look: slurmctld says so, and the pod stays."""
    slurm = FakeSlurm().add(node("gpu-0"))
    kube = Cluster(slurm)
    with slurm.client() as client, ExitStack() as stack:
        client.nodes()
        serve, refused = slurm.serve, lambda: answer(422, [error(2016)])
        slurm.serve = lambda sent, rest, body: refused() if sent.method == "DELETE" else serve(sent, rest, body)
        session = Replacing(client, kube, stack)
        with pytest.raises(SlurmrestRefused):
            session.act(DeletePods((Replaced("hpc-worker-gpu-0", "gpu-0"),)), OWNER)
    assert len(slurm.asked_for("DELETE", "node/gpu-0")) == 1
    assert kube.deleted == []


@pytest.mark.parametrize("state", ["PENDING", "COMPLETED"])
def test_a_rollout_keeps_the_record_that_a_job_in_the_queue_names(state):
    """slurmctld's next start would end it for want of the record; the pod is replaced all the same."""
    said = []
    slurm = FakeSlurm().add(node("gpu-0"), job(7, state, required_nodes="gpu-[0-1]"))
    kube = Cluster(slurm)
    with slurm.client() as client, ExitStack() as stack:
        client.nodes()
        session = Replacing(client, kube, stack)
        session.report = lambda text, **_more: said.append(text)
        session.act(DeletePods((Replaced("hpc-worker-gpu-0", "gpu-0"),)), OWNER)
    assert [text.partition(",")[0] for text in said] == ["Slurm's record of gpu-0 stays"] * (state == "PENDING")
    assert len(slurm.asked_for("DELETE", "node/gpu-0")) == (state == "COMPLETED")
    assert [name for name, _ in kube.deleted] == ["hpc-worker-gpu-0"]
