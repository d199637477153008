"""The other side of a rule: equal to the limit, one of two, no answer, a name that stays. Each test is a fault that once
passed all others."""

from dataclasses import replace

import pytest

from slinky_iac.drain.members import members_step, release_steps, undo_steps
from slinky_iac.drain.proof import Met
from slinky_iac.drain.protocol import DeletePods, Release, Replaced, SetReplicas, Stop, Undrain, Wait
from slinky_iac.drain.scale import RollTask
from slinky_iac.drain.settings import DrainPolicy, Limits
from slinky_iac.drain.steps import FIRST_ANSWER_S, next_step
from slinky_iac.drain.waiting import over_limits
from slinky_iac.releases import OperatorVersion
from tests.unit.drain.made import NOW, OWNER, given_up, goal, held, job, node, pod, seen
from tests.unit.drain.model import Job, world
from tests.unit.drain.model_session import settings
from tests.unit.drain.wider_machine import DaemonsSession


def test_limits_are_not_judged_again_where_one_of_two_is_drained_already():
    """A kill between the two drains: the jobs of the first are waited for since, and only grow older."""
    look = seen([pod(0), pod(1), given_up(2)], [node(0), node(1), held(2, "MIXED+DRAIN")], [job(1, 2)])
    step = next_step(look, goal(3, 1, policy=DrainPolicy(limits=Limits(max_jobs=0))))
    assert not isinstance(step, Stop), step
    fresh = seen([pod(0), pod(1), pod(2)], [node(n, "MIXED") for n in range(3)], [job(n + 1, n) for n in range(3)])
    assert isinstance(next_step(fresh, goal(3, 1, policy=DrainPolicy(limits=Limits(max_jobs=0)))), Stop)


@pytest.mark.parametrize(("removed", "over"), [(1, False), (2, True)])
def test_a_share_that_is_just_met_is_no_excess(removed, over):
    assert bool(over_limits(Limits(max_share=0.5), NOW, (), removed, 2)) is over


def test_only_a_nodeset_without_pods_is_raised_without_slurms_word_on_names_in_use():
    late = NOW + FIRST_ANSWER_S + 1
    silent = {"cluster": None, "problem": "asleep", "now": late}
    wants = goal(0, 3, deadline_at=NOW + DrainPolicy().register_deadline_s)
    assert next_step(seen([], [], replicas=0, **silent), wants) == SetReplicas(3)
    two = goal(2, 3, deadline_at=NOW + DrainPolicy().register_deadline_s)
    assert isinstance(next_step(seen([pod(0), pod(1)], [], **silent), two), Wait)


def test_slurmdbd_is_asked_before_a_rollout_deletes_a_pod_that_slurmctld_has_no_record_of():
    w = world("1.1.0", 2)
    w.hidden = {7: Job(7, ("gpu-1",), w.now, None)}
    del w.nodes["gpu-1"]
    found = settings(2)
    task = RollTask(DaemonsSession(w), found, goal(2, 2, deadline_at=w.now + 600), Met(OWNER))
    step = task.check(w.observe(), DeletePods((Replaced("hpc-worker-gpu-1", ""),)))
    assert isinstance(step, Wait)
    assert "7" in step.why
    w.hidden.clear()
    act = DeletePods((Replaced("hpc-worker-gpu-1", ""),))
    assert task.check(w.observe(), act) == act


# -- giving back -------------------------------------------------------------------------------------------------------
def test_what_is_on_a_pod_that_is_kept_stays_drained():
    look = seen([pod(0), given_up(1)], [node(0), held(1)])
    assert Undrain(("gpu-1",)) in undo_steps(look, OWNER)
    assert undo_steps(look, OWNER, {given_up(1).name}) == ()


def test_a_pod_that_the_operator_may_take_by_its_own_contradictions_is_not_given_back():
    """Before 1.0.5, 1.1.2 and 1.2.1 cordoned pods have no order: either of these two may be the one."""
    look = seen([given_up(0), given_up(1)], [held(0), held(1)], replicas=1, version=OperatorVersion(1, 0, 1))
    assert [type(step) for step in release_steps(look, OWNER, ())] == [Wait]


def test_marks_are_given_back_at_an_autoscalers_maximum_and_kept_over_it():
    look = seen([pod(0), given_up(1)], [node(0), held(1)])
    at, over = (settings(0, scaler="autoscaler", max_replicas=most) for most in (2, 1))
    assert isinstance(members_step(look, at, NOW + 60), Release)
    assert not isinstance(members_step(replace(look), over, NOW + 60), Release)
