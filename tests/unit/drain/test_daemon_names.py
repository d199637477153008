"""What Slurm calls the nodes of a NodeSet in DaemonSet mode: a Kubernetes node's annotation may name another, and a pod
under an earlier name is replaced by slurm-operator from 1.2 on (``podsShouldBeOnNode``)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slinky_iac.drain import daemons
from slinky_iac.drain.cost import Kind, assess
from slinky_iac.drain.daemons import SetSelection
from slinky_iac.drain.free import Free, names_taken
from slinky_iac.drain.fresh import selects_as_seen
from slinky_iac.drain.members import absent, stale_records, taken_back, told_of_fit
from slinky_iac.drain.protocol import DeletePods, Done, Drain, SetCosts, Wait
from slinky_iac.drain.rollout import roll_step
from slinky_iac.drain.scale_in_state import judge
from slinky_iac.drain.steps import next_step
from slinky_iac.drain.tags import BASE_COST, Tag
from tests.made.machines import worker_machine
from tests.made.nodes import node as made_node
from tests.unit.drain.made import NOW, OWNER, V110, V121, given_up, goal, held, job, node, nodeset, pod
from tests.unit.drain.test_daemons import ALL, MACHINES, MINE, ONE, daemon, looked, shown, state, wish

NAMED = worker_machine(
    "gpu-1", {"pool": "gpu", "n": "1"}, annotations={"nodeset.slinky.slurm.net/hostname-override": "metal-7"}
)
BOTH = (MACHINES[0], NAMED)


def renamed(**more):
    """A look at two pods; the Kubernetes node of the second has got another name for Slurm since."""
    return looked(**{"machines": BOTH, "version": V121, **more})


# -- names of pods that come ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("version", "used", "waits"), [
    (V121, "metal-7", True), (V121, "gpu-1", False), (V110, "metal-7", False), (V110, "gpu-1", True),
])  # fmt: skip
def test_a_pod_that_comes_takes_the_name_that_this_release_gives_it_and_no_other(version, used, waits):
    look = renamed(pods=[daemon(pod, 0)], nodes=[node(0), made_node(used, "IDLE")], selection=ONE, version=version)
    step = next_step(look, wish(ALL, ONE))
    assert isinstance(step, Wait if waits else SetSelection)
    assert not waits or f"{used} is in use" in step.why


def test_on_the_host_network_both_names_must_be_free():
    """slurmd has the machine's own one, and the operator goes by the annotation's."""
    live = nodeset(0, mode="DaemonSet", on_delete=True, template_spec={**ONE.fields, "hostNetwork": True})
    for used in ("metal-7", "gpu-1"):
        look = renamed(pods=[daemon(pod, 0)], nodes=[node(0), made_node(used, "IDLE")], nodeset=live)
        assert used in names_taken(look, OWNER, [NAMED])


def test_a_name_that_changes_during_the_look_is_looked_at_again():
    look = renamed(pods=[daemon(pod, 0)], nodes=[node(0)], selection=ONE)
    assert selects_as_seen(look, look.nodeset, look.pods, BOTH, ALL)
    assert not selects_as_seen(look, look.nodeset, look.pods, MACHINES, ALL)


TWIN = worker_machine("gpu-0.b.example", {"pool": "gpu", "n": "1"})


@pytest.mark.parametrize("pods", [(0,), ()])
def test_two_machines_of_one_name_get_no_two_pods(pods):
    """The second slurmd would take the first one's Slurm node over, and slurmctld end its jobs."""
    here = [daemon(pod, number) for number in pods]
    look = looked(here, [node(0)] if pods else [], machines=(MACHINES[0], TWIN), selection=ONE, version=V121)
    step = next_step(look, wish(ALL, ONE))
    assert isinstance(step, Wait)
    assert "gpu-0" in step.why
    assert "gpu-0.b.example" in step.why
    named = worker_machine("gpu-0.b.example", {"pool": "gpu"},
                           annotations={"nodeset.slinky.slurm.net/hostname-override": "gpu-b"})  # fmt: skip
    assert isinstance(next_step(replace(look, machines=(MACHINES[0], named)), wish(ALL, ONE)), SetSelection)


def test_a_machine_whose_own_pod_is_ending_is_no_second_one():
    ending = looked([daemon(pod, 0, terminating=True)], [node(0)], selection=ONE, machines=MACHINES)
    assert isinstance(next_step(ending, wish(ALL, ONE)), SetSelection)


# -- pods under an earlier name --------------------------------------------------------------------------------------------
def test_the_operator_replaces_a_pod_whose_machine_has_got_another_name():
    assert daemons.going(renamed(), ALL) == {"hpc-worker-gpu-1"}
    assert daemons.going(renamed(version=V110), ALL) == frozenset()
    ended = daemon(pod, 1, terminating=True)
    assert daemons.going(renamed(pods=[daemon(pod, 0), ended]), ALL) == frozenset(), "it is going already"
    unlabelled = daemon(pod, 0, host_name="")
    assert daemons.going(looked([unlabelled, daemon(pod, 1)], version=V121), ALL) == {"hpc-worker-gpu-0"}


