"""The gates around slurm.conf, hosts, login pods and removals: what is written down, asked, and in which order. Each test is
a fault that once passed all others."""

from dataclasses import replace

import pytest

from slinky_iac import names
from slinky_iac.cluster.partition_closing import Held
from slinky_iac.drain import conf_back, conf_run, maintenance, removals, scale, sessions
from slinky_iac.drain.conf_text import ConfLines
from slinky_iac.drain.lease import Lease
from slinky_iac.drain.observe import conf_look
from slinky_iac.drain.proof import still_running
from slinky_iac.drain.protocol import ClosePartitions, Drain
from slinky_iac.drain.settings import DrainPolicy, Limits
from slinky_iac.errors import DrainBlocked, DrainDeadline, DrainLost, SlurmrestRefused
from slinky_iac.parts.autoscale import pause
from slinky_iac.parts.autoscale.demand import today
from tests.made.jobs import run as made_run
from tests.made.nodesets import nodeset
from tests.made.rows import job, node, run
from tests.unit.drain import made
from tests.unit.drain.conf_world import ConfSession, Slurmctld
from tests.unit.drain.model import world
from tests.unit.drain.model_session import settings as gate
from tests.unit.drain.model_session import with_job
from tests.unit.drain.test_conf_run import BOTH, HOST, MORE_CPUS, NO_BATCH, REACH, kept, session, settings, text
from tests.unit.drain.test_conf_steps import goal, host, look, next_step
from tests.unit.drain.test_maintenance import HostSession
from tests.unit.drain.test_maintenance import settings as of_hosts
from tests.unit.drain.test_removals import LOGIN, Site, props
from tests.unit.drain.test_sessions import session as of_login
from tests.unit.drain.test_sessions import settings as login
from tests.unit.drain.test_sessions import srun
from tests.unit.parts.autoscale.test_pause import Keda, Scaled, autoscaled
from tests.unit.slurmrest.fake import FakeSlurm, answer, error


# -- the look ----------------------------------------------------------------------------------------------------------
def test_partitions_are_asked_for_before_jobs():
    """Else a job that came in before a partition closed is in neither."""
    found = session(job(1, partition="batch"))
    conf_look(found, settings(NO_BATCH))
    asked = [path.rpartition("v0.0.45/")[2] for _, path, _ in found.world.asked]
    assert asked.index("partitions/") < asked.index("nodes/") < asked.index("jobs/")


@pytest.mark.parametrize(("release", "seen"), [("25.11", {1, 2}), ("26.05", {1})])
def test_ended_jobs_are_asked_for_where_slurmctld_may_not_lose_their_partition(release, seen):
    ballast = [job(each, "COMPLETED") for each in range(50, 90)]
    found = ConfSession(Slurmctld({"batch": "UP"}, release=release).add(job(1), job(2, "COMPLETED"), *ballast), None, REACH)
    assert {each.job_id for each in conf_look(found, settings(NO_BATCH)).jobs if each.job_id < 50} == seen


def test_partitions_close_before_hosts_are_drained():
    """A job that waits in the partition would start on another host meanwhile, and hold it up."""
    both = goal(["batch"], ["gpu-0"])
    assert isinstance(next_step(look({"batch": "UP"}, [host()]), both), ClosePartitions)
    assert isinstance(next_step(look({"batch": "DRAIN"}, [host()]), both), Drain)


# -- the record --------------------------------------------------------------------------------------------------------
def test_what_is_closed_is_written_down_first():
    found = session(job(1, partition="batch"))

    def refuse(*_):
        raise SlurmrestRefused("no", error_number=2010)

    found.world.faults = []
    serve = found.world.serve

    def refused(request, rest, body):
        return (
            answer(500, [error(2010)]) if rest == "partitions/" and request.method == "POST" else serve(request, rest, body)
        )

    found.world.serve = refused
    with pytest.raises(SlurmrestRefused):
        conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert kept(found) == Held({"batch": "UP"})


def test_the_state_before_the_first_run_is_the_one_that_is_given_back():
    """Between two runs a restart opened it: it was DOWN, and shall be so again."""
    found = session(job(1, partition="batch"), partitions={"all": "UP", "batch": "DOWN"})
    with pytest.raises(DrainDeadline):
        conf_run.settle(found, settings(NO_BATCH), BOTH)
    found.world.partitions["batch"] = "UP"
    with pytest.raises(DrainDeadline):
        conf_run.settle(found, settings(NO_BATCH), BOTH)
    assert kept(found) == Held({"batch": "DOWN"}, closed={"batch": "DRAIN"})
    conf_run.settle(found, settings(BOTH), BOTH)
    assert (found.world.partitions["batch"], kept(found)) == ("DOWN", Held())


