"""What Kubernetes and slurmrestd say comes to the planner unchanged in meaning."""

from dataclasses import replace

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac import names
from slinky_iac.drain.observe import REST, REUSED_S, job_view, look, node_view, nodeset_view, pod_view, reservation_view
from slinky_iac.kube.models import NodeSetState, Pod, Ref
from slinky_iac.slurmrest.shared import SharedJobs
from tests.unit import builders
from tests.unit.drain.made import NOW
from tests.unit.drain.test_drive import settings
from tests.unit.slurmrest.fake import FakeSlurm, job, node

POD = Pod(
    name="hpc-worker-gpu-2",
    uid="u",
    node_name="k-1",
    hostname="gpu-2",
    host_network=False,
    phase="Running",
    ready=True,
    terminating=False,
    annotations={},
    index=2,
    slurm_states=frozenset({"IDLE", "DRAIN"}),
    slurm_reason="slinky-iac:dev/gpu: x",
    created=NOW - 100,
    ready_since=NOW - 50,
    resource_version="7",
    ready_changed=NOW - 50,
)
NODESET = NodeSetState(
    name="hpc-worker-gpu",
    uid="u",
    resource_version="1",
    generation=4,
    observed_generation=3,
    deleting=False,
    replicas_spec=3,
    replicas_status=3,
    updated=1,
    ready=3,
    available=3,
    hash="h",
    slurm_idle=3,
    slurm_allocated=0,
    slurm_down=0,
    slurm_drain=0,
    controller_ref=Ref("hpc"),
    update_strategy="RollingUpdate",
    scaling_mode="StatefulSet",
    selector="",
)
NODE = builders.node(
    "gpu-2", "IDLE+DRAIN", reason="bad DIMM", user="root", reason_changed_at=NOW - 9, alloc_cpus=1, resume_after=NOW + 9
)
TASK = {"array_job_id": 12, "array_task_id": 3}
JOB = builders.job(20, "gpu-[1-2]", start_time=NOW - 5, end_time=NOW + 5, **TASK)


def test_pod_is_named_by_its_slurm_node_and_carries_what_the_operator_saw():
    view = pod_view(POD)
    assert (view.name, view.ordinal, view.node) == ("hpc-worker-gpu-2", 2, "gpu-2")
    assert view.healthy
    assert view.operator_states == {"IDLE", "DRAIN"}
    assert view.operator_reason == "slinky-iac:dev/gpu: x"
    assert (view.deletion_cost, view.cost_text, view.deadline, view.cordon, view.gate) == (0, None, None, False, "")


def test_annotations_are_read_as_the_operator_reads_them():
    marked = replace(
        POD,
        annotations={
            names.ANNOTATION_DELETION_COST: "-5",
            names.ANNOTATION_POD_DEADLINE: "2027-01-15T08:00:00Z",
            names.ANNOTATION_POD_CORDON: "true",
            names.ANNOTATION_GATE: "tag",
        },
    )
    view = pod_view(marked)
    assert (view.deletion_cost, view.cost_text, view.deadline, view.cordon, view.gate) == (-5, "-5", NOW, True, "tag")


@pytest.mark.parametrize("text", ["", "soon", "2027-01-15", "2027-01-15T08:00:00", "999999-01-01T00:00:00Z"])
def test_deadline_that_cannot_be_read_is_none(text):
    assert pod_view(replace(POD, annotations={names.ANNOTATION_POD_DEADLINE: text})).deadline is None


def test_pod_that_became_unready_is_known_to_have_been_so_since_then():
    view = pod_view(replace(POD, ready=False, ready_since=None, ready_changed=NOW - 3))
    assert not view.healthy
    assert view.ready_since == NOW - 3


def test_pod_without_a_node_is_unscheduled():
    view = pod_view(replace(POD, node_name="", ready=False, phase="Pending", index=None))
    assert not view.scheduled
    assert view.ordinal == -1


def test_nodeset_carries_what_tells_a_rollout():
    view = nodeset_view(NODESET, ("ScaledObject/gpu",))
    assert (view.replicas, view.generation, view.observed_generation) == (3, 4, 3)
    assert view.autoscalers == ("ScaledObject/gpu",)
    assert view.rolling(3)
    assert not nodeset_view(replace(NODESET, update_strategy="OnDelete"), ()).rolling(3)


