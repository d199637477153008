"""A rollout, step by step, and its plan in a preview."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.drain.protocol import (
    DeletePods,
    Done,
    Drain,
    Observation,
    Replaced,
    Requeue,
    Resume,
    SetCosts,
    Stop,
    TriggerSync,
    Undrain,
    Wait,
)
from slinky_iac.drain.rollout import at_once, plan_rollout, refusals, roll_step
from slinky_iac.drain.settings import DrainPolicy, Limits
from slinky_iac.drain.steps import next_step
from slinky_iac.drain.tags import BASE_COST, Tag
from slinky_iac.slurmrest.concurrent_calls import AT_ONCE
from tests.unit.drain.made import NOW, OWNER, V121, given_up, goal, held, job, node, nodeset, pod, seen
from tests.unit.drain.model_session import settings

NAME = "hpc-worker-gpu-{}".format
OURS = OWNER.reason("rollout")


def old(number, **changes):
    return pod(number, revision="v1", **changes)


def new(number, **changes):
    return pod(number, revision="v2", **changes)


def drained(number, **changes):
    """A pod of the earlier template whose drain the operator has seen."""
    return given_up(number, **{"revision": "v1", "cordon": False, "slurm_reason": OURS, **changes})


def retained_drained(number, **changes):
    return held(number, **{"reason": OURS, **changes})


def look(pods, nodes, jobs=(), **changes):
    state = nodeset(changes.pop("replicas", len(pods)), on_delete=True, revision="v2", **changes.pop("state", {}))
    return seen(pods, nodes, jobs, nodeset=state, **changes)


def step(observation: Observation, **changes):
    live = observation.nodeset.spec.replicas
    return roll_step(observation, goal(live, live, **{"why": "rollout", "rolls": 1, **changes}))


def nodes(count):
    return [node(n) for n in range(count)]


# -- the ordinary course ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begun", [False, True])
def test_no_pod_is_replaced_by_one_that_takes_a_name_in_use(begun):
    """The operator names the successor by the lowest free number, which another cluster's node has in Slurm."""
    pods = [new(0), drained(2) if begun else old(2)]
    records = [node(0), node(1), retained_drained(2) if begun else node(2)]
    found = step(look(pods, records, [job(7, 1)]))
    assert isinstance(found, Wait)
    assert "gpu-1 is in use in Slurm" in found.why
    free = step(look(pods, [record for record in records if record.name != "gpu-1"]))
    assert isinstance(free, DeletePods if begun else SetCosts)


def test_pods_of_the_newest_template_are_left_alone():
    assert step(look([new(0), new(1)], nodes(2))) == Done()


def test_a_batch_is_marked_first_and_is_no_larger_than_the_strategy_allows():
    found = step(look([old(n) for n in range(4)], nodes(4)), rolls=2)
    assert isinstance(found, SetCosts)
    assert len(found.pods) == 2


@pytest.mark.parametrize(("user", "replaced"), [("slurm", True), ("root", False)])
def test_a_node_that_registered_wrongly_is_replaced_but_not_under_a_persons_drain(user, replaced):
    """1.0 and 1.1 delete the record and the drain with the pod; of slurmctld's own the next registration decides."""
    record = node(0, "IDLE+DRAIN+INVALID_REG", "Low RealMemory", user=user)
    assert isinstance(step(look([old(0), new(1)], [record, node(1)])), SetCosts if replaced else Done)


def test_idle_nodes_go_before_busy_ones():
    found = step(look([old(0), old(1), old(2)], nodes(3), [job(1, 1), job(2, 2)]))
    assert isinstance(found, SetCosts)
    assert [mark.pod for mark in found.pods] == [NAME(0)]


def test_a_marked_batch_is_drained_with_our_reason_and_a_hold():
    marked = old(0, gate=Tag("dev/gpu", BASE_COST, hold=0).text(), deletion_cost=BASE_COST, cost_text=str(BASE_COST))
    assert step(look([marked, new(1)], nodes(2))) == Drain(("gpu-0",), OURS, 3600)


def test_a_free_pod_is_deleted_and_never_cordoned():
    """pod-cordon lets the operator delete volume claims with the pod; a replaced pod keeps its claims."""
    assert step(look([drained(0), new(1)], [retained_drained(0), node(1)])) == DeletePods((Replaced(NAME(0)),))


