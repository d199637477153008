"""The wait for nodes after a NodeSet's write: what is waited for, what is given back, and what is named at its end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain import members, scale
from slinky_iac.drain.protocol import TriggerSync, Wait
from slinky_iac.drain.rollout import roll_step
from slinky_iac.drain.settings import DrainPolicy
from slinky_iac.drain.steps import next_step
from slinky_iac.drain.tags import BASE_COST, Tag
from slinky_iac.errors import DrainDeadline
from tests.unit.drain.made import NOW, given_up, goal, held, job, node, nodeset, pod, seen
from tests.unit.drain.model import OURS, PERSON, Node, Pod, world
from tests.unit.drain.model_session import ModelSession, nothing, settings


def test_members_are_awaited_until_registered():
    w = world("1.1.0", 2)
    w.replicas, w.generation = 3, 2
    starts = lambda w: w.register(w.pods[2])  # noqa: E731

    def ready(w):
        w.pods[2].ready = True

    session = ModelSession(w, [nothing, starts, ready])
    scale.await_members(session, settings(3))
    assert any("2 pods where 3 are asked for" in line for line in session.said)
    assert any("has no Kubernetes node" in line for line in session.said)


def test_member_that_does_not_come_is_named_with_the_reason():
    w = world("1.1.0", 2)
    w.pods[2] = Pod(2, created=w.now, scheduled=True)
    w.replicas = 3
    with pytest.raises(DrainDeadline, match=r"hpc-worker-gpu-2 is starting \(Pending\)"):
        scale.await_members(ModelSession(w), settings(3, policy=DrainPolicy(register_deadline_s=30)))


def test_a_pod_without_a_place_is_told_with_the_way_to_swap_nodesets():
    w = world("1.1.0", 2)
    w.pods[2] = Pod(2, created=w.now, scheduled=False)
    w.replicas = 3
    with pytest.raises(DrainDeadline, match=r"has no Kubernetes node.*first remove that one in an update of its own"):
        scale.await_members(ModelSession(w), settings(3, policy=DrainPolicy(register_deadline_s=30)))


def test_own_drain_left_on_a_kept_node_is_given_back_while_waiting():
    w = world("1.1.0", 2)
    w.nodes["gpu-1"] = Node("gpu-1", drain=True, reason=f"{OURS}: scale-in 3->1")
    session = ModelSession(w)
    scale.await_members(session, settings(2))
    assert session.acts == ["Undrain"]


def test_a_mark_of_ours_without_a_drain_is_taken_off_before_an_update_ends_well():
    """A rollout marked the pod by the word of another cluster's slurmctld, and the template was taken back."""
    w = world("1.1.0", 2)
    w.pods[1].annotations |= {"gate": Tag("dev/gpu", BASE_COST).text(), "pod-deletion-cost": str(BASE_COST)}
    session = ModelSession(w)
    scale.await_members(session, settings(2))
    assert session.acts == ["Release"]
    assert "gate" not in w.pods[1].annotations


def test_a_drain_of_ours_that_nobody_lifts_ends_the_wait_for_nodes():
    w = world("1.1.0", 2)
    w.nodes["gpu-1"] = Node("gpu-1", drain=True, reason=f"{OURS}: scale-in 3->1")
    session = ModelSession(w)
    w.act = lambda _step: None
    with pytest.raises(DrainDeadline, match="drains of ours, or records of earlier pods, are still on nodes"):
        scale.await_members(session, settings(2))
    assert 300 <= sum(session.rests) <= 320


def test_nodes_over_an_autoscalers_maximum_stay_held_until_it_follows():
    """Found on the lab: the gate after the NodeSet took the drain of the gate before it for a leftover."""
    w = world("1.1.0", 3)
    session = ModelSession(w)
    lowered = settings(2, scaler="autoscaler")
    scale.settle(session, lowered)
    session.acts.clear()
    scale.await_members(session, lowered)
    assert (session.acts, w.nodes["gpu-2"].drain) == ([], True)
    w.replicas, w.generation = 2, w.generation + 1
    w.sync(refresh=True)
    assert (w.deleted, w.lost) == (["hpc-worker-gpu-2"], [])


