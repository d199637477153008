"""At the deadline only what the policy names is done, and only to jobs on nodes that are held."""

import pytest

from slinky_iac.drain.protocol import Cancel, Requeue, Signal, Stop, TriggerSync, Wait
from slinky_iac.drain.settings import LAST_RESORT_S, DrainPolicy
from slinky_iac.drain.steps import next_step
from slinky_iac.drain.tags import BASE_COST, Tag
from tests.unit.drain.made import NOW, given_up, goal, held, job, node, pod, seen


def at_deadline(on_deadline, *jobs, pods=None, over=0, nodes=None, told=None, **policy):
    """The step ``over`` seconds after the deadline, with jobs on gpu-1 and gpu-2. ``told``: when each was signalled."""
    pods = pods or [pod(0), given_up(1), given_up(2)]
    look = seen(pods, nodes or [node(0), held(1, "MIXED+DRAIN"), held(2, "MIXED+DRAIN")], jobs)
    rules = DrainPolicy(on_deadline=on_deadline, **{"grace_s": 60, **policy})
    return next_step(look, goal(3, 1, policy=rules, deadline_at=NOW - over, signalled=told or {}))


def test_nothing_is_done_to_jobs_before_the_deadline():
    for policy in ("keep", "undo", "requeue", "cancel"):
        assert isinstance(at_deadline(policy, job(1, 2), over=-1), Wait)


@pytest.mark.parametrize(("policy", "undo"), [("keep", False), ("undo", True)])
def test_keep_and_undo_end_without_touching_a_job(policy, undo):
    found = at_deadline(policy, job(1, 2))
    assert isinstance(found, Stop)
    assert found.cause == "deadline"
    assert found.undo is undo
    assert "Nothing was killed" in found.why
    assert "gpu-2: 1 job (1 of alice)" in found.why


def test_requeue_takes_only_jobs_that_allow_it_and_are_not_ending():
    jobs = job(1, 2, requeue=True), job(2, 1), job(3, 1, state="COMPLETING", requeue=True)
    assert at_deadline("requeue", *jobs) == Requeue((1,))


def test_job_that_may_not_be_requeued_ends_the_run_and_is_named():
    found = at_deadline("requeue", job(2, 1))
    assert isinstance(found, Stop)
    assert "may not be requeued: 1 job (2 of alice)" in found.why


@pytest.mark.parametrize("teardown", [False, True])
@pytest.mark.parametrize(("required", "requeued"), [((), True), (("gpu-0",), False), (None, False)])
def test_a_job_that_names_a_node_whose_record_goes_is_not_requeued(required, requeued, teardown):
    """It would wait for a node that isn't there, and end with slurmctld's next start."""
    look = seen([given_up(0)], [held(0, "MIXED+DRAIN")], [job(1, 0, required=required, requeue=True)])
    policy = DrainPolicy(on_deadline="requeue")
    found = next_step(look, goal(1, 0, policy=policy, deadline_at=NOW - 1, teardown=teardown))
    assert isinstance(found, Requeue) is requeued
    assert requeued or "a requeue would not save these" in found.why


def test_only_the_names_of_nodes_that_go_keep_a_job_from_a_requeue():
    """gpu-0 stays, so a job that names it waits there for its second run. One on gpu-0 that names gpu-2 stays as it is."""
    names_one_that_stays, names_one_that_goes = (
        job(1, 0, 2, required=["gpu-0"], requeue=True),
        job(2, 0, required=["gpu-0", "gpu-2"], requeue=True),
    )
    assert at_deadline("requeue", names_one_that_stays, names_one_that_goes) == Requeue((1,))
    assert isinstance(at_deadline("requeue", names_one_that_goes), Stop)


def test_jobs_that_are_leaving_after_a_requeue_are_waited_for_but_not_for_ever():
    ending = job(1, 2, state="PENDING+COMPLETING", requeue=True)
    assert isinstance(at_deadline("requeue", ending), Wait)
    found = at_deadline("requeue", ending, over=LAST_RESORT_S)
    assert isinstance(found, Stop)
    assert "though they were requeued" in found.why


@pytest.mark.parametrize("policy", ["requeue", "cancel"])
def test_nodes_whose_jobs_the_policy_sent_away_get_a_moment_to_be_idle_but_not_for_ever(policy):
    """slurmctld ends a job before it calls its node idle: a look between the two must not end the run."""
    assert isinstance(at_deadline(policy), Wait)
    assert isinstance(at_deadline(policy, over=60 + LAST_RESORT_S), Stop)
    assert isinstance(at_deadline("keep"), Stop)


def test_the_moment_counts_from_the_cancel_however_long_the_grace_period_before_it():
    assert isinstance(at_deadline("cancel", over=3600, grace_s=3600), Wait)


FREE = [node(0), held(1), held(2)]


