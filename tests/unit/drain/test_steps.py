"""The protocol, step by step: what the next act is in each situation, and that nothing is done out of turn."""

from dataclasses import replace
from pathlib import Path

import pytest

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.holds import HANDED_OVER_S
from slinky_iac.drain.protocol import (
    DeleteNodeSet,
    Done,
    Drain,
    Mark,
    Observation,
    Release,
    RenewHold,
    SetCosts,
    SetReason,
    SetReplicas,
    Stop,
    TriggerSync,
    Undrain,
    Wait,
)
from slinky_iac.drain.ranking import INT32_MIN
from slinky_iac.drain.scale_in_state import judge
from slinky_iac.drain.settings import DrainPolicy, Limits, Owner
from slinky_iac.drain.steps import FIRST_ANSWER_S, _hand_over, next_step
from slinky_iac.drain.tags import BASE_COST, Tag
from tests.made.jobs import job as made_job
from tests.made.nodes import node as made_node
from tests.unit.drain.made import (
    LATER,
    NOW,
    OURS,
    V121,
    given_up,
    goal,
    held,
    job,
    marked,
    node,
    nodeset,
    pod,
    seen,
)

NAME = "hpc-worker-gpu-{}".format
NUDGED = Tag("dev/gpu", BASE_COST, nudged_at=NOW - 1).text()
NUDGED_BEFORE = Tag("dev/gpu", BASE_COST, nudged_at=NOW - 6).text()
FREE_LOOK = ([pod(0), given_up(1), given_up(2)], [node(0), held(1), held(2)])


def free_look(*jobs, **changes):
    """Three workers, of which two are ready to be removed."""
    return seen(*FREE_LOOK, jobs, **changes)


def step(observation, current=3, target=1, **changes):
    return next_step(observation, goal(current, target, **changes))


def says(text, found, kind=Wait):
    assert isinstance(found, kind), found
    assert text in found.why
    return found


# -- the ordinary course ---------------------------------------------------------------------------------------------------


def test_costs_come_first_and_on_all_chosen_pods():
    found = step(seen([pod(n) for n in range(3)], [node(n) for n in range(3)]))
    assert isinstance(found, SetCosts)
    assert [mark.pod for mark in found.pods] == [NAME(2), NAME(1)]
    assert {mark.cost for mark in found.pods} == {BASE_COST}


def test_drain_comes_only_when_every_chosen_pod_is_marked():
    plain = {"cordon": False, "slurm_states": frozenset({"IDLE"}), "slurm_reason": ""}
    found = step(seen([pod(0), marked(1, **plain), marked(2, **plain)], [node(n) for n in range(3)]))
    assert found == Drain(("gpu-2", "gpu-1"), OURS, 3600)


def test_dead_mans_switch_can_be_left_out():
    found = step(seen([pod(0), marked(1), marked(2)], [node(n) for n in range(3)]), policy=DrainPolicy(hold_factor=0))
    assert found == Drain(("gpu-2", "gpu-1"), OURS, None)


def test_operators_own_earlier_drain_in_its_view_is_not_ours():
    old = {"cordon": False, "slurm_reason": "slurm-operator: Pod was cordoned"}
    look = seen([pod(0), given_up(1, **old), given_up(2, gate=NUDGED, **old)], FREE_LOOK[1])
    says("has not yet seen the drain", step(look))


def test_done_names_the_pods_in_the_very_look_in_which_all_is_so():
    assert step(free_look()) == SetReplicas(1, (NAME(2), NAME(1)))


def test_same_look_gives_the_same_step():
    assert step(free_look()) == step(free_look())


# -- busy is never released ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "COMPLETING", "COMPLETED+COMPLETING", "CONFIGURING"])
def test_busy_node_is_never_released(state):
    found = step(free_look(job(7, 2, state=state)))
    says("1 of 2 nodes are free", found)
    assert found.progress[0].startswith("gpu-2: 1 job (7 of alice")


def test_two_node_job_across_a_kept_and_a_chosen_node_is_waited_for():
    says("1 of 2 nodes are free", step(free_look(job(7, 0, 2))))


def test_node_that_slurm_calls_mixed_is_waited_for_though_no_job_is_listed():
    look = seen(FREE_LOOK[0], [node(0), held(1), held(2, "MIXED+DRAIN")])
    assert step(look).progress == ("gpu-2: its state is DRAIN+MIXED, though no job of the list is on it",)


