"""Each of our drains has an end, also after slurmctld's start, and no other drain has an end of our making."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.holds import HANDED_OVER_S, under_others
from slinky_iac.drain.marks import Mark
from slinky_iac.drain.members import undo_steps
from slinky_iac.drain.protocol import ClearHold, Done, Release, RenewHold, SetCosts, SetReplicas, Stop, Wait
from slinky_iac.drain.settings import DrainPolicy
from slinky_iac.drain.steps import next_step
from slinky_iac.drain.tags import BASE_COST, Tag
from tests.made import rows
from tests.unit.drain.made import LATER, NOW, OURS, OWNER, given_up, goal, held, job, node, pod, seen
from tests.unit.drain.model import PERSON, Job, world
from tests.unit.slurmrest import fake

NAME = "hpc-worker-gpu-{}".format


def tagged(number, hold):
    return given_up(number, gate=Tag("dev/gpu", BASE_COST, hold=hold).text())


def drained_by_us():
    """A run that waits for the job on gpu-2, the one that ends first."""
    w = world("1.2.1", 3)
    for number in range(3):
        w.jobs[number + 1] = Job(number + 1, (f"gpu-{number}",), w.now, w.now + 9000 - number)
    w.sync(refresh=True)
    g = goal(3, 2, deadline_at=w.now + 1800, policy=DrainPolicy(), run="r1")
    for _ in range(8):
        step = next_step(w.observe(), g)
        if isinstance(step, Wait):
            break
        w.act(step)
        w.sync(refresh=True)
    assert w.nodes["gpu-2"].drain
    assert w.nodes["gpu-2"].reason.startswith("slinky-iac:")
    return w


def test_after_a_cancel_a_persons_drain_over_ours_is_not_ended_by_our_timer():
    w = drained_by_us()
    w.person_drains(w.nodes["gpu-2"], "bad DIMM")
    for _ in range(5):  # `slinky drain cancel`
        for step in undo_steps(w.observe(), OWNER):
            if not isinstance(step, Wait):
                w.act(step)
        w.sync(refresh=True)
    assert w.nodes["gpu-2"].reason == f"{PERSON} bad DIMM"
    w.now += 24 * 3600
    w.expire_holds()
    assert w.nodes["gpu-2"].drain, "slurmctld has returned a node that a person drained for a bad DIMM"


@pytest.mark.parametrize("on_delete", [True, False])
def test_a_run_that_was_killed_while_it_waited_keeps_no_node(on_delete):
    """With OnDelete slurm-operator drains the node of a cordoned pod again once slurmctld has returned it, and for ever."""
    w = drained_by_us()
    w.on_delete = on_delete
    w.jobs.clear()
    w.now += 24 * 3600
    w.expire_holds()
    for _ in range(3):
        w.sync(refresh=True)
    assert not w.nodes["gpu-2"].drain, "slurmctld has returned it, and slurm-operator drained it again for a mark of ours"


def test_over_two_runs_a_persons_drain_and_words_stay():
    w = drained_by_us()
    w.person_drains(w.nodes["gpu-2"], "bad DIMM")
    began = w.now
    for run in range(3):  # `pulumi up`, and again after each deadline
        g = goal(3, 2, deadline_at=w.now + 1800, policy=DrainPolicy(), run=f"again{run}")
        for _ in range(20):
            w.now += 120
            w.expire_holds()
            step = next_step(w.observe(), g)
            if isinstance(step, Stop | Done):
                break
            if not isinstance(step, Wait):
                w.act(step)
            w.sync(refresh=True)
    assert w.now - began > 3600
    assert w.nodes["gpu-2"].reason == f"{PERSON} bad DIMM", "the person's words are gone"


def test_a_hold_that_slurmctld_lost_at_its_start_is_set_again_while_jobs_are_waited_for():
    pods = [pod(0), given_up(1), given_up(2)]
    lost = [node(0), held(1, "MIXED+DRAIN", resume_after=None), held(2, "MIXED+DRAIN")]
    look = seen(pods, lost, [job(1, 1), job(2, 2)])
    found = next_step(look, goal(3, 1))
    assert isinstance(found, RenewHold), f"{found}: killed now, gpu-1 stays drained for ever"
    assert found.nodes == ("gpu-1",)
    assert found.marks == (Mark(NAME(1), BASE_COST, Tag("dev/gpu", BASE_COST, hold=0).text()),), "noted before it is set"


def test_where_the_policy_has_no_hold_a_drain_without_end_is_left_so():
    look = seen([pod(0), tagged(1, None)], [node(0), held(1, "MIXED+DRAIN", resume_after=None)], [job(1, 1)])
    assert isinstance(next_step(look, goal(2, 1, policy=DrainPolicy(hold_factor=0))), Wait)


def test_hold_is_renewed_when_half_of_it_is_over():
    pods = [pod(0), given_up(1), given_up(2)]
    for end, hold in ((NOW + 1799, 3600), (NOW + 1800, HANDED_OVER_S), (None, 3600)):
        renewed = next_step(seen(pods, [node(0), held(1), held(2, resume_after=end)]), goal(3, 1))
        assert (renewed.nodes, renewed.resume_after_s) == (("gpu-2",), hold)
    assert isinstance(next_step(seen(pods, [node(0), held(1), held(2)]), goal(3, 1)), SetReplicas)


def test_hold_of_an_earlier_policy_is_renewed_though_there_is_none_now():
    look = seen([pod(0), given_up(1), given_up(2)], [node(0), held(1), held(2, resume_after=NOW + 400)])
    renewed = next_step(look, goal(3, 1, policy=DrainPolicy(hold_factor=0)))
    assert (renewed.nodes, renewed.resume_after_s) == (("gpu-2",), 3600)


def test_the_end_of_a_hold_is_noted_while_jobs_are_waited_for():
    look = seen([pod(0), tagged(1, 0)], [node(0), held(1, "MIXED+DRAIN")], [job(1, 1)])
    (mark,) = next_step(look, goal(2, 1)).pods
    assert Tag.read(mark.tag).hold == LATER
    noted = seen([pod(0), given_up(1, gate=mark.tag)], [node(0), held(1, "MIXED+DRAIN")], [job(1, 1)])
    assert isinstance(next_step(noted, goal(2, 1)), Wait)


def test_a_drain_and_its_hold_are_noted_before_they_are_set():
    step = next_step(seen([pod(0), pod(1)], [node(0), node(1)]), goal(2, 1))
    assert isinstance(step, SetCosts)
    assert Tag.read(step.pods[0].tag).hold == 0
    again = [pod(0), given_up(1)]
    step = next_step(seen(again, [node(0), node(1)]), goal(2, 1))
    assert Tag.read(step.pods[0].tag).hold == 0, "the hold that was noted is of a drain that is over"


@pytest.mark.parametrize("hold", [0, LATER])
def test_our_hold_under_somebody_elses_drain_is_cleared_first(hold):
    theirs = node(1, "IDLE+DRAIN", "bad DIMM", user="root", resume_after=LATER)
    look = seen([pod(0), tagged(1, hold)], [node(0), theirs])
    found = under_others(look, OWNER)
    assert found == ClearHold({"gpu-1": LATER}, (Mark(NAME(1), BASE_COST, Tag("dev/gpu", BASE_COST).text()),))
    assert next_step(look, goal(2, 1)) == found
    assert next_step(look, goal(2, 2)) == found
    assert next_step(look, goal(2, 0, teardown=True)) == found
    assert [type(step) for step in undo_steps(look, OWNER)] == [ClearHold, Release]


@pytest.mark.parametrize(
    ("tag", "reason", "end", "more"),
    [
        (Tag("dev/gpu", BASE_COST), "bad DIMM", LATER, {}),
        (Tag("dev/gpu", BASE_COST, hold=LATER), "bad DIMM", LATER + 1, {}),
        (Tag("dev/gpu", BASE_COST, hold=LATER), "bad DIMM", None, {}),
        (Tag("dev/gpu", BASE_COST, hold=LATER), OURS, LATER, {}),
        (Tag("prod/gpu", BASE_COST, hold=LATER), "bad DIMM", LATER, {}),
        (Tag("dev/gpu", BASE_COST, hold=LATER), "bad DIMM", LATER, {"terminating": True}),
    ],
    ids=["never ours", "their own end", "no end", "our drain", "another stack's note", "pod is ending"],
)
def test_no_other_end_of_a_drain_is_cleared(tag, reason, end, more):
    record = node(1, "IDLE+DRAIN", reason, user="root", resume_after=end)
    assert under_others(seen([given_up(1, gate=tag.text(), **more)], [record]), OWNER) is None


def test_nothing_is_cleared_in_another_clusters_slurmctld():
    theirs = node(1, "IDLE+DRAIN", "bad DIMM", user="root", resume_after=LATER)
    elsewhere = seen([pod(0), given_up(1)], [], cluster=ClusterView.of([node(0), theirs], (), name="other"))
    assert isinstance(next_step(elsewhere, goal(2, 1, cluster="hpc")), Wait)


def test_a_note_stays_until_slurm_has_said_whose_drain_it_is():
    look = seen([given_up(0), tagged(1, None)], [], cluster=None, problem="connection refused")
    release, wait = undo_steps(look, OWNER)
    assert [each.pod for each in release.pods] == [NAME(1)]
    assert "connection refused" in wait.why


def test_slurm_is_told_to_let_the_drain_stand_and_nothing_else():
    slurm = fake.FakeSlurm().add(
        rows.node("gpu-0", "IDLE", "DRAIN", reason="bad DIMM", resume_after=rows.number(LATER)),
        rows.node("gpu-1", "IDLE", "DRAIN", reason="bad DIMM", resume_after=rows.number(LATER + 1)),
        rows.node("gpu-2", "IDLE"),
    )
    result = slurm.client().clear_hold({"gpu-0": LATER, "gpu-1": LATER, "gpu-2": LATER, "gpu-3": LATER})
    never = {"set": True, "infinite": True, "number": 0}
    assert [body for method, _, body in slurm.asked if method == "POST"] == [
        {"name": ["gpu-0"], "state": ["DRAIN"], "resume_after": never}
    ]
    assert [each.outcome.value for each in result.results] == ["done", "done", "done", "absent"]


def test_the_hold_is_set_in_one_place():
    """Another maker of a RenewHold or ClearHold could forget the note."""
    made = ("RenewHold(", "ClearHold(")
    here = {path.name for path in Path("slinky_iac/drain").glob("*.py") if any(each in path.read_text() for each in made)}
    assert here == {"holds.py", "protocol.py", "session.py"}


def test_a_persons_drain_with_an_end_of_its_own_keeps_it_until_a_longer_hold_of_ours_is_set():
    """A person drains the node right after the gate sets its cordons. Once, the mark on the pod already recorded a hold that
    was not yet set in Slurm, so the next look cleared the person's own end, and that drain never ended."""
    w = drained_by_us()
    w.jobs.clear()
    w.sync(refresh=True)
    acts = 0
    while w.nodes["gpu-2"].resume_after != w.now + HANDED_OVER_S:
        there = deepcopy(w)
        theirs = there.now + 7200
        there.person_drains(there.nodes["gpu-2"], "bad DIMM", own_end=theirs)
        for _ in range(5):
            step = next_step(there.observe(), goal(3, 2, deadline_at=there.now + 1800, policy=DrainPolicy(), run="r2"))
            if isinstance(step, Stop | Done | Wait | SetReplicas):
                break
            there.act(step)
            there.sync(refresh=True)
        assert there.nodes["gpu-2"].resume_after == theirs, f"after {acts} acts: drained for two hours, it never returns"
        step = next_step(w.observe(), goal(3, 2, deadline_at=w.now + 1800, policy=DrainPolicy(), run="r1"))
        assert not isinstance(step, SetReplicas), "an operator that is away finds a short hold"
        w.act(step)
        w.sync(refresh=True)
        acts += 1
    assert w._pod(NAME(2)).annotations["pod-cordon"] == "true"
