"""What Kubernetes and slurmrestd say comes to the planner unchanged in meaning."""

from dataclasses import replace
from types import SimpleNamespace

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.drain.observe import REST, REUSED_S, jobs_view, look
from slinky_iac.errors import DrainBlocked, KubeNotFound, SlurmrestElsewhere, SlurmrestUnreachable
from slinky_iac.slurmrest.shared import SharedJobs
from tests.made import scalers as made_scalers
from tests.made.jobs import job as made_job
from tests.made.rows import job, node
from tests.unit.drain.made import NOW, nodeset, pod
from tests.unit.drain.model_session import settings
from tests.unit.slurmrest.fake import FakeSlurm

TASK = {"array_job_id": 12, "array_task_id": 3}
JOB = made_job(20, "gpu-[1-2]", start_time=NOW - 5, end_time=NOW + 5, **TASK)


class Kube:
    """Kubernetes with one NodeSet, as much of it as a look asks for."""

    def nodeset(self, _namespace, _name):
        return nodeset(3)

    def pods_of(self, _namespace, _state):
        return (pod(2),)

    def listed(self, _path, _model, _what):
        return ()

    def deployment_available(self, _namespace, _name):
        return 1


def asking(client):
    return SimpleNamespace(slurm=client, steady=lambda: 0.0)


def seen(client, last=None):
    return look(Kube(), lambda: client, settings(3), NOW, last)


class Blind(Kube):
    """Kubernetes in which slurmrestd's Deployment serves nothing; ``there``: whether its RestApi is there."""

    def __init__(self, *, there):
        self.there, self.asked_for = there, []

    def deployment_available(self, _namespace, _name):
        return 0

    def asked(self, path, kind, what, **_):
        self.asked_for.append(path)
        if not self.there:
            raise KubeNotFound(what)
        return msgspec.convert({"metadata": {"name": "slurm", "uid": "1"}}, kind)


def silent():
    raise SlurmrestUnreachable('services "hpc-restapi" not found')


def test_a_restapi_that_somebody_deleted_ends_a_gate_and_one_that_starts_is_waited_for():
    deleted = Blind(there=False)
    with pytest.raises(DrainBlocked, match=r"restapis\S* \S+/hpc is .*Run `pulumi up --refresh`.*Nothing more was changed"):
        look(deleted, silent, settings(3), NOW)
    assert [path.rpartition("/")[2] for path in deleted.asked_for] == ["hpc"]
    waited = look(Blind(there=True), silent, settings(3), NOW).observation
    assert (waited.cluster, waited.restapi_ready) == (None, False)


def test_where_slurm_answers_nothing_is_asked_about_the_restapi():
    with FakeSlurm(changed=False).add(node("g-0")).client() as client:
        assert look(kube := Blind(there=False), lambda: client, settings(3), NOW).observation.cluster is not None
    assert kube.asked_for == []


class Scaled(Kube):
    """Kubernetes with an autoscaler of this stack's, as KEDA makes it, and one of somebody else's."""

    def listed(self, path, model, _what):
        names = ("HorizontalPodAutoscaler/keda-hpa-gpu", "HorizontalPodAutoscaler/theirs", "ScaledObject/gpu")
        return made_scalers.listed(path, model, *names)


def test_an_autoscaler_that_goes_with_the_update_is_no_obstacle_and_anybody_elses_is():
    with FakeSlurm(changed=False).add(node("g-0")).client() as client:
        found = look(Scaled(), lambda: client, settings(3, leaving="gpu"), NOW)
        assert found.observation.writers == ("HorizontalPodAutoscaler/theirs",)
        assert len(look(Scaled(), lambda: client, settings(3), NOW).observation.writers) == 3


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
        assert other.observation.cluster.nodes["g-0"].state == {"MIXED"}
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


def test_jobs_of_another_cluster_say_nothing_of_who_works_where():
    slurm = FakeSlurm(controller="hpc").add(node("g-0"))
    with slurm.client() as client:
        with pytest.raises(SlurmrestElsewhere, match="slurmctld of cluster 'hpc' answers"):
            jobs_view(asking(client), "lab", "")
        assert jobs_view(asking(client), "hpc", "").unfinished == ()
    slurm = FakeSlurm(controller=None).add(job(1, cluster="hpc"))
    with slurm.client() as client, pytest.raises(SlurmrestElsewhere):
        jobs_view(asking(client), "lab", "")
    with FakeSlurm(controller=None).client() as client:
        assert jobs_view(asking(client), "lab", "").unfinished == (), "as before 26.05: no name is known"


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