def test_unknown_is_never_free():
    look = seen(FREE_LOOK[0], [node(0), held(1), held(2, "UNKNOWN+DRAIN")])
    assert "not understood" in step(look).progress[0]


def test_slurm_that_cannot_be_asked_is_waited_for_and_nothing_is_done():
    says("connection refused", step(free_look(cluster=None, problem="connection refused")))


def test_removal_that_nobody_can_be_asked_about_leads_to_the_page_that_says_what_to_do():
    look = free_look(cluster=None, problem="connection refused")
    says("Without slurmrestd", step(look, 3, 0, teardown=True))
    page = Path(__file__).resolve().parents[3] / "docs" / "operations.md"
    assert "### Without slurmrestd\n" in page.read_text()


def test_ready_pod_that_may_register_any_moment_is_waited_for():
    young = given_up(2, ready_changed=NOW - 5)
    assert "may register" in step(seen([pod(0), given_up(1), young], [node(0), held(1)])).progress[0]


def test_ready_pod_that_never_registered_is_free():
    look = seen([pod(0), given_up(1), given_up(2, slurm_states=frozenset())], [node(0), held(1)])
    assert step(look) == SetReplicas(1, (NAME(1), NAME(2)))


@pytest.mark.parametrize("teardown", [False, True])
def test_a_slurmrestd_of_another_cluster_frees_no_node(teardown):
    """A slip in slurmrest.url: none of our nodes is in that list, and jobs run on all of them."""
    pods = [given_up(number, slurm_states=frozenset({"MIXED"})) for number in range(3)]
    found = step(seen(pods, [made_node("other-0")]), target=0, teardown=teardown)
    assert isinstance(found, Wait)
    assert "another cluster's: check slurmrest.url" in found.progress[0]


@pytest.mark.parametrize("record", ["ip-10-0-0-1", "IP-10-0-0-1", "ip-10-0-0-1.other"])
@pytest.mark.parametrize("teardown", [False, True])
def test_a_host_network_pod_that_slurm_knows_by_another_name_is_not_free(record, teardown):
    """slurmd registers as `hostname -s`, so the node's full name is in no list, whatever runs there."""
    there = given_up(0, slurm_node="ip-10-0-0-1.ec2.internal", slurm_states=frozenset())
    busy = made_node(record, "MIXED")
    jobs = [made_job(1, record)]
    found = step(seen([there], [busy], jobs), current=1, target=0, teardown=teardown)
    assert isinstance(found, Wait)
    assert f"one of {record}, which may be the same host" in found.progress[0]


@pytest.mark.parametrize("limits", [Limits(max_share=0.5), Limits(max_jobs=0), Limits(max_job_age_s=60)])
def test_limits_hold_in_an_update_whose_preview_could_not_ask(limits):
    pods, nodes, jobs = [pod(n) for n in range(3)], [node(n, "MIXED") for n in range(3)], [job(n + 1, n) for n in range(3)]
    allowed = DrainPolicy(limits=limits)
    found = step(seen(pods, nodes, jobs), policy=allowed)
    assert "drain.limits allows" in says("nothing was drained", found, Stop).why
    marked = [pods[0], given_up(1), given_up(2)]
    begun = step(seen(marked, [nodes[0], held(1, "MIXED+DRAIN"), held(2, "MIXED+DRAIN")], jobs), policy=allowed)
    assert isinstance(begun, Wait), "what is begun goes on: its jobs grow older while they are waited for"


def test_a_kept_pod_that_is_not_ready_either_must_have_no_suspended_job():
    """If the selected one recovers before the operator looks, it takes the retained one, whose job it cannot see."""
    ill = {"ready": False, "ready_changed": NOW - 900}
    pods = [pod(0), pod(1, **ill), given_up(2, **ill)]
    nodes = [node(0), node(1), held(2)]
    assert step(seen(pods, nodes), target=2) == SetReplicas(2, (NAME(2),))
    says("doesn't count its suspended job 7", step(seen(pods, nodes, [job(7, 1, state="SUSPENDED")]), target=2))


# -- foreign -------------------------------------------------------------------------------------------------------------


def test_drain_of_a_person_counts_and_is_not_overwritten():
    theirs = node(2, "IDLE+DRAIN", "bad DIMM", user="root")
    look = seen([pod(0), given_up(1), given_up(2, slurm_reason="bad DIMM")], [node(0), held(1), theirs])
    assert step(look) == SetReplicas(1, (NAME(1), NAME(2)))


