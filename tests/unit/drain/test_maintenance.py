"""Giving bare-metal hosts back when the stack goes, over a slurmrestd that answers or doesn't."""

import re

import pytest

from slinky_iac import names
from slinky_iac.cluster.reach import Reach
from slinky_iac.drain import maintenance
from slinky_iac.drain.gates import OutsideHostsProvider
from slinky_iac.drain.lease import ThisRun
from slinky_iac.drain.session import act_on_slurm
from slinky_iac.drain.settings import DrainPolicy, OutsideSettings, Owner, reach_props
from slinky_iac.errors import (
    DrainBlocked,
    DrainDeadline,
    DrainLost,
    KubeNotFound,
    SlurmrestAuthError,
    SlurmrestElsewhere,
    SlurmrestUnreachable,
)
from tests.made.rows import job, node, run
from tests.unit.drain.conf_world import Kube
from tests.unit.drain.made import NOW
from tests.unit.slurmrest.fake import FakeSlurm, answer

OWNER = Owner("prod", names.HOSTS_OWNER)
REACH = Reach("slurm", "hpc-restapi", "jwt", "jwt.key")
OURS = names.drain_reason("prod", names.HOSTS_OWNER, "maintenance")


class HostSession:
    """A session with a slurmrestd, or with the error that opening one raises."""

    def __init__(self, client=None, error=None):
        self._client, self._error = client, error
        self.said = []
        self.paused = 0
        self.then = []
        self.reach, self.kube, self.this_run = REACH, Kube(), ThisRun()
        self.asked_by = "alice@desk"

    @property
    def slurm(self):
        if self._error is not None:
            raise self._error
        return self._client

    def now(self):
        return NOW + self.paused

    def pause(self, seconds):
        self.paused += seconds
        if self.then:
            self.then.pop(0)()
        return False

    def engine_lives(self):
        return True

    watched = True

    def act(self, step, owner):
        act_on_slurm(self.slurm, step, owner, self.report)

    def report(self, message, **more):
        self.said.append((message, more))

    def steady(self):
        return float(self.paused)


def settings(held=(), active=(), deadline_s=1800, **more):
    policy = DrainPolicy(poll_s=10, register_deadline_s=60, deadline_s=deadline_s)
    return OutsideSettings(
        owner=OWNER, policy=policy, reach=REACH, urn="", controller="hpc", held=held, active=active, **more
    )


def test_what_this_stack_holds_is_returned_and_what_others_hold_is_not():
    slurm = FakeSlurm().add(node("metal-1", "IDLE", "DRAIN", reason=OURS), node("metal-2", "IDLE", "DRAIN", reason="fan"))
    with slurm.client() as client:
        session = HostSession(client)
        maintenance.release(session, settings(held=("metal-1",), active=("metal-2",)))
    assert {name: "DRAIN" in record["state"] for name, record in slurm.nodes.items()} == {"metal-1": False, "metal-2": True}


@pytest.mark.parametrize("error", [SlurmrestUnreachable("refused."), KubeNotFound("no Secret.")])
def test_a_silent_slurmrestd_stops_the_end_of_a_stack_only_where_it_holds_a_host(error):
    session = HostSession(error=error)
    maintenance.release(session, settings(active=("metal-1",)))
    ((said, how),) = session.said
    assert said.startswith(str(error))
    assert how == {"severity": "warning", "keep": True}
    with pytest.raises(type(error)):
        maintenance.release(HostSession(error=error), settings(held=("metal-1",)))


@pytest.mark.parametrize("inside", [True, False])
def test_hosts_of_another_cluster_with_the_same_names_are_never_drained_or_returned(inside):
    """Found by reading: slurmrest.url of another cluster, whose hosts have the names of ours."""
    slurm = FakeSlurm(controller="other").add(node("metal-1"), node("metal-2", "IDLE", "DRAIN", reason=OURS))
    with slurm.client() as client:
        session = HostSession(client)
        ours = settings(held=("metal-1",), active=("metal-2",), cluster="hpc", inside=inside)
        for act in (maintenance.maintain, maintenance.plan, maintenance.release):
            with pytest.raises(
                SlurmrestElsewhere, match=r"cluster 'other' answers, and this stack's is 'hpc'.*slurmrest\.url"
            ):
                act(session, ours)
        maintenance.release(session, settings(active=("metal-2",), cluster="hpc"))
    assert session.paused == 0
    assert "slurmctld of cluster 'other' answers" in session.said[-1][0]
    assert [method for method, _, _ in slurm.asked if method != "GET"] == []


