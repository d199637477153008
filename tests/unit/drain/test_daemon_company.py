"""A NodeSet in DaemonSet mode among others: machines that change while a run waits, NodeSets that want the same machine, and
slurm-operator's own rollout of what stays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slinky_iac.drain import conf_run, scale
from slinky_iac.drain.daemons import SetSelection
from slinky_iac.drain.gates import refreshed
from slinky_iac.drain.protocol import DeleteNodeSet, DeletePods, Done, Drain, Replaced, SetCosts, Signal, Stop, Wait
from slinky_iac.drain.rollout import refusals, roll_step
from slinky_iac.drain.settings import DrainPolicy, GateSettings
from slinky_iac.drain.steps import next_step
from slinky_iac.drain.tags import BASE_COST, Tag
from slinky_iac.errors import DrainBlocked
from slinky_iac.selection import Selection, Selects
from tests.made.machines import worker_machine
from tests.unit.drain.made import NOW, given_up, goal, held, job, node, nodeset, pod
from tests.unit.drain.model_session import settings
from tests.unit.drain.test_conf_run import BOTH
from tests.unit.drain.test_conf_run import session as conf_session
from tests.unit.drain.test_conf_run import settings as conf_settings
from tests.unit.drain.test_daemons import ALL, MACHINES, OLDS, ONE, daemon, looked, shown, state, wish
from tests.unit.drain.test_recorded import PROPS


# -- slurm-operator replaces what stays ---------------------------------------------------------------------------------
def rolls_itself(selection=ALL):
    """RollingUpdate: slurm-operator replaces pods of an earlier template, which a written selection makes all others."""
    return nodeset(0, mode="DaemonSet", template_spec=selection.fields, updated=2)


def test_a_suspended_job_on_a_node_that_stays_holds_up_a_write_after_which_the_operator_replaces_its_pod():
    """The preview refuses this too. But a user can suspend a job after the preview, and a preview may get no answer."""
    suspended = job(7, 0, state="SUSPENDED")
    ready = [daemon(pod, 0), daemon(given_up, 1)], [node(0), held(1)], [suspended]
    step = next_step(looked(*ready, nodeset=rolls_itself()), wish())
    assert isinstance(step, Wait)
    assert "job 7" in step.why
    assert isinstance(next_step(looked(*ready), wish()), SetSelection)  # OnDelete: it replaces none
    more = looked([daemon(pod, 0)], [node(0)], [suspended], selection=ONE, nodeset=rolls_itself(ONE))
    assert isinstance(next_step(more, wish(ALL, ONE)), Wait)


def test_machines_that_come_are_not_written_under_an_operator_that_would_replace_busy_pods_unseen():
    """Without its Slurm client it takes every node for drained."""
    one = {"pods": [daemon(pod, 0)], "nodes": [node(0, "MIXED")], "jobs": [job(7, 0)], "nodeset": rolls_itself(ONE)}
    assert isinstance(next_step(looked(**one), wish(ALL, ONE)), SetSelection)
    for blind in ({"restapi_ready": False}, {"pods": [daemon(pod, 0, slurm_states=())]}):
        assert isinstance(next_step(looked(**one | blind), wish(ALL, ONE)), Wait), blind


def test_a_preview_says_that_the_operator_replaces_the_pods_that_stay():
    look = looked(nodeset=rolls_itself(), nodes=[node(0, "MIXED"), node(1)], jobs=[job(7, 0)])
    found, _ = shown(look)
    assert any("gpu-0, with 1 job (7 of alice)" in each for each in found.plan.props["warnings"]), found.plan.props[
        "warnings"
    ]


@pytest.mark.parametrize("outdated", [True, False])
def test_a_nodeset_that_goes_from_gated_to_rolling_update_ends_no_suspended_job(outdated):
    """The live NodeSet is OnDelete until this update writes it, with the new template."""
    live = state(ALL, template="a", revision="new")
    pods = [daemon(pod, n, revision="old" if outdated else "new") for n in range(2)]
    look = looked(pods, jobs=[job(7, 0, state="SUSPENDED")], nodeset=live)
    mine = settings(0, selection=ALL, updates="RollingUpdate", template="a" if outdated else "b")
    (text,) = refusals(mine, look, OLDS)
    assert "7" in text


# -- a number in DaemonSet mode ------------------------------------------------------------------------------------------
class Rolls:
    """A session that notes whether a rollout began."""

    def __init__(self, live):
        self.live, self.asked = live, False

    def nodeset(self, _name):
        return self.live

    def may_be_outdated(self, _name):
        self.asked = True
        return False


def test_a_number_that_somebody_wrote_stops_no_rollout():
    """slurm-operator reads none in this mode; the preview promises the rollout."""
    session = Rolls(nodeset(3, mode="DaemonSet", on_delete=True, template_spec=ALL.fields))
    scale.roll(session, settings(0, selection=ALL, updates="Gated"))
    assert session.asked


# -- a machine of two NodeSets ---------------------------------------------------------------------------------------------
def waits_for_place(**more):
    """The pod of this NodeSet on gpu-1, where another one's runs: it has the same name in Slurm."""
    fields = [{"key": "metadata.name", "operator": "In", "values": ["gpu-1"]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": fields}]}}
    plain = {
        "scheduled": False,
        "phase": "Pending",
        "ready": False,
        "slurm_states": (),
        "affinity": {"nodeAffinity": required},
    }
    return daemon(pod, 1, **{**plain, **more})


def both(feature="cpu", pods=(0,), **more):
    """What a look shows then. ``feature``: the NodeSet whose pod registered gpu-1."""
    nodes = [node(0), node(1, "MIXED+DYNAMIC_NORM", features=[feature])]
    marked = waits_for_place(gate=Tag("dev/gpu", BASE_COST).text(), deletion_cost=BASE_COST)
    return looked([*(daemon(pod, n) for n in pods), marked], nodes, [job(7, 1)], **more)


@pytest.mark.parametrize("acts", ["keep", "cancel"])
def test_a_pod_without_a_place_has_no_claim_on_the_node_of_its_name(acts):
    """That is another NodeSet's, with its jobs: they are neither waited for nor ended, and no job comes to this pod."""
    late = {"policy": DrainPolicy(on_deadline=acts), "deadline_at": NOW - 1}
    assert next_step(both(), wish(**late)) == SetSelection(ONE, ("hpc-worker-gpu-1",))
    assert next_step(both(pods=()), goal(1, 0, teardown=True, **late)) == DeleteNodeSet(("hpc-worker-gpu-1",))


def test_its_replacement_keeps_the_record_of_the_other_one():
    old = waits_for_place(revision="old", gate=Tag("dev/gpu", BASE_COST).text(), deletion_cost=BASE_COST)
    step = roll_step(replace(both(), pods=(old,), nodeset=state(revision="new")), wish(ALL, ALL, rolls=2))
    assert step == DeletePods((Replaced("hpc-worker-gpu-1", ""),))


def test_a_record_of_its_own_nodeset_is_drained_all_the_same():
    step = next_step(both("gpu"), wish())
    assert isinstance(step, SetCosts | Drain)


def test_a_pod_that_has_a_place_is_judged_by_its_record():
    step = next_step(looked(nodes=[node(0), node(1, features=["cpu"])]), wish())
    assert isinstance(step, SetCosts)


# -- machines that change while a run waits ---------------------------------------------------------------------------------
LOST = worker_machine("gpu-1", {"pool": "gpu"}, ("node.kubernetes.io/not-ready", "NoExecute"))


@pytest.mark.parametrize("acts", ["cancel", "requeue"])
def test_jobs_of_a_machine_that_stopped_fitting_after_the_run_began_are_not_ended_at_its_deadline(acts):
    """No preview named them: the kubelet of gpu-1 was lost for a minute, say, while this run adds machines."""
    look = looked(
        [daemon(pod, 0), daemon(given_up, 1)],
        [node(0), held(1, "MIXED+DRAIN")],
        [job(7, 1, requeue=True)],
        selection=ONE,
        machines=(MACHINES[0], LOST),
    )
    mine = wish(ALL, ONE, policy=DrainPolicy(on_deadline=acts), deadline_at=NOW - 1)
    step = next_step(look, replace(mine, current=2, target=2))
    assert isinstance(step, Stop), step


def test_jobs_of_a_machine_that_the_run_began_with_are_ended_as_the_policy_says():
    look = looked([daemon(pod, 0), daemon(given_up, 1)], [node(0), held(1, "MIXED+DRAIN")], [job(7, 1)])
    mine = wish(policy=DrainPolicy(on_deadline="cancel"), deadline_at=NOW - 1)
    step = next_step(look, replace(mine, selects=Selects(ONE, ALL, frozenset(["hpc-worker-gpu-1"]))))
    assert isinstance(step, Signal)


def test_a_newer_operator_is_refused_where_the_same_update_lets_it_replace_pods():
    (text,) = refusals(settings(0, selection=ALL, updates="RollingUpdate"), looked(), {"operatorVersion": "1.0.1"})
    assert "gets the update strategy RollingUpdate" in text


# -- the end of the Controller ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("outside", [True, False])
def test_the_controller_stays_while_a_nodeset_with_a_pod_on_each_node_is_there(outside):
    """`pulumi up --replace`, without the fence: the operator has no client then, and no Kubernetes node fits any more."""
    found = conf_session(extra_conf="")
    mine = replace(conf_settings(BOTH, outside=outside, keeps_queue=True), on_each_node=("hpc-worker-gpu", "gone"))
    found.nodeset = {"hpc-worker-gpu": state()}.get
    with pytest.raises(DrainBlocked, match="hpc-worker-gpu with scalingMode DaemonSet is there"):
        conf_run.end(found, mine)
    found.nodeset = {"hpc-worker-gpu": state(deleting=True)}.get
    conf_run.end(found, mine)


# -- a machine that takes no new pod ---------------------------------------------------------------------------------------
def test_a_rollout_leaves_a_pod_whose_machine_takes_no_new_one_and_says_so():
    """Kubernetes sets NoSchedule for a full disk, too: the pod that is there stays, and a deleted one doesn't come back."""
    full = worker_machine("gpu-1", {"pool": "gpu", "n": "1"}, ("node.kubernetes.io/disk-pressure", "NoSchedule"))
    old = [daemon(pod, n, revision="old") for n in range(2)]
    look = looked(old, nodeset=state(revision="new"), machines=(MACHINES[0], full))
    found, _ = shown(look, ALL, updates="Gated")
    assert found.plan.props["rolls"]["pods"] == ["hpc-worker-gpu-0"]
    assert "takes no new pod" in found.plan.props["rolls"]["held"][0]
    tolerant = Selection(ALL.node_selector, {}, ({"operator": "Exists"},))
    assert len(shown(look, tolerant, updates="Gated")[0].plan.props["rolls"]["pods"]) == 2, "by what is written before"
    gone = replace(look, pods=look.pods[1:])
    assert roll_step(gone, wish(ALL, ALL, rolls=2)) == Done()


def test_a_number_that_somebody_wrote_is_no_difference_of_the_gate():
    """A refresh would find it again after each update."""
    own = {**PROPS, "replicas": 0, "scalingMode": "DaemonSet", "selection": ALL.fields}
    live = nodeset(3, mode="DaemonSet", template_spec=ALL.fields)
    assert refreshed(GateSettings.from_props(own), own, live)["replicas"] == 0
    numbered = {**PROPS, "replicas": 2}
    assert refreshed(GateSettings.from_props(numbered), numbered, nodeset(3))["replicas"] == 3