def test_node_that_a_person_marked_without_draining_stops_the_run_with_words():
    theirs = node(2, "DOWN", "fan is broken", user="root")
    broken = given_up(2, ready=False, ready_changed=NOW - 500)
    found = step(seen([pod(0), given_up(1), broken], [node(0), held(1), theirs]))
    assert "fan is broken" in found.progress[0]
    late = step(seen([pod(0), given_up(1), broken], [node(0), held(1), theirs]), deadline_at=NOW)
    says("fan is broken", late, Stop)


def test_drain_of_the_operator_counts_and_is_waited_for_in_its_view():
    theirs = node(2, "IDLE+DRAIN", "slurm-operator: Node was cordoned")
    look = seen([pod(0), given_up(1), given_up(2, cordon=False)], [node(0), held(1), theirs])
    assert step(look) == SetReplicas(1, (NAME(1), NAME(2)))


def test_mark_of_another_gate_stops_the_run():
    look = seen([pod(0), pod(1), given_up(2, gate=Tag("prod/gpu", -5).text())], [node(n) for n in range(3)])
    assert says("another gate", step(look), Stop).cause == "blocked"


def test_annotation_that_somebody_removed_is_set_again():
    look = seen([pod(0), given_up(1), given_up(2, gate="", deletion_cost=0, cost_text=None)], FREE_LOOK[1])
    assert [mark.pod for mark in step(look).pods] == [NAME(2)]


def test_drain_that_somebody_lifted_is_set_again():
    assert step(seen([pod(0), given_up(1), marked(2)], [node(0), held(1), node(2)])) == Drain(("gpu-2",), OURS, 3600)


def test_replicas_that_somebody_else_wrote_stop_the_run():
    assert says("Another client writes them", step(free_look(replicas=2)), Stop).cause == "blocked"


def test_autoscaler_stops_the_run():
    look = free_look(writers=("HorizontalPodAutoscaler/gpu",))
    says("HorizontalPodAutoscaler/gpu", step(look), Stop)


# -- Kubernetes in motion --------------------------------------------------------------------------------------------------


def test_rolling_update_is_refused():
    says("rolling update", step(free_look(nodeset=nodeset(3, updated=1))), Stop)
    assert isinstance(step(free_look(nodeset=nodeset(3, updated=1, on_delete=True))), SetReplicas)
    assert isinstance(step(free_look(nodeset=nodeset(3, updated=None))), SetReplicas)


def test_spec_that_the_operator_has_not_seen_is_waited_for():
    says("newest NodeSet", step(free_look(nodeset=nodeset(3, generation=2))))


def test_operator_without_slurmrestd_is_waited_for():
    says("blind", step(free_look(restapi_ready=False)))


def test_nothing_is_marked_while_an_earlier_scale_in_is_in_flight():
    look = seen([pod(n) for n in range(5)], [node(n) for n in range(5)], replicas=4)
    says("an earlier scale-in isn't over: 1 pod(s) more than the 4", step(look, current=4))


def test_pod_that_just_lost_readiness_decides_nothing_yet():
    look = seen([pod(0, ready=False, ready_changed=NOW - 5), given_up(1), given_up(2)], FREE_LOOK[1])
    says("not settled yet: hpc-worker-gpu-0", step(look))


def test_pod_that_stays_unready_goes_first_and_the_surplus_is_given_back():
    look = seen([pod(0, ready=False, ready_changed=NOW - 500), given_up(1), given_up(2)], FREE_LOOK[1])
    found = step(look)
    assert isinstance(found, Release)
    assert [each.pod for each in found.pods] == [NAME(1)]
    bare = {"gate": "", "cost_text": None, "deletion_cost": 0, "cordon": False}
    look = seen([pod(0, ready=False, ready_changed=NOW - 500), given_up(1, **bare), given_up(2)], FREE_LOOK[1])
    assert step(look) == Undrain(("gpu-1",))


def test_missing_nodeset_stops_the_run():
    says("not there", step(free_look(nodeset=None)), Stop)


def test_a_nodeset_that_goes_in_the_middle_ends_the_run_at_once_and_no_silence_of_slurm_is_told():
    gone = Observation(NOW, V121)
    says("not there", step(gone), Stop)
    assert step(gone, target=0, teardown=True) == Done(()), "what was to be removed is gone"


