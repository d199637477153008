"""A NodeSet in DaemonSet mode: which step follows, which pods are awaited, and what a preview says of it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import msgspec
import pytest

from slinky_iac.drain import daemons, preview
from slinky_iac.drain.daemons import SetSelection
from slinky_iac.drain.fresh import selects_as_seen
from slinky_iac.drain.members import absent, members_step, taken_back, told_of_fit
from slinky_iac.drain.protocol import (
    CordonAnnotate,
    DeleteNodeSet,
    DeletePods,
    Done,
    Drain,
    RevokePermit,
    SetCosts,
    Stop,
    Undrain,
    Wait,
)
from slinky_iac.drain.rollout import roll_step
from slinky_iac.drain.settings import DrainPolicy, Limits
from slinky_iac.drain.steps import next_step
from slinky_iac.kube.client import merge_patch
from slinky_iac.selection import Selection, Selects
from tests.made.machines import worker_machine
from tests.unit.drain.made import NOW, given_up, goal, held, job, node, nodeset, pod, seen
from tests.unit.drain.made import marked as made_marked
from tests.unit.drain.model_session import settings

ALL, ONE, NONE = Selection({"pool": "gpu"}), Selection({"pool": "gpu", "n": "0"}), Selection({"pool": "none"})
MACHINES = tuple(worker_machine(f"gpu-{n}", {"pool": "gpu", "n": str(n)}) for n in range(2))


def daemon(make, number, **more):
    return make(number, machine=f"gpu-{number}", mode="DaemonSet", **more)


def state(selection=ALL, **more):
    return nodeset(0, mode="DaemonSet", on_delete=True, template_spec=selection.fields, **more)


def looked(pods=None, nodes=None, jobs=(), selection=ALL, machines=MACHINES, **more):
    pods = [daemon(pod, 0), daemon(pod, 1)] if pods is None else pods
    nodes = [node(0), node(1)] if nodes is None else nodes
    return seen(pods, nodes, jobs, **{"nodeset": state(selection), "machines": machines, **more})


def wish(wanted=ONE, began=ALL, **more):
    return goal(2, 1, selects=Selects(wanted, began), **more)


READY = looked([daemon(pod, 0), daemon(given_up, 1)], [node(0), held(1)])


# -- the way of a selection that shrinks --------------------------------------------------------------------------------
def test_it_marks_then_drains_then_waits_then_writes():
    marks = next_step(looked(), wish())
    assert isinstance(marks, SetCosts)
    assert [each.pod for each in marks.pods] == ["hpc-worker-gpu-1"]
    waiting = daemon(made_marked, 1, cordon=False, slurm_states={"IDLE"}, slurm_reason="")
    drains = next_step(looked([daemon(pod, 0), waiting]), wish())
    assert isinstance(drains, Drain)
    assert drains.nodes == ("gpu-1",)
    busy = looked([daemon(pod, 0), daemon(given_up, 1)], [node(0), held(1, "MIXED+DRAIN")], [job(7, 1)])
    waits = next_step(busy, wish())
    assert isinstance(waits, Wait)
    assert "job 7" in waits.why
    uncordoned = looked([daemon(pod, 0), daemon(given_up, 1, cordon=False)], [node(0), held(1)])
    assert next_step(uncordoned, wish()) == CordonAnnotate(("hpc-worker-gpu-1",))
    assert next_step(READY, wish()) == SetSelection(ONE, ("hpc-worker-gpu-1",))


def test_a_suspended_job_holds_the_selection_up():
    """The operator calls its node drained."""
    still = looked([daemon(pod, 0), daemon(given_up, 1)], [node(0), held(1)], [job(7, 1, state="SUSPENDED")])
    assert isinstance(next_step(still, wish()), Wait)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cluster": None, "problem": "asleep"}, "asleep"),
        ({"restapi_ready": False}, "blind"),
        ({"nodeset": state(generation=7)}, "not yet seen the newest NodeSet"),
    ],
)
def test_what_isnt_known_is_waited_for(change, says):
    step = next_step(replace(READY, **change), wish())
    assert isinstance(step, Wait)
    assert says in step.why


def test_a_drain_that_the_operator_has_not_seen_is_waited_for():
    unseen = looked([daemon(pod, 0), daemon(given_up, 1, slurm_states={"IDLE"}, slurm_reason="")], [node(0), held(1)])
    assert not isinstance(next_step(unseen, wish()), SetSelection)


def test_a_new_nodeset_with_the_status_of_the_deleted_one_is_begun():
    """slurm-operator 1.1.0 writes the status of the NodeSet that was replaced into its successor (run)."""
    status = msgspec.structs.replace(nodeset(0).status, replicas=1, observed_generation=3)
    new = looked([], [], nodeset=msgspec.structs.replace(nodeset(0), status=status), selection=ALL)
    step = next_step(new, wish(ALL, None))
    assert not isinstance(step, Stop)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (state(Selection({"pool": "gpu", "n": "1"})), "written by another client"),
        (nodeset(2), "has scalingMode StatefulSet, which somebody else wrote. The stack sets DaemonSet"),
        (state(frozen="kernel"), "is frozen"),
        (state(deleting=True), "is being deleted"),
    ],
)
def test_a_nodeset_that_is_not_as_this_run_began_stops_it(found, says):
    step = next_step(replace(READY, nodeset=found), wish())
    assert isinstance(step, Stop)
    assert says in step.why


def test_an_autoscaler_on_it_stops_the_run():
    assert "HPA/x" in next_step(replace(READY, writers=("HPA/x",)), wish()).why


def test_limits_are_judged_before_the_first_mark_by_the_pods_that_are_there():
    policy = DrainPolicy(limits=Limits(max_share=0.4))
    assert isinstance(next_step(looked(), wish(policy=policy)), Stop)
    assert isinstance(next_step(looked(), wish(policy=DrainPolicy(limits=Limits(max_share=0.5)))), SetCosts)


def test_machines_that_fit_more_need_no_drain_and_no_operator():
    one = looked([daemon(pod, 0)], [node(0)], selection=ONE, restapi_ready=False)
    assert next_step(one, wish(ALL, ONE)) == SetSelection(ALL)


def test_the_first_selection_is_written_with_the_mode_and_waits_for_slurm():
    """Its pods take names of machines, which a slurmd of their own may have."""
    new = looked([], [], nodeset=nodeset(0), selection=ALL)
    assert next_step(new, wish(ALL, None)) == SetSelection(ALL)
    assert isinstance(next_step(replace(new, cluster=None, problem="asleep"), wish(ALL, None)), Wait)


def test_a_machine_whose_name_is_in_use_in_slurm_gets_no_pod():
    taken = looked([daemon(pod, 0)], [node(0), node(1)], [job(9, 1)], selection=ONE)
    step = next_step(taken, wish(ALL, ONE))
    assert isinstance(step, Wait)
    assert "gpu-1 is in use in Slurm without a pod of this NodeSet" in step.why


def test_a_pod_on_a_machine_that_nobody_knows_is_drained_too():
    """Its Kubernetes node may come back, without fitting."""
    assert daemons.going(looked(machines=MACHINES[:1]), ALL) == {"hpc-worker-gpu-1"}


def test_a_written_selection_keeps_what_goes_drained_and_gives_back_the_rest():
    gone = looked([daemon(pod, 0), daemon(given_up, 1)], [held(0, resume_after=NOW + 9000), held(1)], selection=ONE)
    assert next_step(gone, wish()) == Undrain(("gpu-0",))
    done = looked([daemon(pod, 0), daemon(given_up, 1)], [node(0), held(1)], selection=ONE)
    assert next_step(done, wish()) == Done(("hpc-worker-gpu-1",))


def test_a_run_that_was_killed_and_changed_its_mind_gives_everything_back():
    assert next_step(READY, wish(ALL)).pods[0].pod == "hpc-worker-gpu-1"
    assert next_step(replace(READY, nodeset=state(permitted=True)), wish(ALL)) == RevokePermit()


def test_a_removal_drains_every_pod_and_deletes():
    both = looked([daemon(given_up, 0), daemon(given_up, 1)], [held(0), held(1)])
    assert next_step(both, goal(2, 0, teardown=True)) == DeleteNodeSet(("hpc-worker-gpu-1", "hpc-worker-gpu-0"))


# -- the write rests on what was seen -----------------------------------------------------------------------------------
def test_a_write_needs_the_same_machines_as_the_look():
    def same(machines):
        return selects_as_seen(READY, READY.nodeset, READY.pods, machines, ONE)

    relabelled = worker_machine("gpu-0", {"pool": "gpu", "n": "9"})
    joined = worker_machine("gpu-9", {"pool": "gpu", "n": "0"})
    assert same(MACHINES)
    assert same((*MACHINES, worker_machine("cpu-1")))
    assert not same((relabelled, MACHINES[1]))
    assert not same((*MACHINES, joined))
    assert not selects_as_seen(READY, state(generation=2), READY.pods, MACHINES, ONE)
    assert not selects_as_seen(READY, READY.nodeset, READY.pods[:1], MACHINES, ONE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"a": {"b": 1}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}),
        ({"a": [1]}, {"a": []}),
        ({"a": {"b": {"c": 1}}}, {"a": {}}),
        ({"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": 1}, {"b": None}),
    ],
)
def test_a_merge_patch_makes_the_one_to_the_other(before, after):
    def merged(target, patch):
        if not isinstance(patch, dict):
            return patch
        found = dict(target) if isinstance(target, dict) else {}
        for key, value in patch.items():
            if value is None:
                found.pop(key, None)
            else:
                found[key] = merged(found.get(key), value)
        return found

    kept = {key: value for key, value in after.items() if value is not None}
    assert merged(before, merge_patch(before, after)) == kept


# -- pods that are awaited ----------------------------------------------------------------------------------------------
MINE = settings(0, selection=ALL, updates="Gated")


def test_a_pod_is_awaited_on_each_machine_that_fits_and_on_no_other():
    assert absent(looked(), MINE) == ()
    (fault,) = absent(looked([daemon(pod, 0)], [node(0)]), MINE)
    assert fault == "1 pods where 2 Kubernetes nodes fit; none yet on gpu-1"
    assert isinstance(members_step(looked([daemon(pod, 0)], [node(0)], selection=ONE), MINE, NOW + 60), Done)


def test_a_machine_that_takes_no_new_pod_keeps_the_one_that_it_has():
    closed = worker_machine("gpu-1", {"pool": "gpu"}, ("node.kubernetes.io/unschedulable", "NoSchedule"))
    assert absent(looked(machines=(MACHINES[0], closed)), MINE) == ()
    assert absent(looked([daemon(pod, 0)], [node(0)], machines=(MACHINES[0], closed)), MINE) == ()


def test_a_pod_that_the_operator_removes_for_a_label_is_not_waited_for_and_is_told():
    left = looked(machines=(MACHINES[0], worker_machine("gpu-1")))
    assert absent(left, MINE) == ()
    (text,) = told_of_fit(left, MINE)
    assert "hpc-worker-gpu-1 no longer fits" in text


def test_a_pod_that_this_gate_removes_is_waited_for():
    ours = looked([daemon(pod, 0), daemon(given_up, 1)], [node(0), held(1)], selection=ONE)
    assert "2 pods where 1 Kubernetes nodes fit" in absent(ours, MINE)[0]


def test_no_machine_that_fits_is_said_and_is_no_error():
    empty = looked([], [], selection=NONE)
    assert absent(empty, MINE) == ()
    assert list(told_of_fit(empty, MINE)) == ["no Kubernetes node fits hpc-worker-gpu, so it has no pod"]


def test_a_pod_that_the_operator_still_holds_though_its_machine_fits_again_is_given_back():
    cordon = "slurm-operator: Pod (hpc-worker-gpu-1) was cordoned"
    again = looked([daemon(pod, 0), daemon(pod, 1, cordon=True)], [node(0), node(1, "IDLE+DRAIN", reason=cordon)])
    assert [each.name for each in taken_back(again, MINE)] == ["hpc-worker-gpu-1"]
    assert taken_back(again, replace(MINE, selection=ONE)) == ()


# -- a rollout ----------------------------------------------------------------------------------------------------------
def test_pods_of_an_earlier_template_are_replaced_but_for_those_that_go():
    old = [daemon(given_up, 0, revision="old"), daemon(given_up, 1, revision="old")]
    look = looked(old, [held(0), held(1)], selection=ONE, nodeset=state(ONE, revision="new"))
    step = roll_step(look, wish(ONE, ONE, rolls=2))
    assert isinstance(step, DeletePods)
    assert [each.pod for each in step.pods] == ["hpc-worker-gpu-0"]


# -- previews -----------------------------------------------------------------------------------------------------------
class Desk:
    """A session that shows one look."""

    def __init__(self, look):
        self.look, self.said = look, []

    def observe(self, _settings, **_more):
        return self.look

    def report(self, message, **_more):
        self.said.append(message)

    @contextmanager
    def opened(self, *_arguments, **_more):
        yield self


OLDS = {"replicas": 0.0, "scalingMode": "DaemonSet", "template": "", "operatorVersion": "1.1.0"}


def shown(look, wanted=ONE, olds=OLDS, **more):
    desk = Desk(look)
    return preview.nodeset_scale(settings(0, selection=wanted, **more), olds, desk.opened), desk.said


def test_a_preview_names_the_nodes_that_no_longer_fit_and_their_jobs():
    found, _ = shown(looked(jobs=[job(7, 1)], nodes=[node(0), node(1, "MIXED")]))
    plan = found.plan.props
    assert ([each["node"] for each in plan["nodes"]], plan["from"], plan["to"]) == (["gpu-1"], 2, 1)
    assert plan["jobs"][0]["job"] == "7"
    assert "not as asked for" in found.due


def test_a_preview_says_that_all_other_pods_are_replaced_since_their_template_changes():
    found, _ = shown(looked(), updates="Gated")
    assert found.plan.props["rolls"]["pods"] == ["hpc-worker-gpu-0"]


def test_a_preview_of_limits_that_are_exceeded_fails():
    found, _ = shown(looked(), policy=DrainPolicy(limits=Limits(max_share=0.1)))
    assert found.failures


def test_a_preview_says_where_no_machine_fits():
    found, _ = shown(looked(), NONE)
    assert "no Kubernetes node fits, so the NodeSet has no pod" in found.plan.props["warnings"]


def test_without_an_answer_the_plan_is_not_known():
    found, said = shown(looked(cluster=None, problem="asleep"))
    assert found.plan.props["known"] is False
    assert "asleep" in said[0]


def test_a_preview_of_what_is_so_already_is_empty():
    assert shown(looked(), ALL)[0] == preview.Seen()


def test_a_first_preview_of_a_nodeset_that_is_taken_over_as_it_is_is_empty_too():
    assert shown(looked(), ALL, {})[0] == preview.Seen()
    assert shown(looked(), ONE, {})[0].plan.props["nodes"][0]["node"] == "gpu-1"


@pytest.mark.parametrize(
    ("wanted", "before", "after"), [(ALL, "StatefulSet", "DaemonSet"), (None, "DaemonSet", "StatefulSet")]
)
def test_a_change_of_the_mode_names_every_pod_in_the_preview(wanted, before, after):
    look = looked() if wanted is None else replace(looked(), nodeset=nodeset(2))
    found, said = shown(look, wanted, {**OLDS, "scalingMode": before})
    assert len(found.plan.props["nodes"]) == 2
    assert f"scalingMode goes from {before} to {after}: the NodeSet is replaced" in said[0]
    assert "the NodeSet is replaced" in found.plan.props["warnings"][0]