@pytest.mark.parametrize(
    ("permit", "holds"),
    [
        (names.permit_to_delete(4), True),
        (names.permit_to_scale(2, 4), True),
        (names.permit_to_delete(3), False),
        (names.permit_to_scale(4, 3), False),
        ("", False),
    ],
)
def test_a_permission_holds_for_the_generation_that_it_names(permit, holds):
    annotated = replace(NODESET, annotations={names.ANNOTATION_PERMIT: permit})
    assert nodeset_view(annotated, ()).permitted is holds


def test_node_keeps_state_reason_and_times():
    view = node_view(NODE)
    assert (view.name, view.states, view.reason, view.reason_user) == ("gpu-2", NODE.state, "bad DIMM", "root")
    assert (view.reason_at, view.resume_after, view.alloc_cpus) == (NOW - 9, NOW + 9, 1)
    assert view.drained_flag


def test_job_keeps_its_label_nodes_and_end():
    view = job_view(JOB)
    assert (view.shown, view.user, view.nodes, view.expected_end) == ("12_3", "alice", ("gpu-1", "gpu-2"), NOW + 5)
    assert view.active
    assert view.requeueable


def test_job_without_a_limit_has_no_known_end_whatever_slurm_writes_there():
    assert job_view(builders.job(20, limit=None, end_time=NOW + 5)).expected_end is None


def test_reservation_without_an_end_lasts():
    made = builders.reservation("maint", "gpu-2", None, None)
    view = reservation_view(made)
    assert (view.start, view.nodes) == (0, ("gpu-2",))
    assert view.end > NOW + 10**9
    assert reservation_view(builders.reservation("maint", "gpu-2", NOW, NOW + 1)).end == NOW + 1


class Kube:
    """Kubernetes with one NodeSet, as much of it as a look asks for."""

    def nodeset(self, _namespace, _name):
        return NODESET

    def pods_of(self, _namespace, _state):
        return (POD,)

    def scalers_of(self, _namespace, _name):
        return ()

    def deployment_available(self, _namespace, _name):
        return 1


def seen(client, last=None):
    return look(Kube(), lambda: client, settings(3), NOW, last)


def test_a_look_takes_the_last_list_again_only_on_slurmctlds_word_and_says_so():
    slurm = FakeSlurm(changed=False).add(node("g-0"))
    with slurm.client() as client:
        first = seen(client)
        again = seen(client, first.answers)
        assert first.observation.cluster is not None
        assert (first.whole, again.whole) == (True, False)
        assert again.observation == first.observation
        slurm.changed = True
        slurm.add(node("g-1", "MIXED"))
        changed = seen(client, again.answers)
        assert set(changed.observation.cluster.nodes) == {"g-0", "g-1"}


def jobs_asked(slurm):
    return len(slurm.asked_for("GET", "jobs/state/"))


def drained(slurm, *states):
    return slurm.add(node("gpu-2", *(states or ("MIXED", "DRAIN")), reason="slinky-iac:dev/gpu: x"))


def test_a_look_that_waits_asks_for_jobs_only_where_a_drained_node_changed():
    slurm = drained(FakeSlurm().add(node("g-0"), job(1, nodes="gpu-2")))
    with slurm.client(shared=SharedJobs()) as client:
        first = seen(client)
        slurm.add(node("g-0", "MIXED"))
        other = seen(client, first.answers)
        assert (jobs_asked(slurm), other.whole) == (1, False)
        assert other.observation.cluster.nodes["g-0"].states == {"MIXED"}
        assert other.observation.cluster.jobs_on is first.observation.cluster.jobs_on
        slurm.jobs.clear()
        drained(slurm, "IDLE", "DRAIN")
        freed = seen(client, other.answers)
        assert (jobs_asked(slurm), freed.whole) == (2, True)
        assert freed.observation.cluster.jobs("gpu-2") == ()


def test_a_list_of_jobs_is_waited_by_for_half_a_minute_and_no_longer():
    slurm = drained(FakeSlurm(changed=False))
    with slurm.client(shared=SharedJobs()) as client:
        first = seen(client)
        slurm.ticks.now = first.answers.jobs.answered + REUSED_S - 1
        again = seen(client, first.answers)
        assert (jobs_asked(slurm), again.whole) == (1, False)
        slurm.ticks.now += 2
        seen(client, again.answers)
        assert jobs_asked(slurm) == 2