@pytest.mark.parametrize("pods", [[], [pod(0)]], ids=["none", "one"])
def test_the_number_is_written_where_its_pods_are_gone_already(pods):
    """By somebody's hand, a quota, or slurm-operator from 1.1 on, which deletes pods that slurmctld has lost."""
    look = seen(pods, [node(0)], replicas=3)
    assert step(look) == SetReplicas(1, ())
    assert step(look, writes=False) == Done(())


# -- the operator's eyes ---------------------------------------------------------------------------------------------------


def test_operator_that_has_not_seen_the_drain_is_not_trusted_with_lower_replicas():
    blind = given_up(2, slurm_states=frozenset({"IDLE"}), gate=NUDGED)
    says("not yet seen the drain of hpc-worker-gpu-2", step(seen([pod(0), given_up(1), blind], FREE_LOOK[1])))


def test_operator_is_nudged_to_look_at_once_and_then_waited_for():
    blind = given_up(2, slurm_states=frozenset({"IDLE"}))
    found = step(seen([pod(0), given_up(1), blind], FREE_LOOK[1]))
    assert found == TriggerSync((Mark(NAME(2), BASE_COST, Tag("dev/gpu", BASE_COST, nudged_at=NOW, hold=LATER).text()),))
    told = given_up(2, slurm_states={"IDLE"}, gate=found.pods[0].tag)
    waiting = says("not yet seen", step(seen([pod(0), given_up(1), told], FREE_LOOK[1])))
    assert waiting.soon, "the answer is due"
    later = seen([pod(0), given_up(1), given_up(2, slurm_states={"IDLE"}, gate=NUDGED_BEFORE)], FREE_LOOK[1])
    assert not says("not yet seen", step(later)).soon, "it isn't coming; the next nudge is not due"
    says("deadline", step(seen([pod(0), given_up(1), blind], FREE_LOOK[1]), deadline_at=NOW), Stop)


def test_operator_is_not_nudged_while_jobs_run():
    blind = given_up(2, slurm_states=frozenset({"IDLE"}))
    says("are free", step(seen([pod(0), given_up(1), blind], FREE_LOOK[1], [job(1, 2)])))


def test_release_that_overrides_reasons_must_have_seen_the_node_idle():
    mixed = given_up(2, slurm_states=frozenset({"MIXED", "DRAIN"}), gate=NUDGED)
    look = seen([pod(0), given_up(1), mixed], FREE_LOOK[1])
    assert isinstance(step(look), SetReplicas)
    says("not yet seen", step(replace(look, version=V121)))


def test_operator_without_a_slurm_client_is_not_trusted_even_if_only_unscheduled_pods_go():
    waiting = given_up(1, scheduled=False, phase="Pending", ready=False, created=NOW - 900, slurm_states=frozenset())
    blind = seen([pod(0, slurm_states=frozenset()), waiting], [node(0)])
    says("no Slurm client", step(blind, current=2))
    assert step(seen([pod(0), waiting], [node(0)]), current=2) == SetReplicas(1, (NAME(1),))


def test_without_kept_healthy_pods_a_blind_operator_can_harm_nobody():
    waiting = {"scheduled": False, "phase": "Pending", "ready": False, "created": NOW - 900, "slurm_states": frozenset()}
    look = seen([given_up(0, **waiting), given_up(1, **waiting)], [])
    assert step(look, current=2, target=0) == SetReplicas(0, (NAME(1), NAME(0)))


def test_kept_pod_with_the_lowest_cost_there_is_stops_the_run():
    look = seen([pod(0, deletion_cost=INT32_MIN), pod(1), pod(2)], [node(n) for n in range(3)])
    says("lowest deletion cost", step(look), Stop)


def test_kept_pod_with_a_very_low_cost_is_undercut():
    look = seen([pod(0, deletion_cost=BASE_COST), given_up(1), given_up(2)], FREE_LOOK[1])
    assert {mark.cost for mark in step(look).pods} == {BASE_COST - 1}


# -- holds -----------------------------------------------------------------------------------------------------------------


def test_drain_of_a_person_that_ends_soon_is_not_relied_on():
    theirs = node(2, "IDLE+DRAIN", "bad DIMM", resume_after=NOW + 100)
    look = seen([pod(0), given_up(1), given_up(2)], [node(0), held(1), theirs])
    assert "its drain ends at" in step(look).progress[0]