def test_free_pods_are_deleted_together_as_many_as_are_asked_for_at_once():
    """Each look that deletes one pod lists all pods and nodes: 500 looks for a batch of 500."""
    count = AT_ONCE + 2
    pods, busy = [drained(n) for n in range(count)], 1
    found = step(look(pods, [retained_drained(n) for n in range(count)], [job(7, busy)]), rolls=count)
    assert found == DeletePods(tuple(Replaced(NAME(n)) for n in range(count) if n != busy)[:AT_ONCE])


def test_an_operator_that_has_not_seen_this_runs_drain_is_made_to_look_and_waited_for():
    unseen = drained(0, slurm_states=frozenset({"IDLE"}), slurm_reason="")
    assert isinstance(step(look([unseen, new(1)], [retained_drained(0), node(1)])), TriggerSync)


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "COMPLETING", "STOPPED"])
def test_a_busy_node_keeps_its_pod_whatever_its_job_does(state):
    found = step(look([drained(0), new(1)], [retained_drained(0), node(1)], [job(1, 0, state=state)]))
    assert isinstance(found, Wait)
    assert found.progress[0].startswith("gpu-0: 1 job")


def test_the_next_batch_waits_until_the_last_one_is_back_in_service():
    found = step(look([old(0), new(1, ready=False, created=NOW - 20)], nodes(2)))
    assert isinstance(found, Wait)
    assert "1 pods are still to be replaced" in found.why


def test_a_pod_that_is_missing_counts_as_away():
    assert isinstance(step(look([old(0)], nodes(1), replicas=2)), Wait)


def test_a_record_that_the_earlier_pod_left_drained_is_returned_to_service():
    left = node(1, "IDLE+DRAIN", reason="slurm-operator: Pod is terminating", reason_changed_at=NOW - 90)
    assert step(look([old(0), new(1, created=NOW - 60)], [node(0), left])) == Resume(("gpu-1",))


# -- refusals, deadlines ---------------------------------------------------------------------------------------------------


def test_the_operator_rolling_by_itself_ends_it():
    found = step(seen([old(0)], nodes(1), nodeset=nodeset(1, revision="v2")))
    assert isinstance(found, Stop)
    assert "not OnDelete" in found.why


def test_a_freeze_ends_it():
    found = step(look([old(0)], nodes(1), state={"frozen": "incident 4711"}))
    assert isinstance(found, Stop)
    assert "incident 4711" in found.why


def test_a_nodeset_that_the_operator_has_not_seen_is_waited_for():
    assert isinstance(step(look([old(0)], nodes(1), state={"generation": 2})), Wait)


def test_without_slurm_nothing_is_done():
    found = step(look([old(0)], [], cluster=None, problem="connection refused"))
    assert isinstance(found, Wait)


@pytest.mark.parametrize(
    ("limits", "text"),
    [(Limits(max_jobs=1), "maxJobs"), (Limits(max_job_age_s=60), "maxJobAge"), (Limits(max_share=0.3), "maxShare")],
)
def test_limits_hold_before_the_first_mark(limits, text):
    found = step(look([old(0), old(1)], nodes(2), [job(1, 0), job(2, 1)]), policy=DrainPolicy(limits=limits))
    assert isinstance(found, Stop)
    assert text in found.why


def test_at_the_deadline_the_nodes_stay_drained_and_nothing_is_deleted():
    found = step(look([drained(0)], [retained_drained(0)], [job(1, 0)], now=NOW + 3600))
    assert isinstance(found, Stop)
    assert found.cause == "deadline"
    assert not found.undo


def test_at_the_deadline_a_policy_may_requeue():
    busy = look([drained(0)], [retained_drained(0)], [job(1, 0, requeue=True)], now=NOW + 3600)
    assert step(busy, policy=DrainPolicy(on_deadline="requeue")) == Requeue((1,))


def test_new_pods_that_do_not_come_up_end_it_before_more_are_replaced():
    broken = new(1, phase="Pending", ready=False, created=NOW - 400, trouble="ImagePullBackOff")
    found = step(look([old(0), broken], nodes(2)))
    assert isinstance(found, Stop)
    assert "ImagePullBackOff" in found.why


def test_a_broken_pod_of_an_earlier_template_is_replaced_first():
    broken = old(1, phase="Pending", ready=False, created=NOW - 400, ready_changed=None)
    found = step(look([old(0), broken], nodes(1)))
    assert isinstance(found, SetCosts)
    assert [mark.pod for mark in found.pods] == [NAME(1)]


# -- what others hold ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        node(0, "IDLE+DRAIN", reason="bad DIMM", user="alice"),
        node(0, "IDLE+DRAIN", reason="slurm-operator: Node (n1) was cordoned, Pod (slurm/x) must be cordoned"),
    ],
)
def test_a_node_that_somebody_holds_is_not_replaced(record):
    assert step(look([old(0), new(1)], [record, node(1)])) == Done()


