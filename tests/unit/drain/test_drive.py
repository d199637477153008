"""The loop of a gate over the model of operator and Slurm: it ends, it rests, it goes on where another run ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slinky_iac.drain import driver, scale
from slinky_iac.drain.settings import DrainPolicy
from slinky_iac.errors import DrainBlocked, DrainDeadline, KubeConflict, SlurmrestUnreachable
from slinky_iac.releases import OperatorVersion
from tests.unit.drain.model import OURS, PERSON, Job, world
from tests.unit.drain.model_session import ModelSession, job_ends, nothing, settings, with_job


def test_idle_nodes_are_removed_without_waiting_for_more_than_the_operator():
    session = ModelSession(world("1.1.0", 3))
    scale.settle(session, settings(1))
    assert session.acts == ["SetCosts", "Drain", "TriggerSync", "RenewHold", "SetReplicas"]
    assert session.rests == [driver.SOON_S], "the operator has been told to look, and needs a second"
    session.w.sync(refresh=True)
    assert set(session.w.deleted) == {"hpc-worker-gpu-2", "hpc-worker-gpu-1"}
    assert session.w.lost == []


def test_an_operator_that_never_looks_is_not_polled_hard():
    w = world("1.1.0", 3)
    w.operator_up = False
    session = ModelSession(w)
    with pytest.raises(DrainDeadline, match="not yet seen the drain"):
        scale.settle(session, settings(2))
    assert 10 < session.acts.count("TriggerSync") <= 60
    assert session.pauses < 600 / 2


def test_jobs_are_waited_for_and_told_on_the_way():
    w = with_job()
    w.jobs[2] = Job(2, ("gpu-0", "gpu-1"), w.now, w.now + 900)
    session = ModelSession(w, [nothing, nothing, job_ends(1)])
    scale.settle(session, settings(2))
    assert any("gpu-2: 1 job (1 of alice)" in line for line in session.said)
    assert set(w.jobs) == {2}


def test_the_gate_opens_by_a_whole_look_only_whatever_a_cheap_one_says():
    """A backup slurmctld whose clock is behind says "unchanged" of nodes that somebody has returned to service since."""
    session = ModelSession(world("1.1.0", 3))
    act = session.act

    def undrained_behind_a_stale_answer(step, wanted):
        act(step, wanted)
        if type(step).__name__ == "RenewHold" and session.stale is None:
            session.stale = session.w.observe()
            session.w.nodes["gpu-2"].drain = False

    session.act = undrained_behind_a_stale_answer
    scale.settle(session, settings(2))
    assert session.acts[: session.acts.index("SetReplicas")].count("Drain") == 2


def test_a_cheap_look_is_enough_to_wait_by():
    session = ModelSession(with_job(), [nothing, nothing, job_ends(1)])
    session.interrupted_at = 3
    scale.settle(session, settings(3))
    session.stale = replace(session.w.observe(), cluster=None, problem="asleep")
    with pytest.raises(DrainBlocked, match="interrupted"):
        scale.settle(session, settings(2))
    assert session.acts == []


def test_a_node_that_was_undrained_meanwhile_is_drained_again_before_the_write():
    session = ModelSession(world("1.1.0", 3))
    act = session.act

    def interfering(step, wanted):
        act(step, wanted)
        if session.acts.count("RenewHold") == 1 and type(step).__name__ == "RenewHold":
            session.w.nodes["gpu-2"].drain = False

    session.act = interfering
    scale.settle(session, settings(1))
    written = session.acts.index("SetReplicas")
    assert session.acts[:written].count("Drain") == 2


def test_deadline_ends_the_run_and_the_next_run_goes_on():
    w = with_job(node="gpu-0", end=None)
    session = ModelSession(w)
    with pytest.raises(DrainDeadline, match="gpu-0: 1 job"):
        scale.settle(session, settings(0))
    assert w.nodes["gpu-0"].reason.startswith(OURS)
    session.meanwhile = [job_ends(1)]
    scale.settle(session, settings(0))
    assert w.lost == []


def test_undo_at_the_deadline_leaves_nothing_of_ours():
    w = with_job(node="gpu-0", end=None)
    with pytest.raises(DrainDeadline):
        scale.settle(ModelSession(w), settings(0, policy=DrainPolicy(deadline_s=100, poll_s=10, on_deadline="undo")))
    assert not any(node.reason for node in w.nodes.values())
    assert not any("gate" in pod.annotations for pod in w.pods.values())


def test_an_undo_that_fails_hides_neither_the_deadline_nor_what_is_left():
    session = ModelSession(with_job(node="gpu-0", end=None))
    session.meanwhile = [nothing, lambda w: setattr(w, "rest_up", False)]
    with pytest.raises(
        DrainDeadline, match=r"the deadline .* is over(?s:.)*undo was incomplete.*drains of this stack are still"
    ):
        scale.settle(session, settings(0, policy=DrainPolicy(deadline_s=50, poll_s=10, on_deadline="undo")))


def test_bound_of_a_call_never_brings_the_policys_kill_forward():
    w = with_job(node="gpu-0", end=None)
    patient = DrainPolicy(deadline_s=10_000, bound_s=100, poll_s=10, on_deadline="cancel")
    session = ModelSession(w)
    with pytest.raises(DrainDeadline, match="this step may take 100 s"):
        scale.settle(session, settings(0, policy=patient))
    assert 1 in w.jobs
    assert not {"Signal", "Cancel", "Requeue"} & set(session.acts)


def test_jobs_are_signalled_then_cancelled_as_the_policy_says():
    w = with_job(node="gpu-0", end=None)
    session = ModelSession(w)
    scale.settle(session, settings(0, policy=DrainPolicy(deadline_s=100, poll_s=10, grace_s=30, on_deadline="cancel")))
    assert [act for act in session.acts if act in {"Signal", "Cancel"}] == ["Signal", "Cancel"]
    assert w.jobs == {}


@pytest.mark.parametrize("jump", [86_400, -3600])
def test_a_clock_that_is_put_right_cancels_no_job_before_its_time(jump):
    session = ModelSession(with_job(node="gpu-0", end=None))
    waited = []

    def set_clock(w):
        w.now += jump
        session.clock_set_by += jump
        w.jobs[1] = replace(w.jobs[1], start=w.jobs[1].start + jump)

    patient = DrainPolicy(deadline_s=100, poll_s=10, grace_s=30, on_deadline="cancel")
    session.meanwhile = [nothing, set_clock]
    act = session.act

    def noting(step, wanted):
        if type(step).__name__ in {"Signal", "Cancel"}:
            waited.append(session.steady() - begun)
        act(step, wanted)

    session.act, begun = noting, session.steady()
    scale.settle(session, settings(0, policy=patient))
    signalled, cancelled = waited
    assert 100 <= signalled <= 120
    assert 130 <= cancelled <= 160
    assert f"the clock was set by {jump} s; the wait is as long as before" in session.said


def test_a_job_that_began_in_the_future_is_signalled_again_after_a_pause_only():
    """slurmctld's clock may be ahead of ours by minutes; until then it is unknown whether the job has heard the signal."""
    w = with_job(node="gpu-0", end=None)
    w.jobs[1] = replace(w.jobs[1], start=w.now + 200)
    session = ModelSession(w)
    scale.settle(session, settings(0, policy=DrainPolicy(deadline_s=50, poll_s=10, grace_s=30, on_deadline="cancel")))
    assert w.jobs == {}
    assert session.acts.count("Signal") <= 200 // 10