def test_no_more_nodes_are_drained_at_once_than_allowed():
    one = DrainPolicy(max_at_once=1)
    fresh = seen([pod(n) for n in range(3)], [node(n) for n in range(3)], [job(1, 1), job(2, 2, end=NOW + 9)])
    assert [mark.pod for mark in step(fresh, policy=one).pods] == [NAME(0)]
    busy = [job(1, 1), job(2, 2, end=NOW + 9)]
    first = seen([given_up(0), pod(1), pod(2)], [held(0), node(1), node(2)], busy)
    assert [mark.pod for mark in step(first, policy=one).pods] == [NAME(2)]
    second = seen([given_up(0), pod(1), given_up(2)], [held(0), node(1), held(2, "MIXED+DRAIN")], busy)
    says("1 of 2", step(second, policy=one))
    says("1 of 3", step(second, target=0, policy=one))


def test_prediction_is_compared_once_more_right_before_done():
    """It can't differ from the choice; if it ever does, nothing is lowered."""
    look = free_look()
    stage = judge(look, goal(3, 1), look.cluster)
    wrong = replace(stage, selected=stage.selected[:1], retained=())
    says("the operator would delete hpc-worker-gpu-2, hpc-worker-gpu-1, not hpc-worker-gpu-2", _hand_over(wrong), Stop)


def test_terminating_pod_is_not_waited_for():
    """Somebody deletes it already; its marks keep the operator on it."""
    look = seen([pod(0), given_up(1), given_up(2, terminating=True)], [node(0), held(1), node(2, "MIXED")], [job(1, 2)])
    assert step(look) == SetReplicas(1, (NAME(2), NAME(1)))


# -- giving back -----------------------------------------------------------------------------------------------------------


def test_raising_replicas_gives_back_marks_then_drains_then_is_done():
    found = step(free_look(), current=3, target=3)
    assert isinstance(found, Release)
    assert all(each.uncordon and each.restore_cost for each in found.pods)
    assert step(seen([pod(n) for n in range(3)], FREE_LOOK[1]), target=5) == Undrain(("gpu-1", "gpu-2"))
    assert step(seen([pod(n) for n in range(3)], [node(n) for n in range(3)]), target=5) == SetReplicas(5)


def test_pods_that_the_operator_is_deleting_are_not_given_back():
    look = seen(*FREE_LOOK, replicas=1)
    says("the operator is deleting", step(look, current=1, target=3))


def test_nothing_is_given_back_before_the_operator_has_seen_the_newest_spec():
    says("the operator is deleting", step(free_look(nodeset=nodeset(3, generation=2)), target=3))


def test_run_killed_after_the_write_is_done_at_once_and_keeps_the_doomed_drained():
    assert step(seen(*FREE_LOOK, replicas=1)) == Done((NAME(2), NAME(1)))


def test_run_after_the_write_gives_back_what_is_left_on_kept_pods():
    look = seen([given_up(0), given_up(1, ready=False, ready_changed=NOW - 500)], [held(0), held(1)], replicas=1)
    found = step(look, current=2)
    assert isinstance(found, Release)
    assert [each.pod for each in found.pods] == [NAME(0)]


# -- teardown --------------------------------------------------------------------------------------------------------------


def test_teardown_needs_every_node_free_and_neither_cordon_nor_the_operator():
    plain = {"cordon": False, "slurm_states": frozenset()}
    look = seen([given_up(n, **plain) for n in range(2)], [held(0), held(1)])
    assert step(look, 2, 0, teardown=True) == DeleteNodeSet((NAME(1), NAME(0)))
    assert step(replace(look, nodeset=None), 2, 0, teardown=True) == Done()


def test_teardown_waits_for_jobs_on_any_node():
    look = seen([given_up(n) for n in range(2)], [held(0), held(1, "MIXED+DRAIN")], [job(1, 1)])
    says("1 of 2", step(look, 2, 0, teardown=True))


def test_a_rolling_update_that_is_stuck_does_not_stop_a_removal():
    """An image that can't be pulled: the update never ends, and the NodeSet must be removable."""
    pods = [given_up(0, ready=False, phase="Pending", slurm_states=frozenset()), given_up(1), given_up(2)]
    look = seen(pods, [held(1), held(2)], nodeset=nodeset(3, updated=1))
    assert isinstance(step(look, 3, 0, teardown=True), DeleteNodeSet)