def test_a_pod_that_the_operator_had_selected_itself_is_replaced():
    """A rolling update of its own was on when the strategy became OnDelete: it doesn't go on with that."""
    reason = "slurm-operator: Pod (slurm/x) was cordoned pending termination"
    found = step(look([old(0, slurm_states=frozenset({"IDLE", "DRAIN"}))], [node(0, "IDLE+DRAIN", reason=reason)]))
    assert isinstance(found, SetCosts)


def test_a_node_that_nobody_understands_is_named_at_the_end():
    found = step(look([old(0), new(1)], [node(0, "UNKNOWN"), node(1)]))
    assert isinstance(found, Stop)
    assert NAME(0) in found.why


def test_a_tag_without_a_drain_takes_no_place_in_a_batch_that_is_begun():
    """Somebody drained and returned a node of an earlier batch; our tag is still on its pod."""
    tagged = old(1, gate=Tag("dev/gpu", BASE_COST).text(), deletion_cost=BASE_COST, cost_text=str(BASE_COST))
    found = step(look([drained(0), tagged], [retained_drained(0), node(1)], [job(1, 0)]))
    assert isinstance(found, Wait)


# -- beside a changed number -----------------------------------------------------------------------------------------------


def test_what_a_rollout_has_drained_is_not_given_back_by_the_next_run():
    begun = look([drained(0), new(1)], [retained_drained(0), node(1)])
    assert next_step(begun, goal(2, 2, rolls=1)) == Done(())
    assert not isinstance(next_step(begun, goal(2, 2)), Done), "a strategy that leaves pods to others takes its drains back"


def test_it_is_given_back_where_the_template_is_the_old_one_again():
    back = look([drained(0, revision="v2", gate=""), new(1)], [retained_drained(0), node(1)])
    assert next_step(back, goal(2, 2, rolls=1)) == Undrain(("gpu-0",))


# -- how many at once ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("most", "replicas", "wanted"), [("25%", 3, 1), ("25%", 5, 2), ("100%", 7, 7), (2, 9, 2), ("1%", 0, 1)]
)
def test_shares_are_rounded_up_as_the_operator_rounds_them(most, replicas, wanted):
    assert at_once(most, replicas) == wanted


@given(st.integers(1, 100), st.integers(0, 500))
def test_a_share_is_never_more_than_the_next_whole_pod(percent, replicas):
    found = at_once(f"{percent}%", replicas)
    assert found >= 1
    assert found == 1 or (found - 1) * 100 < percent * replicas


# -- the preview -----------------------------------------------------------------------------------------------------------


def gate(**changes):
    return settings(3, **{"updates": "Gated", "max_unavailable": "25%", "template": "b", **changes})


def test_the_preview_of_a_new_template_names_the_pods_and_whose_jobs_are_waited_for():
    """The NodeSet is not written yet, so its pods are all of the template that is live."""
    live = look([new(n) for n in range(3)], nodes(3), [job(7, 1)], state={"template": "a"})
    found = plan_rollout(gate(), live, {}, ())
    assert found.plan.props["rolls"]["text"].startswith(
        "rolls 3 of 3 pods, 1 at once: hpc-worker-gpu-0, hpc-worker-gpu-1, hpc-worker-gpu-2"
    )
    assert "1 busy, until 2027" in found.plan.props["rolls"]["text"]
    assert found.plan.props["jobs"][0]["job"] == "7"
    assert found.due == "", "the template itself is the difference"


def test_the_preview_after_an_update_that_ended_before_its_rollout_names_what_is_left():
    live = look([old(0), new(1)], nodes(2), state={"template": "b"})
    found = plan_rollout(gate(), live, {}, ())
    assert found.plan.props["rolls"]["pods"] == [NAME(0)]
    assert "1 pods of hpc-worker-gpu have an earlier template" in found.due


@pytest.mark.parametrize("observed", [True, False])
def test_the_update_that_has_written_the_template_comes_to_the_plan_of_its_preview(observed):
    """`pulumi up --plan` compares both. The engine writes the NodeSet before it asks the gate, and the operator may not have
    seen that."""
    before, records = {"template": "a"}, [job(7, 1)]
    live = nodeset(3, on_delete=True, template="a", revision="v1")
    previewed = plan_rollout(gate(), seen([old(n) for n in range(3)], nodes(3), records, nodeset=live), before, ())
    said = {"revision": "v2"} if observed else {"revision": "v1", "generation": 2, "observed_generation": 1}
    state = nodeset(3, on_delete=True, template="b", **said)
    written = seen([old(n) for n in range(3)], nodes(3), records, nodeset=state)
    updated = plan_rollout(gate(), written, before, ())
    assert updated is not None
    assert (updated.plan.props, updated.due) == (previewed.plan.props, previewed.due)