def test_drain_of_a_person_does_not_hold_up_an_update():
    w = world("1.1.0", 2)
    w.nodes["gpu-1"] = Node("gpu-1", drain=True, reason=f"{PERSON} bad DIMM")
    session = ModelSession(w)
    scale.await_members(session, settings(2))
    assert (session.acts, session.pauses) == ([], 0)


def test_absent_nodeset_silent_slurm_and_dead_nodes_are_told():
    w = world("1.1.0", 2)
    seen = w.observe()
    assert members.absent(replace(seen, nodeset=None), settings(2)) == ("there is no NodeSet hpc-worker-gpu",)
    assert "refused" in members.absent(replace(seen, cluster=None, problem="refused"), settings(2))[0]
    w.nodes["gpu-0"].down, w.nodes["gpu-0"].reason = True, "Not responding"
    del w.nodes["gpu-1"]
    faults = members.absent(w.observe(), settings(2))
    assert [fault.split()[0] for fault in faults] == ["gpu-0", "gpu-1"]


def test_a_node_that_slurmctld_refuses_to_use_as_it_registered_is_told():
    """slurmctld drains it with words of its own, which would pass for a person's decision."""
    look = seen([pod(0)], [node(0, "IDLE+DRAIN+INVALID_REG", "gres/gpu count reported lower than configured (0 < 8)")])
    (fault,) = members.absent(look, settings(1))
    assert fault.startswith("gpu-0 registered as something else than it is configured to be: gres/gpu count")


STOPPED = {"replicas": 2, "nodeset": nodeset(2)}


def left_over(**changes):
    """Three pods where two are asked for: slurm-operator has seen that, and deletes no more."""
    tag = Tag("dev/gpu", BASE_COST, hold=NOW + 5000, nudged_at=changes.pop("nudged_at", None)).text()
    last = given_up(2, gate=tag, **changes)
    return [pod(0), pod(1), last]


def step_of(pods, **changes):
    look = seen(pods, [node(0), node(1), held(2)], **{**STOPPED, **changes})
    return members.members_step(look, settings(2), NOW + 300)


def test_an_operator_that_has_stopped_on_the_way_is_made_to_look_again():
    """It deletes 250 pods in one pass; the rest stayed until somebody touched one of them (576 nodes on the lab)."""
    (mark,) = step_of(left_over()).pods
    assert mark.pod == "hpc-worker-gpu-2"
    assert mark.cost == BASE_COST


@pytest.mark.parametrize(
    ("pods", "changes"),
    [
        (left_over(nudged_at=NOW - 5), {}),
        (left_over(terminating=True), {}),
        ([pod(0), pod(1), pod(2)], {}),
        (left_over(), {"nodeset": nodeset(2, generation=3)}),
        (left_over(), {"cluster": ClusterView.of([node(0), node(1), held(2)], [job(1, 2)])}),
        (left_over(), {"cluster": ClusterView.of([node(0), node(1), node(2)], [])}),
        (left_over(), {"cluster": None, "problem": "no answer"}),
    ],
    ids=["told a moment ago", "at work", "not ours", "has not seen the number", "a job is there", "undrained", "no answer"],
)
def test_it_is_left_alone_where_it_works_or_a_touch_is_not_ours_to_make(pods, changes):
    assert isinstance(step_of(pods, **changes), Wait)


def test_a_rollout_that_waits_for_it_does_so_too():
    """The gate of an update that scales in looks for pods of an earlier template next."""
    look = seen(left_over(), [node(0), node(1), held(2)], **{**STOPPED, "nodeset": nodeset(2, on_delete=True)})
    assert isinstance(roll_step(look, goal(2, 2, rolls=1)), TriggerSync)
    assert isinstance(next_step(look, goal(2, 1)), TriggerSync)