def test_teardown_waits_for_the_end_of_an_earlier_scale_in():
    look = seen([given_up(n) for n in range(2)], [held(0), held(1)], [job(1, 0)], replicas=1)
    says("earlier scale-in", step(look, 2, 0, teardown=True))


def test_teardown_is_refused_while_another_gate_holds_a_pod():
    look = seen([given_up(0), given_up(1, gate="x")], [held(0), held(1)])
    says("another gate", step(look, 2, 0, teardown=True), Stop)


def test_nodes_of_a_removed_nodeset_are_held_until_a_destroy_is_repeated_days_later():
    """Its gate is out of the state by then: if the NodeSet's own deletion failed, the next one has no gate before it."""
    soon = step(seen([given_up(0)], [held(0, resume_after=NOW + 86_400)]), 1, 0, teardown=True)
    assert (soon.nodes, soon.resume_after_s) == (("gpu-0",), HANDED_OVER_S)
    held_on = seen([given_up(0)], [held(0, resume_after=NOW + HANDED_OVER_S - 5)])
    assert step(held_on, 1, 0, teardown=True) == DeleteNodeSet((NAME(0),))
    busy = seen([given_up(0)], [held(0, "MIXED+DRAIN")], [job(1, 0)])
    assert isinstance(step(busy, 1, 0, teardown=True), Wait), "who waits for jobs keeps the short dead man's switch"


def test_teardown_of_a_nodeset_that_an_autoscaler_owns_goes_on():
    look = seen([given_up(0)], [held(0)], writers=("ScaledObject/gpu",))
    assert step(look, 1, 0, teardown=True) == DeleteNodeSet((NAME(0),))


# -- the operator must be alive in this run --------------------------------------------------------------------------------


def test_drains_of_an_earlier_run_get_the_stamp_of_this_one():
    found = step(free_look(), run="r2")
    assert found == SetReason(("gpu-2", "gpu-1"), f"{OURS} (run r2)")


def test_conditions_that_a_dead_operator_left_do_not_lower_replicas():
    """Its pods still show the drain of the run before; nothing shows that anybody has looked since."""
    stamped = [node(0), *(held(n, reason=f"{OURS} (run r2)") for n in (1, 2))]
    found = step(seen(FREE_LOOK[0], stamped), run="r2")
    assert isinstance(found, TriggerSync)
    pods = [pod(0), *(given_up(n, slurm_reason=f"{OURS} (run r2)") for n in (1, 2))]
    assert isinstance(step(seen(pods, stamped), run="r2"), SetReplicas)


def test_nodes_are_held_for_long_before_and_after_replicas_are_lowered():
    """An operator that is away for an hour after the write must find them drained when it starts again."""
    short = [node(0), held(1, resume_after=NOW + 3600), held(2, resume_after=NOW + 3600)]
    before = step(seen(FREE_LOOK[0], short))
    assert (before.nodes, before.resume_after_s) == (("gpu-2", "gpu-1"), HANDED_OVER_S)
    written = step(seen(FREE_LOOK[0], short, replicas=1))
    assert isinstance(written, RenewHold)
    assert set(written.nodes) == {"gpu-2", "gpu-1"}


# -- another slurmctld -----------------------------------------------------------------------------------------------------


def test_a_slurmctld_that_lists_none_of_our_nodes_frees_none():
    marked = {"slurm_states": frozenset(), "slurm_reason": "", "cordon": False}
    pods = [pod(0, slurm_states=frozenset()), given_up(1, **marked), given_up(2, **marked)]
    look = seen(pods, [made_node("metal-1")])
    says("lists none of the nodes", step(look))
    pods = [given_up(n, **marked) for n in range(3)]
    says("lists none of the nodes", step(seen(pods, [made_node("metal-1")]), 3, 0, teardown=True))
    says("give slurmctld its state back", step(look))


def test_nodes_that_never_registered_are_removable_where_the_cluster_name_is_right():
    cluster = ClusterView.of([made_node("metal-1")], [], name="atlas")
    look = seen([pod(0, slurm_states=frozenset())], (), cluster=cluster)
    assert isinstance(step(replace(look), 1, 0, teardown=True, cluster="atlas"), SetCosts | DeleteNodeSet)
    says("slurmctld of cluster 'atlas' answers", step(look, 1, 0, teardown=True, cluster="zeus"))
    says("slurmctld of cluster 'atlas' answers", step(look, 1, 0, cluster="zeus"))


