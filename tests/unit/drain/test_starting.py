"""A scale-out under ``drain.startAtOnce``: never more pods start at a time than it allows, also after an interrupted run.
All of them start in the end."""

from __future__ import annotations

import random
from contextlib import suppress
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.drain import scale
from slinky_iac.drain.protocol import Resume, SetReplicas, Stop, Wait
from slinky_iac.drain.settings import DrainPolicy
from slinky_iac.drain.steps import next_step
from slinky_iac.errors import DrainBlocked, DrainDeadline
from tests.unit.drain.made import NOW, goal, node, nodeset, pod, seen
from tests.unit.drain.model import Node, world
from tests.unit.drain.model_session import ModelSession, settings


def of(most: int, **changes) -> DrainPolicy:
    return DrainPolicy(start_at_once=most, **{"register_deadline_s": 300, "poll_s": 2, "bound_s": 900, **changes})


def unregistered(w) -> list:
    return [each for each in w.pods.values() if each.node not in w.nodes]


def starts(w, dice: random.Random) -> None:
    """Some of the pods that are on their way get there."""
    for each in unregistered(w):
        if dice.random() < 0.5:
            each.scheduled = each.running = each.ready = True
            each.ready_changed = w.now
            w.nodes[each.node] = Node(each.node)


class Watched(ModelSession):
    """Notes how many pods were on their way or asked for after each write."""

    def __init__(self, w, seed: int):
        super().__init__(w)
        self.dice = random.Random(seed)
        self.most = 0

    def pause(self, seconds):
        starts(self.w, self.dice)
        return super().pause(seconds)

    def act(self, step, owner):
        super().act(step, owner)
        if isinstance(step, SetReplicas):
            self.most = max(self.most, step.replicas - len(self.w.nodes))


@given(
    st.integers(1, 5), st.integers(0, 4), st.integers(1, 12), st.integers(0, 999), st.lists(st.integers(1, 4), max_size=3)
)
def test_no_more_pods_start_at_once_than_may_and_all_start_whoever_stops_the_run(most, there, more, seed, stops):
    w = world("1.2.1", there)
    wants = settings(there + more, policy=of(most))
    for pauses in [*stops, None]:
        session = Watched(w, seed)
        session.interrupted_at = pauses
        with suppress(DrainBlocked):  # interrupted
            scale.settle(session, wants)
        assert session.most <= most
    assert w.replicas == there + more
    session = Watched(w, seed)
    scale.await_members(session, wants)
    assert len(w.nodes) == there + more


def test_without_the_setting_all_start_at_once():
    w = world("1.2.1", 1)
    session = Watched(w, 1)
    scale.settle(session, settings(9, policy=DrainPolicy()))
    assert session.acts == ["SetReplicas"]


def test_a_pod_that_does_not_register_ends_the_scale_out_named_and_no_other_starts():
    w = world("1.2.1", 2)
    session = ModelSession(w)
    with pytest.raises(DrainDeadline, match=r"not in service: hpc-worker-gpu-2 .*run `pulumi up` again; nodes that are in"):
        scale.settle(session, settings(9, policy=of(1)))
    assert w.replicas == 3
    assert 300 <= sum(session.rests) <= 310


def test_each_part_has_the_whole_time_to_register():
    w, looks = world("1.2.1", 0), count()

    def slowly(w):
        if next(looks) % 25 == 24:  # every 250 s
            starts(w, random.Random(0))
            for each in unregistered(w):
                each.scheduled = each.running = each.ready = True
                w.nodes[each.node] = Node(each.node)

    session = ModelSession(w, [slowly] * 400)
    scale.settle(session, settings(4, policy=of(1, poll_s=10)))
    assert session.acts.count("SetReplicas") == 4
    assert sum(session.rests) > 600


def look(workers, records, replicas, **changes):
    return seen(workers, records, replicas=replicas, nodeset=nodeset(replicas, **changes))


def test_a_pod_that_has_been_broken_for_long_holds_back_no_other():
    broken = pod(0, ready=False, created=NOW - 601)
    wants = goal(1, 5, policy=of(1))
    assert next_step(look([broken], [node(0, "DOWN")], 1), wants) == SetReplicas(2)
    young = pod(0, ready=False, created=NOW - 599)
    assert isinstance(next_step(look([young], [node(0, "DOWN")], 1), wants), Wait)


def test_pods_that_the_operator_has_not_made_yet_count():
    wants = goal(5, 9, policy=of(3))
    step = next_step(look([pod(n) for n in range(3)], [node(n) for n in range(3)], 5), wants)
    assert step == SetReplicas(6)
    assert "not made them yet" in next_step(look([], [], 5), wants).why


def test_what_earlier_pods_of_the_names_left_is_cleared_on_the_way():
    """slurm-operator 1.2 leaves their records DOWN: without that the first part would never be in service."""
    left = node(0, "DOWN", "Pod is terminating", reason_changed_at=NOW - 101)
    step = next_step(look([pod(0, created=NOW - 100)], [left], 1), goal(1, 3, policy=of(1)))
    assert step == Resume(("gpu-0",))


def test_the_first_pods_without_an_answer_of_slurm_are_as_many_as_may_start():
    wants = goal(0, 9, policy=of(4, register_deadline_s=300), deadline_at=NOW + 200)
    silent = seen([], [], replicas=0, cluster=None, problem="connection refused")
    assert next_step(silent, wants) == SetReplicas(4)


def test_the_wait_names_who_starts_and_the_setting():
    starting = pod(0, ready=False, created=NOW - 5)
    step = next_step(look([starting], [], 1), goal(1, 3, policy=of(1)))
    assert all(word in step.why for word in ("from 1 to 3", "drain.startAtOnce is 1", "hpc-worker-gpu-0"))
    late = next_step(look([starting], [], 1), goal(1, 3, policy=of(1), deadline_at=NOW))
    assert isinstance(late, Stop)
    assert late.cause == "deadline"
    assert not late.undo