@pytest.mark.parametrize("policy", ["requeue", "cancel"])
def test_releases_that_must_see_the_node_idle_are_waited_for_after_the_deadline(policy):
    """With them the first run used to end late as soon as its jobs were gone."""
    w = with_job(node="gpu-0", end=None, version="1.2.1")
    session = ModelSession(w)
    rules = DrainPolicy(deadline_s=100, poll_s=10, grace_s=30, on_deadline=policy)
    scale.settle(session, settings(0, policy=rules, version=OperatorVersion(1, 2, 1)))
    assert w.jobs == {} or all("gpu-0" not in job.node_names for job in w.jobs.values())


def test_a_write_that_collides_after_the_deadline_is_tried_again():
    """The signal's time is noted on the pod, and the operator writes pods whenever it likes."""
    w = with_job(node="gpu-0", end=None)
    session = ModelSession(w)
    act, collisions = session.act, [KubeConflict("409: the object has been modified")]

    def colliding(step, wanted):
        act(step, wanted)
        if type(step).__name__ == "Signal" and collisions:
            raise collisions.pop()

    session.act = colliding
    scale.settle(session, settings(0, policy=DrainPolicy(deadline_s=100, poll_s=10, grace_s=30, on_deadline="cancel")))
    assert collisions == []
    assert w.jobs == {}