def test_a_list_that_took_long_is_waited_by_for_four_times_as_long():
    slurm = drained(FakeSlurm(changed=False))
    with slurm.client(shared=SharedJobs()) as client:
        first = seen(client)
        took = 50.0
        slow = replace(first.answers, jobs=replace(first.answers.jobs, asked=first.answers.jobs.answered - took))
        client._shared._questions[next(iter(client._shared._questions))].answer = slow.jobs
        slurm.ticks.now = slow.jobs.answered + REST * took - 1
        again = seen(client, slow)
        assert (jobs_asked(slurm), again.whole) == (1, False)
        slurm.ticks.now += 2
        seen(client, again.answers)
        assert jobs_asked(slurm) == 2


def test_a_look_from_nothing_always_asks_for_nodes_and_then_for_jobs():
    slurm = drained(FakeSlurm(changed=False))
    with slurm.client(shared=SharedJobs()) as client:
        looks = [seen(client) for _ in range(3)]
    assert all(each.whole for each in looks)
    assert (jobs_asked(slurm), len(slurm.asked_for("GET", "nodes/"))) == (3, 3)


@given(
    st.lists(st.sampled_from(["nothing", "another node", "a drained node", "half a minute", "another gate"]), max_size=12)
)
def test_no_job_is_missed_on_a_node_that_changed(events):
    """A list of jobs is never older than the drained nodes' records beside it."""
    slurm = drained(FakeSlurm())
    with slurm.client(shared=SharedJobs()) as client:
        last = seen(client).answers
        for number, event in enumerate(events):
            slurm.changed = event != "nothing"
            if event == "another node":
                slurm.add(node("g-0", comment=str(number)) | {"alloc_cpus": number})
            elif event == "a drained node":
                slurm.add({**slurm.nodes["gpu-2"], "alloc_cpus": number + 1})
            elif event == "half a minute":
                slurm.ticks.now += REUSED_S
            elif event == "another gate":
                seen(client)
            changed_at = slurm.ticks.now
            last = seen(client, last).answers
            assert last.held == {"gpu-2": last.view.nodes["gpu-2"]}
            assert last.jobs.asked >= last.since
            assert event != "a drained node" or last.jobs.asked > changed_at
            assert not last.whole or last.jobs.asked >= last.nodes.answered > changed_at


def test_a_slurmrestd_that_does_not_answer_leaves_nothing_to_go_by():
    slurm = FakeSlurm(changed=False).add(node("g-0"))
    with slurm.client() as client:
        first = seen(client)
        slurm.faults = [lambda _: httpx.Response(200, json={})]
        silent = seen(client, first.answers)
    assert (silent.observation.cluster, silent.answers, silent.whole) == (None, None, True)
    assert silent.observation.problem


@pytest.mark.parametrize("cluster", ["hpc", "another"])
@pytest.mark.parametrize("told", ["by its jobs", "by its slurm.conf"])
def test_the_cluster_is_named_by_slurmctld_and_not_by_slurmrestd(told, cluster):
    """slurmrestd of cluster lab may lead to any slurmctld: what it says of itself proves nothing of the lists."""
    slurm = FakeSlurm(controller=cluster if told == "by its slurm.conf" else None).add(node("g-0"))
    if told == "by its jobs":
        slurm.add(job(1, "COMPLETED", cluster=cluster), job(2, cluster=cluster, nodes="g-0"))
    with slurm.client() as client:
        first = seen(client)
        assert first.answers.nodes.cluster == "lab"
        assert first.observation.cluster.name == cluster


@pytest.mark.parametrize(
    "slurm",
    [
        FakeSlurm(controller=None),
        FakeSlurm(controller="hpc", served=("v0.0.44",)),
        FakeSlurm(controller="hpc").add(job(1, cluster="hpc"), job(2, cluster="another")),
    ],
    ids=["refused", "older", "two names"],
)
def test_a_cluster_that_slurmctld_does_not_name_has_no_name(slurm):
    slurm.add(node("g-0"))
    with slurm.client() as client:
        assert seen(client).observation.cluster.name == ""
