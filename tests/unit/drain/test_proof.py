"""After a drain the accounts are asked: a job that its node took along is an error, and silence isn't proof."""

import pytest

from slinky_iac.drain import proof
from slinky_iac.drain.proof import Met, prove
from slinky_iac.drain.protocol import Cancel, Drain, Requeue, Undrain, Wait
from slinky_iac.errors import DrainLost
from tests.made.jobs import run as made_run
from tests.made.rows import NOW, run
from tests.unit.drain import test_conf_run, test_maintenance
from tests.unit.drain.made import OWNER, given_up, held, job, node, pod, seen
from tests.unit.drain.model_session import settings
from tests.unit.slurmrest.fake import FakeSlurm


class Asking:
    """A session with a slurmrestd, and slurmdbd behind it."""

    def __init__(self, *accounts, later=(), down=False):
        self.world = FakeSlurm(accounts=None if down else list(accounts))
        self.slurm = self.world.client()
        self.later = list(later)
        self.said = []
        self.pauses = 0

    def pause(self, _seconds):
        self.pauses += 1
        self.world.accounts += self.later
        self.later.clear()
        return False

    def report(self, message, **how):
        self.said.append((message, how))


def met(*numbers, since=NOW - 60, ended=(), nodes=("gpu-1",)):
    return Met(OWNER, set(nodes), {n: job(n, 1) for n in numbers}, since, set(ended))


def told(session, found):
    return prove(session, settings(1), found)


def test_jobs_that_ran_on_are_counted_and_said_last():
    session = Asking(run(1, "COMPLETED", nodes="gpu-1"), run(2, "TIMEOUT", nodes="gpu-1"), run(3, "FAILED", nodes="gpu-1"))
    assert told(session, met(1, 2, 3)) == "3 jobs ran on, 0 lost"
    assert session.said == [(f"{OWNER.text}: 3 jobs ran on, 0 lost", {"keep": True})]


def test_where_nothing_was_drained_nothing_is_asked_or_said():
    session = Asking()
    assert told(session, Met(OWNER)) == ""
    assert (session.said, session.world.asked) == ([], [])


def test_a_drain_without_jobs_says_so():
    assert told(Asking(), met()) == "0 jobs ran on, 0 lost"


@pytest.mark.parametrize(
    "again", [(), (run(2, "PENDING", nodes="None assigned", end=None),), (run(2, "COMPLETED", nodes="gpu-0"),)]
)
def test_a_job_that_its_node_took_along_is_an_error_requeued_or_not(again):
    session = Asking(run(1, "COMPLETED", nodes="gpu-1"), run(2, "NODE_FAIL", nodes="gpu-1"), *again)
    with pytest.raises(DrainLost, match=r"1 job\(s\) of 2 lost .*: 2 of alice \(NODE_FAIL on gpu-1 at .*sacct -D -j 2`"):
        told(session, met(1, 2))


def test_a_job_that_no_look_saw_is_found_by_its_node():
    """It began after the last look, on a node that somebody had returned to service."""
    with pytest.raises(DrainLost, match=r": 9 \(NODE_FAIL on gpu-0, gpu-1 at"):
        told(Asking(run(9, "NODE_FAIL", nodes="gpu-[0-1]")), met())


@pytest.mark.parametrize(
    "innocent",
    [
        run(2, "NODE_FAIL", nodes="gpu-7"),
        run(2, "NODE_FAIL", nodes="gpu-1", end=NOW - 61),
        run(2, "CANCELLED", nodes="gpu-1"),
        run(2, "REQUEUED", nodes="gpu-1"),
        run(2, "PREEMPTED", nodes="gpu-1"),
    ],
    ids=["elsewhere", "before", "by its user", "by hand", "preempted"],
)
def test_what_the_end_of_a_node_did_not_do_is_not_lost(innocent):
    assert told(Asking(run(1, "COMPLETED", nodes="gpu-1"), innocent), met(1)) == "1 job ran on, 0 lost"


@pytest.mark.parametrize(
    "gate",
    [
        settings(1, cluster="hpc"),
        test_maintenance.settings(cluster="hpc"),
        test_conf_run.settings(test_conf_run.BOTH, cluster="hpc"),
    ],
    ids=lambda gate: type(gate).__name__,
)
def test_no_gate_takes_a_run_of_another_cluster_for_one_of_its_jobs(gate):
    """Numbers of jobs and names of hosts are each cluster's own, and one slurmdbd has several clusters."""
    session = Asking(run(1, "RUNNING", nodes="gpu-1", end=None), run(1, "NODE_FAIL", nodes="gpu-1", cluster="other"))
    session.later.append(run(1, "COMPLETED", nodes="gpu-1"))
    assert prove(session, gate, met(1)) == "1 job ran on, 0 lost"
    assert session.pauses == 1, "the other cluster's run is not the end of this one"


@pytest.mark.parametrize("end", [None, NOW])
def test_an_end_that_slurmdbd_has_yet_to_hear_of_is_waited_for(end):
    """slurmdbd 26.05.5 shows now for the end of a job that runs."""
    session = Asking(run(1, "RUNNING", nodes="gpu-1", end=end), later=[run(1, "COMPLETED", nodes="gpu-1")])
    assert told(session, met(1)) == "1 job ran on, 0 lost"
    assert session.pauses == 1