def test_without_a_difference_there_is_no_plan():
    assert plan_rollout(gate(), look([new(0)], nodes(1), state={"template": "b"}), {}, ()) is None
    assert plan_rollout(gate(), look([new(0)], nodes(1)), {}, ()) is None, "of a release that wrote no digest"


def test_pods_that_the_same_update_removes_are_not_replaced():
    live = look([old(0), old(1)], nodes(2), state={"template": "b"})
    assert plan_rollout(gate(), live, {}, {NAME(1)}).plan.props["rolls"]["pods"] == [NAME(0)]


def test_the_preview_names_nodes_whose_record_a_reservation_keeps():
    records = [node(0), node(1, "IDLE+MAINTENANCE+RESERVED")]
    found = plan_rollout(gate(), look([old(0), old(1)], records, state={"template": "b"}), {}, ())
    (text,) = [each for each in found.plan.props["warnings"] if "reservation" in each]
    assert "doesn't delete the record: gpu-1. Features" in text
    plain = plan_rollout(gate(), look([old(0), old(1)], nodes(2), state={"template": "b"}), {}, ())
    assert not [each for each in plain.plan.props["warnings"] if "reservation" in each]


def test_limits_stop_the_preview():
    live = look([old(0)], nodes(1), [job(1, 0)], state={"template": "b"})
    found = plan_rollout(gate(policy=DrainPolicy(limits=Limits(max_jobs=0))), live, {}, ())
    assert "maxJobs" in found.failures[0]


def test_pods_that_others_replace_are_no_work_of_ours():
    live = look([old(0)], nodes(1), state={"template": "a"})
    assert plan_rollout(gate(updates="OnDelete"), live, {}, ()) is None


def test_jobs_that_nobody_could_be_asked_about_are_said_to_be_unknown():
    live = look([old(0)], [], cluster=None, problem="connection refused", state={"template": "b"})
    found = plan_rollout(gate(), live, {}, ())
    assert found.plan.props["known"] is False
    assert found.plan.props["rolls"]["pods"] == [NAME(0)]


def rolling(**changes):
    return seen([new(0)], nodes(1), nodeset=nodeset(1, revision="v2", template="a"), **changes)


def test_a_newer_operator_is_refused_while_the_live_nodeset_rolls_by_itself():
    (text,) = refusals(gate(), rolling(), {"operatorVersion": "1.0.1"})
    assert "from 1.0.1 to 1.1.0" in text
    assert "Set operator.version back to 1.0.1 and run `pulumi up`" in text


def test_a_newer_operator_is_fine_under_on_delete_and_where_nothing_else_changes():
    assert refusals(gate(), look([new(0)], nodes(1), state={"template": "a"}), {"operatorVersion": "1.0.1"}) == ()
    same = gate(updates="RollingUpdate", template="a")
    assert refusals(same, rolling(), {"operatorVersion": "1.0.1"}) == ()


def test_a_suspended_job_stops_the_preview_of_a_template_that_the_operator_rolls_out():
    busy = replace(rolling(), cluster=seen([new(0)], nodes(1), [job(7, 0, state="SUSPENDED")]).cluster)
    (text,) = refusals(gate(updates="RollingUpdate"), busy, {})
    assert "7 of alice" in text
    assert "Gated" in text


def test_with_a_release_that_leaves_records_the_record_goes_before_its_pod():
    """1.2 leaves it DOWN, and slurmctld keeps it when the new pod registers, with the features of the old one."""
    dynamic = retained_drained(0, state="IDLE+DRAIN+DYNAMIC_NORM")
    found = step(look([drained(0), new(1)], [dynamic, node(1)], version=V121))
    assert found == DeletePods((Replaced(NAME(0), record="gpu-0"),))


@pytest.mark.parametrize("flag", ["RESERVED", "MAINTENANCE"])
def test_the_record_of_a_reserved_node_stays_and_its_pod_goes(flag):
    """slurmctld deletes no record of a node in a reservation."""
    reserved = retained_drained(0, state=f"IDLE+DRAIN+DYNAMIC_NORM+{flag}")
    assert step(look([drained(0), new(1)], [reserved, node(1)], version=V121)) == DeletePods((Replaced(NAME(0)),))
