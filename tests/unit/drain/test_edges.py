"""No job is lost beside the protocol: operators that are away, pods on their way, autoscalers, gates without an engine."""

from __future__ import annotations

import pytest

from slinky_iac.drain import scale
from slinky_iac.drain.settings import DrainPolicy
from slinky_iac.errors import DrainBlocked, DrainDeadline
from slinky_iac.releases import OperatorVersion
from tests.unit.drain.model import Job, world
from tests.unit.drain.model_session import ModelSession, job_ends, nothing, settings, with_job


def test_an_operator_that_starts_again_after_an_hour_kills_no_job():
    """Replicas are lowered, the operator is away, slurmctld would have returned the node, the operator starts without a
    Slurm client and takes every node for drained."""
    session = ModelSession(world("1.2.1", 3))
    scale.settle(session, settings(2, version=OperatorVersion(1, 2, 1)))
    w = session.w
    w.operator_up = False
    for _ in range(40):
        w.now += 120
        w.expire_holds()
    doomed = w.pods[2]
    assert not w.can_start_on(doomed), "slurmctld has returned a node whose pod is condemned"
    w.operator_up, w.client = True, False
    w.sync(refresh=True)
    assert w.lost == []


@pytest.mark.parametrize("version", ["1.0.1", "1.0.4", "1.0.5", "1.1.0", "1.1.1", "1.2.1"])
@pytest.mark.parametrize("idle_seen", [False, True])
def test_an_operator_that_died_since_the_run_before_is_not_taken_for_a_seeing_one(version, idle_seen):
    w = world(version, 3)
    w.jobs = {n: Job(n, (f"gpu-{n - 1}",), w.now, w.now + 100_000) for n in range(1, 4)}
    first = settings(2, policy=DrainPolicy(deadline_s=40, poll_s=2), version=w.version)
    with pytest.raises(DrainDeadline):
        scale.settle(ModelSession(w), first)
    if idle_seen:
        w.jobs.clear()
        w.sync(refresh=True)
    w.operator_up = False
    w.jobs.clear()
    second = ModelSession(w, run="r2")
    with pytest.raises(DrainDeadline, match="not yet seen the drain"):
        scale.settle(second, first)
    assert w.replicas == 3, "replicas were lowered though no operator has run since"


def test_a_pod_on_its_way_loses_no_job_to_a_removal():
    """Its NodeSet is deleted by the gate, in the very look in which all is free: nothing registers in between."""
    w = world("1.2.1", 2)
    w.replicas, w.generation = 3, 2
    w.sync(refresh=True)
    assert not w.pods[2].scheduled
    session = ModelSession(w)
    scale.tear_down(session, settings(3, version=w.version))
    assert session.acts[-1] == "DeleteNodeSet"
    assert set(w.deleted) == {"hpc-worker-gpu-0", "hpc-worker-gpu-1", "hpc-worker-gpu-2"}


def test_an_autoscaler_that_goes_on_loses_no_job_to_a_removal():
    w = world("1.2.1", 2)
    w.jobs[1] = Job(1, ("gpu-0",), w.now, w.now + 3600)

    def more(w):
        w.replicas, w.generation = 4, w.generation + 1
        w.sync(refresh=True)
        for n in (2, 3):
            w.register(w.pods[n])
            w.pods[n].ready = True
        w.jobs[2] = Job(2, ("gpu-2",), w.now, w.now + 3600)

    session = ModelSession(w, [more, nothing, job_ends(1), nothing, job_ends(2)])
    scale.tear_down(session, settings(2, scaler="autoscaler", version=w.version))
    assert w.lost == []
    assert session.acts[-1] == "DeleteNodeSet"


def test_a_gate_without_an_engine_stops_waiting_for_nodes():
    w = world("1.1.0", 2)
    w.pods[1].ready = False
    session = ModelSession(w)
    session.alive = False
    with pytest.raises(DrainBlocked, match="the engine is gone"):
        scale.await_members(session, settings(2))
    assert session.pauses == 1


def test_a_gate_without_an_engine_gives_nothing_back():
    session = ModelSession(with_job(end=None))
    with pytest.raises(DrainDeadline):
        scale.settle(session, settings(0, policy=DrainPolicy(deadline_s=30, poll_s=10)))
    orphan = ModelSession(session.w)
    orphan.alive = False
    with pytest.raises(DrainBlocked, match="the engine is gone"):
        scale.give_back(orphan, settings(0))
    assert orphan.acts == []