def test_a_number_is_not_raised_by_the_word_of_another_cluster():
    """Whether the new pods' names are in use, only the NodeSet's own slurmctld knows; nor is a node there given back."""
    cluster = ClusterView.of([made_node("metal-1")], [], name="atlas")
    look = seen([pod(0)], (), cluster=cluster)
    says("slurmctld of cluster 'atlas' answers", step(look, 1, 3, cluster="zeus"))
    assert step(look, 1, 3, cluster="atlas") == SetReplicas(3)
    left = seen([given_up(0)], (), cluster=ClusterView.of([held(0)], [], name="atlas"))
    says("slurmctld of cluster 'atlas' answers", step(left, 1, 1, cluster="zeus"))


# -- the NodeSet itself ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("teardown", [False, True])
def test_a_frozen_nodeset_is_not_changed(teardown):
    look = free_look(nodeset=nodeset(3, frozen="incident 4711"))
    found = step(look, 3, 0, teardown=teardown)
    assert isinstance(found, Stop)
    assert "slinky-iac/freeze (incident 4711)" in found.why


def test_a_nodeset_that_is_being_deleted_is_waited_for_in_a_removal_and_stops_all_else():
    look = free_look(nodeset=nodeset(3, deleting=True))
    says("is being deleted", step(look, 3, 0, teardown=True))
    says("is being deleted", step(look), Stop)


def test_a_number_that_another_client_wrote_is_not_raised_over():
    look = seen([pod(0)], [node(0)], replicas=2)
    says("Another client writes them", step(look, 1, 4), Stop)


def test_an_autoscalers_number_is_not_written():
    assert step(free_look(), writes=False) == Done((NAME(2), NAME(1)))
    assert step(seen([pod(0)], [node(0)]), 1, 4, writes=False) == Done()


def test_a_pod_that_has_just_started_is_waited_for_in_a_removal():
    """It may register between the look and the deletion."""
    young = given_up(0, ready=False, ready_changed=None, created=NOW - 30, slurm_states=frozenset())
    look = seen([young, given_up(1)], [held(1)])
    assert "1 of 2 nodes are free" in says("are free", step(look, 2, 0, teardown=True)).why


def test_the_first_pods_are_made_without_an_answer_from_slurm():
    """slurmrestd may still be starting in the first update; there is nothing that it could tell of."""
    look = seen((), (), replicas=0, cluster=None, problem="no endpoints")
    patience = DrainPolicy().register_deadline_s
    assert step(look, 0, 3, deadline_at=NOW + patience - FIRST_ANSWER_S) == SetReplicas(3)
    says("no endpoints", step(look, 0, 3, deadline_at=NOW + patience))
    says("no endpoints", step(seen([pod(0)], (), replicas=1, cluster=None, problem="no endpoints"), 1, 3))


@pytest.mark.parametrize("pods", [(), (pod(0), pod(1))])
def test_a_name_that_is_in_use_in_slurm_is_not_taken_by_a_new_pod(pods):
    """slurmctld gives the name to the slurmd that registers last, and ends the jobs of the one before."""
    look = seen(pods, [node(0), node(1), node(2)] if pods else [node(2)], [job(7, 2)])
    assert "gpu-2 is in use" in says("take it over", step(look, len(pods), 3)).why
    late = step(look, len(pods), 3, deadline_at=NOW)
    assert isinstance(late, Stop)
    assert "gpu-2" in late.why


def test_a_pod_that_is_ending_gives_its_place_to_the_next_free_number():
    """The operator makes one pod for it, too, and that one gets gpu-2, which another cluster's node has."""
    look = seen([pod(0), pod(5, terminating=True)], [node(0), node(2)])
    says("gpu-2 is in use in Slurm", step(look, 2, 3))
    free = seen([pod(0), pod(5, terminating=True)], [node(0), node(3)])
    assert step(free, 2, 3) == SetReplicas(3)


def test_the_reason_says_who_asked_where_there_is_room():
    assert goal(3, 1, run="r2", by="github mara run 17").reason == f"{OURS} (run r2) by github mara run 17"
    wide = replace(goal(3, 1, run="r2", by="mara"), owner=Owner("s" * 120, "n" * 110))
    assert wide.reason == wide.owner.reason("scale-in 3->1 (run r2)")