def test_a_pod_under_an_earlier_name_is_never_given_back_nor_replaced_by_the_gate():
    """Under the operator's hand a node that is returned takes a job, and loses it with the pod."""
    cordon = "slurm-operator: Pod (slurm/hpc-worker-gpu-1) is pending termination for scale-in"
    operators = [node(0), node(1, "IDLE+DRAIN", reason=cordon, reason_changed_at=NOW - 90_000)]
    taken = renamed(pods=[daemon(pod, 0), daemon(pod, 1, cordon=True)], nodes=operators)
    assert taken_back(taken, MINE) == ()
    assert stale_records(renamed(nodes=operators), OWNER) == ()
    ours = renamed(pods=[daemon(pod, 0), daemon(given_up, 1)], nodes=[node(0), held(1)])
    assert next_step(ours, wish(ALL, ALL)) == Done(("hpc-worker-gpu-1",))
    old = [daemon(pod, 0, revision="new"), daemon(pod, 1, revision="old")]
    assert roll_step(renamed(pods=old, nodeset=state(revision="new")), wish(ALL, ALL, rolls=2)) == Done()


def test_a_written_selection_drains_it_by_our_rule_first():
    """The operator counts no suspended job."""
    step = next_step(renamed(selection=ONE, pods=[daemon(pod, 0), daemon(pod, 1)]), wish(ALL, ONE))
    assert isinstance(step, SetCosts)
    assert [each.pod for each in step.pods] == ["hpc-worker-gpu-1"]
    marked = daemon(given_up, 1, cordon=False, slurm_states={"IDLE"}, slurm_reason="",
                    gate=Tag("dev/gpu", BASE_COST, hold=0).text())  # fmt: skip
    step = next_step(renamed(selection=ONE, pods=[daemon(pod, 0), marked]), wish(ALL, ONE))
    assert isinstance(step, Drain)
    suspended = [daemon(pod, 0), daemon(given_up, 1)], [node(0), held(1)], [job(7, 1, state="SUSPENDED")]
    assert isinstance(next_step(looked(*suspended, selection=ONE, machines=BOTH, version=V121), wish(ALL, ONE)), Wait)


def test_an_update_waits_neither_for_its_jobs_nor_for_the_pod_after_it_and_says_so():
    busy = renamed(nodes=[node(0), node(1, "MIXED")], jobs=[job(7, 1)])
    assert absent(busy, MINE) == ()
    (text,) = told_of_fit(busy, MINE)
    assert "gpu-1" in text
    assert "metal-7" in text
    assert "not waited for" in text
    found, said = shown(busy, ALL)
    assert found.due == "", "no difference that an update would mend"
    assert any("metal-7" in each and "job" in each for each in said)


# -- a machine that is gone ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("gate", ["", Tag("dev/gpu", BASE_COST).text()])
def test_a_pod_that_waits_for_a_machine_that_kubernetes_has_no_more_is_not_waited_for(gate):
    """slurm-operator looks at pods by Kubernetes nodes, and so never at this one; no job was ever on it."""
    fields = [{"key": "metadata.name", "operator": "In", "values": ["gone-7"]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchFields": fields}]}}}  # fmt: skip
    orphan = daemon(pod, 7, name="hpc-worker-gpu-x", scheduled=False, phase="Pending", ready=False, slurm_states=(),
                    affinity=affinity, slurm_node="gone-7", gate=gate)  # fmt: skip
    look = looked([daemon(pod, 0), daemon(pod, 1), orphan])
    assert absent(look, MINE) == ()
    (text,) = told_of_fit(look, MINE)
    assert "`kubectl delete pod hpc-worker-gpu-x` removes it" in text


# -- the host network ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("registered", [True, False])
def test_a_pod_on_the_host_network_under_another_name_than_its_machines_is_never_called_free(registered):
    """Its slurmd registers as the machine; a job on that node would not be seen under the name that the operator has."""
    mine = daemon(pod, 1, slurm_node="metal-7", host_network=True, slurm_states=())
    nodes = [node(0), node(1, "MIXED"), *([made_node("metal-7", "IDLE+DRAIN", reason="mine")] if registered else [])]
    look = renamed(pods=[daemon(pod, 0), mine], nodes=nodes, jobs=[job(7, 1)])
    assert [each.kind for each in assess(look.pods, look.cluster, NOW, OWNER)] == [Kind.IDLE, Kind.BLOCKED]
    for wanted in (wish(), goal(2, 0, teardown=True)):
        stage = judge(look, wanted, look.cluster)
        assert not isinstance(stage.verdicts["hpc-worker-gpu-1"], Free)


# -- room of a rollout -----------------------------------------------------------------------------------------------------
def test_pods_that_the_operator_removes_make_no_room_for_a_larger_batch():
    """maxUnavailable is of the pods that stay: two that wait for their jobs' end are no reserve."""
    machines = tuple(worker_machine(f"gpu-{n}", {"pool": "gpu" if n < 4 else "none"}) for n in range(6))
    old = [daemon(pod, n, revision="old") for n in range(6)]
    nodes = [node(n, "IDLE" if n < 4 else "MIXED") for n in range(6)]
    look = looked(old, nodes, [job(7, 4), job(8, 5)], machines=machines, nodeset=state(revision="new"))
    step = roll_step(look, wish(ALL, ALL, rolls=1))
    assert isinstance(step, SetCosts)
    assert len(step.pods) == 1
    assert not isinstance(roll_step(replace(look, pods=look.pods[:4]), wish(ALL, ALL, rolls=1)), DeletePods)
