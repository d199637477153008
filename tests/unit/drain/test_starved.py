"""A busy cluster: others write the NodeSet and its pods all the time, and a write lands where none of that matters to it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import fields

import pytest
from msgspec.structs import replace as with_fields

from slinky_iac import names
from slinky_iac.drain import scale
from slinky_iac.drain.fresh import TRIES, as_seen, same_marks, same_pod
from slinky_iac.drain.protocol import DeletePods, Replaced, SetReplicas
from slinky_iac.drain.settings import DrainPolicy
from slinky_iac.errors import DrainDeadline, KubeConflict
from tests.unit.drain.busy_cluster import BusyKube, BusySession
from tests.unit.drain.made import V121, given_up, nodeset, pod, seen
from tests.unit.drain.model import world
from tests.unit.drain.model_session import settings

POLICY = DrainPolicy(deadline_s=1800, bound_s=2000, poll_s=2)


@pytest.mark.parametrize(("look_s", "counts_s"), [(8, 5), (60, 1), (0, 1)])
@pytest.mark.parametrize("target", [2, None], ids=["scale-in", "removal"])
def test_free_nodes_go_though_the_operator_writes_its_counts_meanwhile(look_s, counts_s, target):
    w = world("1.2.1", 3)
    kube = BusyKube(w, counts_s)
    with ExitStack() as stack:
        session = BusySession(w, kube, stack, look_s)
        if target is None:
            scale.drive(scale.ScaleTask(session, settings(0, policy=POLICY), removal(session), scale.Met(settings(0).owner)))
        else:
            scale.settle(session, settings(target, policy=POLICY))
    assert kube.gone if target is None else w.replicas == target
    assert kube.conflicts < 20


def removal(session):
    return scale._goal(session, settings(0, policy=POLICY), 3, 0, "NodeSet is removed", teardown=True)


def test_a_write_is_tried_again_a_few_times_and_then_a_whole_look_is_taken():
    """Somebody writes the status between each reading and the write on it."""
    w = world("1.2.1", 3)
    kube = BusyKube(w, counts_s=1, others_s=1)
    with ExitStack() as stack:
        session = BusySession(w, kube, stack, look_s=1)
        session._look(settings(2), None)
        with pytest.raises(KubeConflict):
            session.act(SetReplicas(4), settings(4).owner)
    assert kube.conflicts == TRIES


def test_who_is_starved_is_told_so_and_not_that_there_was_no_answer():
    w = world("1.2.1", 3)
    with ExitStack() as stack:
        session = BusySession(w, BusyKube(w, counts_s=1, others_s=1), stack, look_s=1)
        with pytest.raises(DrainDeadline, match="written by somebody else each time") as found:
            scale.settle(session, settings(2, policy=POLICY))
    assert "without an answer" not in str(found.value)


def looked():
    return seen([pod(0), given_up(1)], [], version=V121)


def now(look, number=1, *, uid=None, **changes):
    """The NodeSet and the pods of the look, one of them changed."""
    changed = (given_up if number else pod)(number, **changes)
    if uid:
        changed = with_fields(changed, metadata=with_fields(changed.metadata, uid=uid))
    pods = list(look.pods)
    pods[number] = changed
    return look.nodeset, tuple(pods)


ANOTHER = [
    {"uid": "another"},
    {"terminating": True},
    {"gate": "x"},
    {"cost_text": "5"},
    {"scheduled": False},
    {"phase": "Failed"},
    {"ready": False},
    {"revision": "v2"},
    {"slurm_node": "other"},
    {"slurm_reason": "fan", "slurm_states": {"IDLE", "DRAIN"}},
]


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("changes", ANOTHER, ids=lambda changes: next(iter(changes)))
def test_a_pod_that_is_another_one_now_is_looked_at_again(number, changes):
    look = looked()
    state, pods = now(look, number, **changes)
    assert not as_seen(look, state, pods, 1)
    assert not same_pod(look.pods[number], pods[number])
    marks = {"uid", "terminating", "gate", "cost_text"}
    assert same_marks(look.pods[number], pods[number]) is marks.isdisjoint(changes)


def test_a_drain_that_the_operator_shows_no_more_is_looked_at_again():
    look = looked()
    assert not as_seen(look, *now(look, slurm_states={"MIXED"}), 1)


def test_a_cordon_that_somebody_took_or_set_is_looked_at_again():
    look = looked()
    assert not as_seen(look, *now(look, cordon=False), 1)
    assert not as_seen(look, *now(look, 0, cordon=True), 1)


def test_what_the_operator_writes_all_the_time_is_no_change():
    look = looked()
    state = nodeset(2, updated=1)
    assert as_seen(look, state, now(look, 0, deadline=5, slurm_states={"MIXED"})[1], 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"generation": 2, "observed_generation": 2},
        {"observed_generation": 0},
        {"revision": "v2"},
        {"deleting": True},
        {"frozen": "an audit"},
        {"annotations": {names.ANNOTATION_RUN: "later"}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_nodeset_that_somebody_changed_is_looked_at_again(changes):
    look = looked()
    assert as_seen(look, look.nodeset, look.pods, 1)
    assert not as_seen(look, nodeset(2, **changes), look.pods, 1)
    assert as_seen(look, nodeset(2, permitted=True), look.pods, 1), "our own permission, of a try before"


def test_an_order_in_which_the_operator_would_take_another_pod_is_looked_at_again():
    look = seen([given_up(0, deadline=5), given_up(1, deadline=9)], [], version=V121)
    swapped = (given_up(0, deadline=9), given_up(1, deadline=5))
    assert as_seen(look, look.nodeset, (given_up(0, deadline=5), given_up(1, deadline=10)), 1)
    assert not as_seen(look, look.nodeset, swapped, 1)
    assert not as_seen(look, look.nodeset, swapped[:1], 1)


class Deleting:
    """An API server that has seen each pod change once."""

    def __init__(self, found):
        self.found, self.asked = found, []

    def delete_worker(self, _namespace, pod):
        self.asked.append(pod.metadata.resource_version)
        if len(self.asked) == 1:
            raise KubeConflict("changed", status=409)

    def pod(self, *_):
        return self.found


@pytest.mark.parametrize(("changes", "ends"), [({}, True), ({"revision": "v2"}, False), ({"ready": False}, False)])
def test_a_pod_is_deleted_on_its_newest_version_if_it_is_as_it_was(changes, ends):
    w = world("1.2.1", 2)
    with ExitStack() as stack:
        session = BusySession(w, BusyKube(w, 1), stack, 1)
        session.kube = Deleting(given_up(1, **changes))
        session._pods = {given_up(1).name: given_up(1)}
        if ends:
            session.act(DeletePods((Replaced(given_up(1).name),)), settings(1).owner)
        else:
            with pytest.raises(KubeConflict):
                session.act(DeletePods((Replaced(given_up(1).name),)), settings(1).owner)
    assert len(session.kube.asked) == (2 if ends else 1)


def test_every_field_of_a_look_that_a_write_rests_on_was_thought_of():
    """A new field of Observation is either compared by `as_seen`, or named here with why it needn't be."""
    rests_elsewhere = {
        "now": "time passes",
        "version": "of the settings",
        "cluster": "no condition holds Slurm: nodes stay drained, which was the look's to see",
        "writers": "they write spec.replicas, which is a generation",
        "restapi_ready": "only what the operator sees next depends on it",
        "problem": "words",
        "cordoned": "derived of pods",
        "neighbours": "of names that come: a pod that is there since keeps the machine, and ours waits for a place",
        "machines": "compared by `selects_as_seen`, for the write that rests on them",
        "free_machines": "R5: a machine that joins Kubernetes after the look may have a slurmd in Slurm already",
    }
    assert {field.name for field in fields(looked())} == {"pods", "nodeset", *rests_elsewhere}