def test_an_interrupt_tells_what_became_of_jobs_before_and_after_the_deadline():
    for at, told in ((2, "Nothing was killed"), (13, "Jobs were ended only as `onDeadline: ")):
        session = ModelSession(with_job(node="gpu-0", end=None))
        session.interrupted_at = at
        patient = DrainPolicy(deadline_s=100, poll_s=10, grace_s=300, on_deadline="cancel")
        with pytest.raises(DrainBlocked, match=told):
            scale.settle(session, settings(0, policy=patient))


def test_same_act_again_comes_after_a_pause():
    """slurmctld takes its time to requeue: no tight loop."""
    w = with_job(node="gpu-0", end=None)
    session = ModelSession(w)
    slow = w.act

    def act(step, share=1.0):
        if type(step).__name__ != "Requeue" or session.acts.count("Requeue") > 2:
            slow(step, share)

    w.act = act
    scale.settle(session, settings(0, policy=DrainPolicy(deadline_s=0, bound_s=900, poll_s=10, on_deadline="requeue")))
    assert session.acts.count("Requeue") == 3
    assert session.pauses >= 1


def test_interrupt_and_a_dead_engine_end_the_loop_and_nothing_is_forgotten():
    w = with_job(node="gpu-0", end=None)
    session = ModelSession(w)
    session.interrupted_at = 2
    with pytest.raises(DrainBlocked, match="interrupted"):
        scale.settle(session, settings(0))
    session.alive = False
    with pytest.raises(DrainBlocked, match="engine is gone"):
        scale.settle(session, settings(0))
    assert w.nodes["gpu-0"].reason.startswith(OURS)


def test_passing_trouble_is_told_and_survived():
    w = world("1.1.0", 2)
    session = ModelSession(w)
    look, troubles = session.observe, [SlurmrestUnreachable("refused"), KubeConflict("409")]

    def observe(wanted, **_more):
        if troubles:
            raise troubles.pop()
        return look(wanted)

    session.observe = observe
    scale.settle(session, settings(1))
    assert {"refused", "409"} <= set(session.said)
    troubles += [SlurmrestUnreachable("refused")] * 1000
    with pytest.raises(DrainDeadline, match="without an answer"):
        scale.settle(session, settings(0))


def test_teardown_waits_for_all_jobs_and_then_lets_the_nodeset_go():
    w = with_job(node="gpu-1")
    session = ModelSession(w, [nothing, job_ends(1)])
    scale.tear_down(session, settings(3))
    assert w.jobs == {}
    assert all(node.drain for node in w.nodes.values())
    assert "CordonAnnotate" not in session.acts


def test_without_a_nodeset_there_is_nothing_to_do():
    session = ModelSession(world("1.1.0", 1))
    session.gone = True
    scale.tear_down(session, settings(0))
    with pytest.raises(DrainBlocked, match="`pulumi up --refresh`, which makes it again"):
        scale.settle(session, settings(0))
    assert session.acts == []