def test_hosts_of_an_earlier_run_stay_in_the_record_while_others_are_drained():
    two = ConfLines(BOTH.partitions, {"metal-1": HOST, "metal-2": "NodeName=metal-2 CPUs=2"})
    found = session(node("metal-1", "MIXED"), node("metal-2", "MIXED"), job(1, nodes="metal-1"), job(2, nodes="metal-2"))
    found.kube.extra_conf = text(two)
    for gone in (("metal-1",), ("metal-1", "metal-2")):
        lines = ConfLines(BOTH.partitions, {name: line for name, line in two.hosts.items() if name not in gone})
        with pytest.raises(DrainDeadline):
            conf_run.settle(found, settings(lines), two)
    assert kept(found).hosts == {"metal-1": "prod", "metal-2": "prod"}


def test_limits_are_judged_in_the_run_that_begins_and_not_in_one_that_continues():
    """Jobs that are waited for grow older meanwhile."""
    found = session(job(1, partition="batch"))
    strict = DrainPolicy(deadline_s=60, limits=Limits(max_jobs=0))
    with pytest.raises(DrainBlocked, match="more than the 0"):
        conf_run.settle(found, settings(NO_BATCH, strict), BOTH)
    with pytest.raises(DrainDeadline):
        conf_run.settle(found, settings(NO_BATCH), BOTH)
    with pytest.raises(DrainDeadline):
        conf_run.settle(found, settings(NO_BATCH, strict), BOTH)


def test_only_a_nodeset_that_has_a_partition_of_its_own_takes_one_along():
    sets = [nodeset("hpc-worker-gpu", 1, partition=True), nodeset("hpc-worker-cpu", 1)]
    found = session(nodesets=sets)
    names_of = {"gpu": "hpc-worker-gpu", "cpu": "hpc-worker-cpu"}
    assert conf_run.own_partitions(found, settings(BOTH, nodesets=names_of)) == frozenset({"gpu"})


def test_the_beginning_of_slurmctld_is_noted_before_the_write():
    """A run that ends right after the write would leave hosts that nothing is known of."""
    found = session(node("metal-1"))
    noted, write = [], found.kube.set_extra_conf
    found.kube.set_extra_conf = lambda *all_: noted.append(kept(found).began) or write(*all_)
    found._then = [lambda: found.world.__setattr__("began", found.world.began + 9)]
    before = found.world.began
    conf_run.settle(found, settings(MORE_CPUS), BOTH)
    assert noted == [before]


def test_a_partition_that_is_held_and_stays_in_the_program_is_still_known_after_hosts_were_returned():
    found = session()
    found.kube.set_map("hpc-gates", {"held": Held({"all": "DOWN"}).text()})
    found.world.partitions["all"] = "INACTIVE"
    found.world.faults = []
    settled = settings(BOTH)
    record = conf_run.Record(found, settled)
    conf_back.return_hosts(record, settled)
    assert kept(found) == Held({"all": "DOWN"})


# -- hosts -------------------------------------------------------------------------------------------------------------
def test_a_run_that_lost_its_lease_between_look_and_act_drains_no_host():
    slurm = FakeSlurm().add(node("metal-1"))
    found = HostSession(slurm.client())
    task = maintenance.HostsTask(found, of_hosts(held=("metal-1",)))
    with conf_run.Record(found, of_hosts()).leased():
        step = task.decide(task.look())
        found.kube.set_map("hpc-gates", {"run": Lease("other", "bob@ci", found.now()).text()})
        with pytest.raises(DrainBlocked, match="bob@ci"):
            task.act(step)
    assert "DRAIN" not in slurm.nodes["metal-1"]["state"]


def test_a_host_that_registered_wrongly_under_our_drain_is_told_and_not_returned():
    reason = names.drain_reason("prod", names.HOSTS_OWNER, "maintenance")
    wrong = FakeSlurm().add(node("metal-1", "IDLE", "DRAIN", "INVALID_REG", reason=reason))
    with wrong.client() as client:
        found = HostSession(client)
        maintenance.maintain(found, of_hosts(active=("metal-1",)))
    assert any("registered as something else" in said for said, _ in found.said)
    assert wrong.asked_for("POST", "nodes/") == []


# -- login pods and removals -------------------------------------------------------------------------------------------
def test_a_login_set_that_is_being_deleted_is_waited_for_and_not_deleted_again():
    found = of_login()
    meta, deleted = found.kube.meta, []
    going = [True]

    def ending(*of):
        there = meta(*of)
        return type(there)(**{**{each: getattr(there, each) for each in there.__struct_fields__},
                              "deletion_timestamp": "2026-01-01T00:00:00Z"}) if there and going else there  # fmt: skip

    found.kube.meta, found.kube.delete = ending, lambda *_: deleted.append(1)
    found._then = [lambda: found.kube.__setattr__("there", False)]
    sessions.finish(found, login())
    assert (deleted, found.pauses) == ([], 1)