def test_a_refused_token_always_stops():
    with pytest.raises(SlurmrestAuthError):
        maintenance.release(HostSession(error=SlurmrestAuthError("1007")), settings(active=("metal-1",)))


def test_slurmctld_in_kubernetes_gets_time_to_read_the_line_of_a_new_host():
    """Found on the lab: the gate follows the Controller's update at once, and slurmctld reads its file seconds later."""
    slurm = FakeSlurm()
    with slurm.client() as client:
        session = HostSession(client)
        session.then = [lambda: slurm.add(node("gpu-0")), lambda: slurm.add(node("metal-1"))]
        maintenance.maintain(session, settings(active=("metal-1",), inside=True))
    assert session.paused == 20
    assert "lists no node at all" in session.said[0][0]
    assert "waiting for slurmctld to read the NodeName= line of metal-1" in session.said[1][0]


@pytest.mark.parametrize(("inside", "waits", "todo"), [(False, 0, "the outside slurm.conf"), (True, 60, "slurmctld's pod")])
def test_a_host_that_slurmctld_does_not_know_is_refused_with_what_to_do(inside, waits, todo):
    with FakeSlurm().add(node("gpu-0")).client() as client:
        session = HostSession(client)
        with pytest.raises(DrainBlocked, match=rf"knows no node metal-1: .*{todo}"):
            maintenance.maintain(session, settings(held=("metal-1",), inside=inside))
    assert session.paused == waits


def test_a_new_host_is_no_refusal_in_the_plan_where_the_stack_writes_its_line():
    with FakeSlurm().add(node("gpu-0")).client() as client:
        assert maintenance.plan(HostSession(client), settings(active=("metal-1",), inside=True)) is None
        (told,) = maintenance.plan(HostSession(client), settings(active=("metal-1",))).refused
    assert "knows no node metal-1" in told


def test_hosts_that_a_new_configuration_leaves_out_are_known_from_the_state():
    props = {"schema": 1, "stack": "prod", "policy": {}, "controller": "hpc", **reach_props(settings().reach)}
    now = OutsideSettings.from_props({**props, "hosts": {"metal-2": "active"}}, {"hosts": {"metal-1": "drained"}})
    assert (now.held, now.active, now.dropped) == ((), ("metal-2",), ("metal-1",))
    assert OutsideSettings.from_props({**props, "hosts": {"metal-2": "active"}}, {}).dropped == ()


def test_a_drain_that_slurmctld_accepts_and_does_not_carry_out_ends_at_the_deadline():
    slurm = FakeSlurm().add(node("metal-1"))
    serve = slurm.serve
    slurm.serve = lambda request, rest, body: answer() if request.method == "POST" else serve(request, rest, body)
    with slurm.client() as client:
        session = HostSession(client)
        with pytest.raises(DrainDeadline, match="slurmctld does not carry out what it accepted"):
            maintenance.maintain(session, settings(held=("metal-1",), deadline_s=300))
    assert session.paused == 300


@pytest.mark.parametrize(("end", "said"), [("COMPLETED", "1 job ran on, 0 lost"), ("NODE_FAIL", "17 of alice (NODE_FAIL")])
def test_holding_a_host_ends_with_what_became_of_its_jobs(end, said):
    slurm = FakeSlurm(accounts=[]).add(node("metal-1", "MIXED"), job(17, nodes="metal-1"))
    with slurm.client() as client:
        session = HostSession(client)

        def its_job_ends():
            slurm.jobs.clear()
            slurm.nodes["metal-1"]["state"] = ["IDLE", "DRAIN"]
            slurm.accounts.append(run(17, end, nodes="metal-1", end=session.now()))

        session.then = [its_job_ends]
        if end == "COMPLETED":
            maintenance.maintain(session, settings(held=("metal-1",)))
            assert any(said in text for text, _ in session.said)
        else:
            with pytest.raises(DrainLost, match=re.escape(said)):
                maintenance.maintain(session, settings(held=("metal-1",)))
        before = len(slurm.asked)
        maintenance.maintain(session, settings(held=("metal-1",)))
    assert not [path for _, path, _ in slurm.asked[before:] if "slurmdb" in path], "proved again what this run did not meet"


def test_any_input_that_differs_is_a_difference():
    news = {"hosts": {"metal-1": "active"}, "cluster": "hpc"}
    diff = OutsideHostsProvider().diff
    assert not diff("id", dict(news), news).changes
    assert diff("id", {"hosts": {"metal-1": "active"}}, news).changes
    assert diff("id", {"hosts": {"metal-1": "active"}, "cluster": "other"}, news).changes
    assert diff("id", {"hosts": {}}, news).changes