def test_raising_again_gives_back_what_an_interrupted_run_left():
    w = with_job(node="gpu-0", end=None)
    session = ModelSession(w)
    session.interrupted_at = 3
    with pytest.raises(DrainBlocked):
        scale.settle(session, settings(0))
    scale.settle(session, settings(3))
    assert not any(node.reason for node in w.nodes.values())
    assert not any({"gate", "pod-cordon"} & pod.annotations.keys() for pod in w.pods.values())


def test_cancel_gives_back_ours_and_nothing_else():
    w = with_job(node="gpu-0", end=None)
    w.nodes["gpu-1"].drain, w.nodes["gpu-1"].reason = True, f"{PERSON} bad DIMM"
    session = ModelSession(w)
    session.interrupted_at = 3
    with pytest.raises(DrainBlocked):
        scale.settle(session, settings(0))
    assert scale.give_back(session, settings(0)) >= 2
    assert {node.reason for node in w.nodes.values()} == {"", f"{PERSON} bad DIMM"}
    assert scale.give_back(session, settings(0)) == 0


def test_a_cancel_goes_on_after_a_write_of_the_operators_came_between():
    """Each change of a node's state makes the operator write the pod, which is just what a cancel makes of it."""
    session = ModelSession(with_job(end=None))
    with pytest.raises(DrainDeadline):
        scale.settle(session, settings(0, policy=DrainPolicy(deadline_s=30, poll_s=10)))
    act, troubles = session.act, [SlurmrestUnreachable("refused"), KubeConflict("409")]

    def colliding(step, wanted):
        if troubles:
            raise troubles.pop()
        act(step, wanted)

    session.act = colliding
    assert scale.give_back(session, settings(0)) == 2
    assert {"refused", "409"} <= set(session.said)
    assert not any(node.drain for node in session.w.nodes.values())


@pytest.mark.parametrize("run", [scale.give_back, scale.settle])
def test_a_cancel_and_an_update_back_leave_no_permission_in_the_fence(run):
    """A run that was killed between its permission and its write: kubectl could still delete what it was for."""
    w = world("1.1.0", 2)
    w.permitted = True
    run(ModelSession(w), settings(2))
    assert not w.permitted


def test_cancel_after_the_write_waits_for_the_pods_and_says_so():
    w = world("1.1.0", 2)
    session = ModelSession(w)
    scale.settle(session, settings(1))
    w.replicas, w.generation, w.operator_up = 1, 2, False
    with pytest.raises(DrainBlocked, match="marks or drains of this stack are still there"):
        scale.give_back(session, settings(1))
    assert w.nodes["gpu-1"].drain, "a node whose pod is being deleted stays drained"
    w.operator_up = True
    scale.give_back(session, settings(1))
    assert list(w.pods) == [0]


def test_autoscaler_below_its_maximum_is_left_alone_and_above_it_is_drained_down():
    session = ModelSession(world("1.1.0", 3))
    scale.settle(session, settings(0, scaler="autoscaler", max_replicas=5))
    assert session.acts == []
    scale.settle(session, settings(0, scaler="autoscaler", max_replicas=2))
    assert "Drain" in session.acts
    assert [node.name for node in session.w.nodes.values() if node.drain] == ["gpu-2"]


def test_a_new_nodeset_gets_an_autoscalers_first_number_and_an_older_one_keeps_its_own():
    empty = world("1.1.0", 0)
    scale.settle(ModelSession(empty), settings(2, scaler="autoscaler", max_replicas=5), first=True)
    assert empty.replicas == 2
    live = world("1.1.0", 3)
    scale.settle(ModelSession(live), settings(2, scaler="autoscaler", max_replicas=5), first=True)
    assert live.replicas == 3


def test_a_number_that_somebody_raised_is_lowered_by_a_drain():
    session = ModelSession(with_job())
    session.meanwhile = [nothing, job_ends(1)]
    session.w.jobs[2] = Job(2, ("gpu-0", "gpu-1"), session.w.now, None)
    scale.settle(session, settings(2))
    assert session.w.replicas == 2
    assert session.w.lost == []