def test_an_end_that_slurmdbd_never_hears_of_is_no_proof():
    session = Asking(run(1, "RUNNING", nodes="gpu-1", end=None), run(2, "COMPLETED", nodes="gpu-1"))
    assert told(session, met(1, 2, 3)) == "1 job ran on, 2 of whose end slurmdbd has not heard (1,3), 0 lost"
    assert session.pauses == proof.ROUNDS - 1


def test_without_slurmdbd_the_drain_is_as_good_and_nothing_is_claimed():
    session = Asking(down=True)
    said = told(session, met(1))
    assert said.startswith("1 job met by the drain; slurmdbd could not be asked, so it is not proven that none was lost")
    assert "7000" in said


def test_what_the_policy_ended_is_called_so():
    found = met(1, 2, 3, ended=(2,))
    rows = (run(n, state, nodes="gpu-1") for n, state in ((1, "COMPLETED"), (2, "CANCELLED"), (3, "COMPLETED")))
    assert told(Asking(*rows), found) == "2 jobs ran on, 1 ended as onDeadline says, 0 lost"


def test_a_drain_remembers_nodes_and_jobs_of_all_its_looks():
    found = Met(OWNER)
    jobs = [job(1, 1), job(2, 0)]
    found.see(seen([pod(0), given_up(1)], [node(0), held(1, "MIXED+DRAIN", reason_changed_at=NOW - 30)], jobs))
    found.see(seen([pod(0), given_up(1)], [node(0), held(1, "MIXED+DRAIN", reason_changed_at=NOW)], [job(3, 1)]))
    found.see(seen([pod(0), given_up(1)], [], cluster=None, problem="asleep"))
    assert (found.nodes, set(found.jobs), found.since) == ({"gpu-1"}, {1, 3}, NOW - 30)
    found.did(Requeue((1,)))
    found.did(Cancel((3,)))
    found.did(Wait("for more"))
    assert found.ended == {1, 3}


def test_a_job_that_ends_between_the_drain_and_the_next_look_was_met():
    """A look takes seconds on a busy slurmrestd; slurmdbd is asked for such a job all the same."""
    found = Met(OWNER)
    decided = seen([pod(0), given_up(1)], [node(0), node(1)], [job(1, 1), job(2, 0)], now=NOW)
    found.see(decided)
    found.did(Drain(("gpu-1",), "slinky-iac/lab/gpu: scale-in 2->1", 3600))
    found.see(seen([pod(0), given_up(1)], [node(0), held(1, "IDLE+DRAIN", reason_changed_at=NOW + 2)]))
    assert (found.nodes, set(found.jobs), found.since) == ({"gpu-1"}, {1}, decided.now)
    assert told(Asking(run(1, "COMPLETED", nodes="gpu-1")), found) == "1 job ran on, 0 lost"


def test_the_end_of_a_job_on_a_returned_node_is_not_waited_for():
    """A scale-in that is taken back: the jobs go on, and slurmdbd can have no end of them."""
    found = Met(OWNER)
    drained = [held(1, "MIXED+DRAIN", reason_changed_at=NOW - 30), held(2, "MIXED+DRAIN", reason_changed_at=NOW - 30)]
    found.see(seen([pod(0), given_up(1), given_up(2)], [node(0), *drained], [job(1, 1), job(2, 2), job(3, 1, 2)]))
    found.did(Undrain(("gpu-1",)))
    assert found.kept == {1}, "job 3 is also on a node that stays drained"
    session = Asking(run(1, "RUNNING", nodes="gpu-1", end=None), run(2, "FAILED", nodes="gpu-2"), run(3, "COMPLETED"))
    assert told(session, found) == "2 jobs ran on, 1 on returned nodes, whose end was not waited for, 0 lost"
    assert session.pauses == 0


def test_a_job_on_a_returned_node_is_lost_all_the_same_where_the_node_took_it_along():
    found = met(1)
    found.kept = {1}
    with pytest.raises(DrainLost):
        told(Asking(run(1, "NODE_FAIL", nodes="gpu-1")), found)


def test_a_job_that_ended_before_its_pod_was_replaced_counts_as_one_that_ran_on():
    """A rollout returns the node of the new pod."""
    found = Met(OWNER)
    found.see(seen([given_up(1)], [held(1, "MIXED+DRAIN", reason_changed_at=NOW - 30)], [job(1, 1)]))
    found.see(seen([given_up(1)], [held(1, "IDLE+DRAIN", reason_changed_at=NOW - 30)]))
    found.did(Undrain(("gpu-1",)))
    assert found.kept == set()


def test_a_node_that_a_person_drained_counts_once_its_pod_is_marked():
    found, theirs = Met(OWNER), node(1, "MIXED+DRAIN", "root: bad DIMM")
    found.see(seen([pod(0), pod(1)], [node(0), theirs], [job(1, 1)]))
    assert not found.nodes
    found.see(seen([pod(0), given_up(1)], [node(0), theirs], [job(1, 1)]))
    assert (found.nodes, set(found.jobs)) == ({"gpu-1"}, {1})


def test_only_runs_on_these_nodes_and_since_then_are_lost():
    lost = made_run(1, "NODE_FAIL", nodes="gpu-[1-2]", end=None)
    nowhere = made_run(1, "NODE_FAIL", nodes="", end=None)
    assert proof.lost_runs([lost, nowhere], met(nodes=("gpu-2",))) == (lost,)
    assert proof.lost_runs([lost, nowhere], met(1, nodes=("gpu-3",))) == (nowhere,)
