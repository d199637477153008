"""What is given back is ours and all of ours, in the order that leaves no blip."""

import pytest
from msgspec.structs import replace

from slinky_iac.drain.marks import Unmark
from slinky_iac.drain.members import RELEASED_REASON, undo_steps
from slinky_iac.drain.protocol import Observation, Release, RevokePermit, SetReason, Undrain, Wait
from slinky_iac.drain.tags import BASE_COST, Tag
from tests.unit.drain.made import NOW, OURS, OWNER, V110, given_up, held, node, nodeset, pod, seen

NAME = "hpc-worker-gpu-{}".format


def test_nothing_of_ours_means_nothing_to_do():
    theirs = [node(0, "IDLE+DRAIN", "bad DIMM"), node(1, "IDLE+DRAIN", "slurm-operator: x"), node(2)]
    others = [pod(0, cordon=True, deletion_cost=-5), pod(1, gate=Tag("prod/gpu", -1).text()), pod(2)]
    assert undo_steps(seen(others, theirs), OWNER) == ()


def test_a_permission_that_no_write_has_used_goes_first():
    assert undo_steps(seen([pod(0)], [node(0)], nodeset=nodeset(1, permitted=True)), OWNER) == (RevokePermit(),)
    first, *_ = undo_steps(seen([given_up(0)], [held(0)], nodeset=nodeset(1, permitted=True)), OWNER)
    assert first == RevokePermit()


def test_annotations_go_before_drains():
    steps = undo_steps(seen([pod(0), given_up(1)], [node(0), held(1)]), OWNER)
    assert steps == (Release((Unmark(NAME(1), restore_cost=True, was=None, uncordon=True),)), Undrain(("gpu-1",)))


def test_drain_is_found_without_its_tag_and_tag_without_its_drain():
    assert undo_steps(seen([pod(0)], [held(0)]), OWNER) == (Undrain(("gpu-0",)),)
    steps = undo_steps(seen([given_up(0, cordon=False)], [node(0)]), OWNER)
    assert steps == (Release((Unmark(NAME(0), restore_cost=True, was=None, uncordon=False),)),)


def test_drain_on_a_node_whose_pod_is_gone_is_given_back():
    assert undo_steps(seen([pod(0)], [node(0), held(7)]), OWNER) == (Undrain(("gpu-7",)),)


def test_drain_to_whose_reason_slurm_has_added_is_still_ours():
    died = held(0, "DOWN+DRAIN+NOT_RESPONDING", user="slurm")
    steps = undo_steps(seen([pod(0)], [replace(died, reason=f"{OURS} : Not responding")]), OWNER)
    assert steps == (Undrain(("gpu-0",)),)


def test_node_that_stays_down_gets_a_reason_that_is_not_ours():
    assert undo_steps(seen([pod(0)], [node(0, "DOWN", OURS)]), OWNER) == (SetReason(("gpu-0",), RELEASED_REASON),)
    assert not OWNER.owns(RELEASED_REASON)


def test_our_reason_on_a_node_in_service_is_only_words():
    assert undo_steps(seen([pod(0)], [node(0, "IDLE", OURS)]), OWNER) == ()


def test_cordon_under_a_drain_of_the_operator_is_the_operators():
    why = "slurm-operator: Node (w-1) was cordoned, Pod (slurm/x) must be cordoned"
    steps = undo_steps(seen([given_up(0)], [node(0, "IDLE+DRAIN", why)]), OWNER)
    assert steps == (Release((Unmark(NAME(0), restore_cost=True, was=None, uncordon=False),)),)


@pytest.mark.parametrize("why", ["was cordoned", "was cordoned pending termination", "is pending termination for scale-in"])
def test_cordon_under_a_drain_that_the_operator_made_because_of_it_is_taken_back(why):
    """Somebody lifted our drain, the operator drained the node again for our cordon. With OnDelete it returns neither."""
    steps = undo_steps(seen([given_up(0)], [node(0, "IDLE+DRAIN", f"slurm-operator: Pod (slurm/{NAME(0)}) {why}")]), OWNER)
    assert steps == (Release((Unmark(NAME(0), restore_cost=True, was=None, uncordon=True),)),)


def test_cost_from_before_is_put_back():
    was = given_up(0, gate=Tag("dev/gpu", BASE_COST, was="12").text())
    assert undo_steps(seen([was], [node(0)]), OWNER)[0].pods[0].was == "12"


def test_pods_beyond_replicas_keep_everything_until_they_are_gone():
    look = seen([pod(0), given_up(1)], [node(0), held(1)], replicas=1)
    (only,) = undo_steps(look, OWNER)
    assert isinstance(only, Wait)
    assert "gpu-1" in only.why


def test_terminating_pod_keeps_everything():
    (only,) = undo_steps(seen([pod(0), given_up(1, terminating=True)], [node(0), held(1)]), OWNER)
    assert isinstance(only, Wait)


def test_without_a_nodeset_only_terminating_pods_are_left_alone():
    look = seen([given_up(0), given_up(1, terminating=True)], [held(0), held(1)], nodeset=None)
    release, undrain, wait = undo_steps(look, OWNER)
    assert [each.pod for each in release.pods] == [NAME(0)]
    assert undrain == Undrain(("gpu-0",))
    assert isinstance(wait, Wait)


def test_of_a_nodeset_that_is_not_there_nothing_is_left_to_give_back():
    """`drain cancel` of a whole stack must come to the other NodeSets."""
    assert undo_steps(Observation(NOW, V110), OWNER) == ()


def test_nothing_is_given_back_while_the_operator_has_not_seen_the_newest_spec():
    look = seen([given_up(0)], [held(0)], nodeset=nodeset(1, generation=5))
    (only,) = undo_steps(look, OWNER)
    assert isinstance(only, Wait)


def test_with_slurm_away_marks_without_a_hold_are_taken_back_and_the_rest_is_told():
    marked = given_up(0, gate=Tag("dev/gpu", BASE_COST).text())
    release, wait = undo_steps(seen([marked], [], cluster=None, problem="timed out"), OWNER)
    assert isinstance(release, Release)
    assert release.pods[0].uncordon
    assert "timed out" in wait.why