def test_an_srun_that_was_met_and_ended_with_its_node_is_told():
    found = of_login(srun(7))
    found.world.accounts = [run(7, "NODE_FAIL", nodes="gpu-9", end=found.now() + 5)]
    found._then = [found.world.jobs.clear]
    with pytest.raises(DrainLost, match="7"):
        sessions.finish(found, login())


def test_what_a_login_set_interrupts_exceeds_no_limit():
    """With interruptSessions nothing is waited for, so a limit on what is waited for says nothing."""
    found = {**LOGIN, "interrupts": True}
    site = Site()
    seen, _ = site.plan(props({"logins.main": found}), props({}, Limits(max_jobs=0)))
    assert seen.failures == ()
    assert any("this ends" in each for each in site.said)


def test_what_stands_now_is_removed_as_it_stands_and_not_as_an_earlier_removal_had_it():
    old, now = {**LOGIN, "resource": "old"}, {**LOGIN, "resource": "new"}
    olds = props({"logins.main": now}, pending={"logins.main": old})
    assert removals.gone(olds, props({})) == {"logins.main": now}


# -- slurmdbd ----------------------------------------------------------------------------------------------------------
class Dbd:
    """slurmdbd with one run of a job on gpu-1."""

    def __init__(self, began):
        self.began, self.asked, self.said = began, [], []

    @property
    def slurm(self):
        return self

    def running(self, since, *, cluster, budget_s):
        self.asked.append((since, cluster, budget_s > 0))
        times = {"start": self.began, "end": 0, "elapsed": 1, "limit": {"set": False, "infinite": False, "number": 0}}
        return (made_run(7, "RUNNING", nodes="gpu-1", time=times),)


@pytest.mark.parametrize(("began", "held"), [(900, False), (1000, True)])
def test_a_run_is_a_pods_only_where_it_is_no_older(began, held):
    dbd = Dbd(began)
    found = still_running(dbd, gate(1, cluster="hpc"), [made.pod(0, created=500), made.pod(1, created=1000)])
    assert ("7" in found) is held
    assert dbd.asked == [(500, "hpc", True)]


# -- the autoscaler ----------------------------------------------------------------------------------------------------
def test_a_number_that_the_autoscaler_writes_until_it_stands_still_is_the_one_that_the_run_sets_out_from():
    w = with_job(pods=2)
    found = Scaled(w, Keda())
    wait = found.pause

    def raises(seconds):
        if found.keda.hpa and w.replicas == 2:
            w.replicas, w.generation = 3, w.generation + 1
        w.jobs.clear()
        for pod in w.pods.values():
            if not pod.running:
                w.register(pod)
                pod.ready, pod.ready_changed = True, w.now - 4000
        return wait(seconds)

    found.pause = raises
    scale.settle(found, autoscaled(1))
    assert (w.replicas, found.keda.paused) == (1, False)


def test_a_pause_of_a_run_that_was_killed_is_taken_back_though_nothing_is_left_to_lower():
    found = Scaled(world("1.1.0", 2), Keda(mark="dev/gpu r0", paused=True, hpa=False))
    scale.settle(found, autoscaled(4))
    assert (found.keda.paused, found.keda.mark) == (False, "")


def test_a_gate_without_its_engine_leaves_the_pause_to_the_next_run():
    found = Scaled(with_job(pods=3), Keda())
    found.alive = False
    with pytest.raises(DrainBlocked):
        fails(found)
    assert found.keda.paused


def fails(found):
    with pause.standing_still(AliveUntil(found), autoscaled(1), 3):
        found.alive = False
        raise DrainBlocked("the engine is gone")


def AliveUntil(found):
    found.alive = True
    return found


def test_demand_is_unknown_where_jobs_that_wait_were_left_out():
    seen = made.seen([made.pod(0)], [made.node(0)])
    assert today(seen, gate(1)) is not None
    assert today(replace(seen, cluster=replace(seen.cluster, queue_left_out=1)), gate(1)) is None


def test_what_slurm_says_takes_nothing_from_what_the_controller_says():
    found = session(nodesets=[nodeset("hpc-worker-gpu", 1, partition=True)])
    wanted = settings(NO_BATCH, nodesets={"gpu": "hpc-worker-gpu"})
    live = conf_run.live_look(found, wanted)
    task = conf_run.ConfTask(found, wanted, replace(goal(["batch"]), text="x"))
    seen = conf_run.slurms_look(found, wanted, live, task.goal)
    assert (seen.own, seen.controller, seen.asked) == (frozenset({"gpu"}), live.controller, True)
