"""A NodeSet whose own partition is slurmctld's in Kubernetes: it goes only once no job names that partition."""

import pytest

from slinky_iac import names
from slinky_iac.cluster.partition_closing import Held
from slinky_iac.drain import conf_run, scale
from slinky_iac.drain.closed import Record
from slinky_iac.drain.conf_steps import ConfSettings
from slinky_iac.drain.conf_text import ConfLines
from slinky_iac.drain.lease import ThisRun
from slinky_iac.drain.settings import DrainPolicy, Owner
from slinky_iac.errors import DrainDeadline, SlurmrestAuthError
from tests.made.rows import job
from tests.unit.drain import made
from tests.unit.drain.conf_world import Kube, Slurmctld
from tests.unit.drain.model import Job, world
from tests.unit.drain.model_session import ModelSession, nothing, settings


class WithQueue(ModelSession):
    """The model's NodeSet, and slurmctld's partitions and queue beside it."""

    own_partition = True

    def __init__(self, *rows, then=(), release="26.05"):
        super().__init__(world("1.1.0", 2), then)
        self.slurmctld = Slurmctld({"gpu": "UP", "all": "UP"}, release=release).add(*rows)
        self.slurm = self.slurmctld.client()
        self.kube, self.reach, self.this_run = Kube(""), settings(0).reach, ThisRun()

    def nodeset(self, name):
        found = super().nodeset(name)
        return found and made.nodeset(found.spec.replicas, partition=self.own_partition)

    def ends(self, number):
        return lambda _w: self.slurmctld.jobs.pop(number)

    @property
    def drained(self):
        return [node.name for node in self.w.nodes.values() if node.drain]


def test_nothing_is_drained_while_a_job_waits_in_the_partition():
    session = WithQueue(job(7, "PENDING", partition="gpu"))
    with pytest.raises(DrainDeadline, match=r"partition gpu: 1 waiting in the queue \(7 of alice\). The NodeSet stays"):
        scale.tear_down(session, settings(0))
    assert (session.gone, session.drained, session.slurmctld.partitions["gpu"]) == (False, [], "DRAIN")
    assert Record(session, settings(0)).held() == Held({"gpu": "UP"}), "an update that has the NodeSet again opens it"


@pytest.mark.parametrize("state", ["PENDING", "RUNNING"])
def test_a_nodeset_goes_once_the_jobs_of_its_partition_have_ended(state):
    session = WithQueue(job(7, state, partition="gpu"))
    session.meanwhile = [nothing, nothing, nothing, lambda w: (check(), session.ends(7)(w))]

    def check():
        assert not session.gone

    scale.tear_down(session, settings(0))
    assert session.gone
    assert session.slurmctld.partitions == {"gpu": "DRAIN", "all": "UP"}
    session.gone = False
    scale.open_again(session, settings(0))
    assert (session.slurmctld.partitions["gpu"], Record(session, settings(0)).held()) == ("UP", Held()), (
        "its successor has the name again"
    )


def test_a_partition_that_a_restart_opens_is_closed_before_the_nodeset_goes():
    session = WithQueue()
    act = session.act

    def reopening(step, wanted):
        act(step, wanted)
        if type(step).__name__ == "Drain":
            session.slurmctld.partitions["gpu"] = "UP"
            session.slurmctld.add(job(8, "PENDING", partition="gpu"))

    session.act = reopening
    with pytest.raises(DrainDeadline, match=r"8 of alice"):
        scale.tear_down(session, settings(0))
    assert (session.gone, session.slurmctld.partitions["gpu"]) == (False, "DRAIN")
    session.slurmctld.jobs.clear()
    scale.tear_down(session, settings(0))
    assert session.gone


def test_jobs_of_other_partitions_hold_no_nodeset():
    session = WithQueue(job(7, "PENDING", partition="all"), job(8, "PENDING", partition="gpu,all"))
    scale.tear_down(session, settings(0))
    assert session.gone


def test_without_a_partition_of_its_own_no_partition_is_asked_for():
    session = WithQueue(job(7, "PENDING", partition="gpu"))
    session.own_partition = False
    scale.tear_down(session, settings(0))
    assert session.gone
    session.gone = False
    session.kube = None
    scale.open_again(session, settings(0))
    assert session.slurmctld.partitions["gpu"] == "UP"


def test_a_partition_that_cannot_be_asked_for_keeps_its_nodeset():
    session = WithQueue()
    session.slurmctld.keys = ()
    with pytest.raises(SlurmrestAuthError):
        scale.tear_down(session, settings(0))
    assert not session.gone


def test_a_slurmrestd_that_cannot_close_partitions_lets_an_empty_one_go():
    session = WithQueue(release="25.11")
    scale.tear_down(session, settings(0))
    assert session.gone


SHARED = ConfLines({"all": "PartitionName=all Nodes=gpu"}, {})


def slurmctld_of(session):
    return ConfSettings(
        owner=Owner("prod", names.SLURM_CONF_OWNER),
        policy=DrainPolicy(deadline_s=60),
        reach=session.reach,
        urn="",
        controller="hpc",
        lines=SHARED,
    )


def destroyed(session, wanted):
    """In the engine's order: the queue's gate, the NodeSet's, and the Controller's right before slurmctld ends."""
    conf_run.finish(session, slurmctld_of(session), "first")
    scale.tear_down(session, wanted)
    conf_run.finish(session, slurmctld_of(session), "last")


@pytest.mark.parametrize("how", ["policy", "person"])
def test_a_job_that_is_requeued_while_a_destroy_drains_is_not_lost_with_slurmctld(how):
    """By `onDeadline: requeue`, which is the gate's own act; or by a node that fails, `scontrol requeue`, a preemption."""
    session = WithQueue(job(1, "RUNNING", partition="all", nodes="gpu-1"))
    session.own_partition = False  # nodesets.gpu.partition.enabled: false, jobs run in partitions.all
    session.kube.extra_conf = SHARED.partitions["all"]
    session.w.jobs[1] = Job(1, ("gpu-1",), session.w.now, None, requeueable=True)
    session.w.sync(refresh=True)

    def requeued():
        session.w.jobs.pop(1, None)
        session.slurmctld.jobs[1]["job_state"], session.slurmctld.jobs[1]["nodes"] = ["PENDING"], ""

    if how == "person":
        session.meanwhile = [nothing, nothing, nothing, lambda _w: requeued()]
    act = session.act

    def acting(step, wanted):
        act(step, wanted)
        if type(step).__name__ == "Requeue":
            requeued()

    session.act = acting
    policy = DrainPolicy(deadline_s=600, bound_s=1200, poll_s=10, on_deadline="requeue" if how == "policy" else "keep")
    with pytest.raises(DrainDeadline, match=r"slurmctld can't end yet.*the queue: 1 waiting in the queue \(1 of alice\)"):
        destroyed(session, settings(0, policy=policy))
    assert session.gone
    assert session.kube.extra_conf is not None, "slurmctld lives on, with its queue"
    session.slurmctld.jobs.clear()
    conf_run.finish(session, slurmctld_of(session), "last")
    assert session.kube.extra_conf is None