@pytest.mark.parametrize("policy", ["requeue", "cancel"])
def test_free_nodes_are_handed_over_after_the_deadline_too_once_the_operator_has_seen_them(policy):
    """The policy empties the nodes only after the deadline; some releases must then see them idle."""
    blind = [pod(0), given_up(1), given_up(2, slurm_states=frozenset({"IDLE"}))]
    assert isinstance(at_deadline(policy, pods=blind, nodes=FREE, over=1), TriggerSync)
    told = given_up(2, slurm_states=frozenset({"IDLE"}), gate=Tag("dev/gpu", BASE_COST, nudged_at=NOW - 1).text())
    assert isinstance(at_deadline(policy, pods=[*blind[:2], told], nodes=FREE, over=1), Wait)
    assert isinstance(at_deadline(policy, pods=blind, nodes=FREE, over=60 + LAST_RESORT_S), Stop)
    assert isinstance(at_deadline("keep", pods=blind, nodes=FREE, over=1), Stop)


@pytest.mark.parametrize("policy", ["requeue", "cancel"])
def test_a_question_without_an_answer_after_the_deadline_does_not_end_what_the_policy_began(policy):
    def silent(over):
        look = seen([pod(0), given_up(1), given_up(2)], [], cluster=None, problem="connection refused")
        rules = DrainPolicy(on_deadline=policy, grace_s=60)
        return next_step(look, goal(3, 1, policy=rules, deadline_at=NOW - over))

    assert isinstance(silent(1), Wait)
    end = silent(60 + LAST_RESORT_S)
    assert isinstance(end, Stop)
    assert "Jobs were ended only as `onDeadline: " in end.why


def test_jobs_on_nodes_that_are_not_drained_are_never_touched():
    """With one node at a time, the job on the next node is not ours to touch yet."""
    pods, nodes = [pod(0), pod(1), given_up(2)], [node(0), node(1), held(2, "MIXED+DRAIN")]
    jobs = job(1, 2, requeue=True, end=NOW + 5), job(2, 1, requeue=True), job(3, 0, end=None)
    found = at_deadline("requeue", *jobs, pods=pods, nodes=nodes, max_at_once=1)
    assert found == Requeue((1,))


def test_node_that_is_not_free_without_a_job_ends_the_run_whatever_the_policy():
    for policy in ("requeue", "cancel"):
        assert isinstance(at_deadline(policy, over=60 + LAST_RESORT_S), Stop)


def test_signal_comes_before_cancel():
    found = at_deadline("cancel", job(1, 2), job(2, 1, state="COMPLETING"), job(3, 1), signal="SIGUSR1")
    assert found == Signal((1, 3), "SIGUSR1")


def test_cancel_comes_only_after_the_grace_period():
    waiting = at_deadline("cancel", job(1, 2), told={1: NOW})
    assert isinstance(waiting, Wait)
    assert "cancelled at" in waiting.why
    told = {1: NOW - 60, 2: NOW - 60}
    assert at_deadline("cancel", job(1, 2), job(2, 1), told=told, over=60) == Cancel((1, 2))


def test_grace_counts_from_the_last_signal():
    told = {1: NOW - 70, 2: NOW - 10}
    assert isinstance(at_deadline("cancel", job(1, 2), job(2, 1), told=told, over=80), Wait)


def test_job_that_began_after_the_signal_gets_one_of_its_own():
    """Somebody undrained the node for a moment and a job slipped in, or one was requeued and began again."""
    old, new, again = job(1, 2, start_time=NOW - 100), job(2, 2, start_time=NOW - 70), job(3, 2, start_time=NOW - 70)
    told = {1: NOW - 70, 3: NOW - 70}
    assert at_deadline("cancel", old, new, again, told=told, over=80) == Signal((2, 3), "SIGTERM")
    assert at_deadline("cancel", old, told=told, over=80) == Cancel((1,))


def test_signal_of_an_earlier_part_of_the_run_does_not_count():
    """A rollout's next batch has a deadline of its own."""
    assert isinstance(at_deadline("cancel", job(1, 2), told={1: NOW - 500}, over=80), Signal)


def test_cancelled_jobs_are_waited_for_but_not_for_ever():
    ending = job(1, 2, state="CANCELLED+COMPLETING")
    assert isinstance(at_deadline("cancel", ending, told={1: NOW - 100}, over=100), Wait)
    found = at_deadline("cancel", ending, told={1: NOW - 60 - LAST_RESORT_S}, over=60 + LAST_RESORT_S)
    assert isinstance(found, Stop)
    assert "though they were cancelled" in found.why


def test_waiting_for_anything_but_jobs_ends_at_the_deadline_too():
    look = seen([pod(0), given_up(1), given_up(2)], [], cluster=None, problem="connection refused")
    found = next_step(look, goal(3, 1, deadline_at=NOW))
    assert isinstance(found, Stop)
    assert "connection refused" in found.why


@pytest.mark.parametrize("policy", ["requeue", "cancel"])
def test_only_the_task_on_a_removed_node_is_touched_and_never_its_array(policy):
    """Task 3 of array 12 has the id 12, and slurmctld takes the bare 12 for all tasks: those on retained nodes too."""
    there = job(12, 2, requeue=True, array_job_id=12, array_task_id=3)
    elsewhere = job(13, 0, requeue=True, array_job_id=12, array_task_id=0)
    step = at_deadline(policy, there, elsewhere, told={"12_3": NOW}, over=60, grace_s=0)
    assert step.jobs == ("12_3",)
    if policy == "cancel":
        first = at_deadline(policy, there, elsewhere, over=60, grace_s=0)
        assert (type(first), first.jobs) == (Signal, ("12_3",))
