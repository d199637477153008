"""The plan of one Kubernetes node's service: its pods alone, all of them, and nothing claimed without an answer. And a
NodeSet with a pod on each node, which no gate scales.
"""

import pytest

from slinky_iac.drain.plan import plan_machine, plan_scale_in, plan_teardown
from slinky_iac.drain.protocol import Stop
from slinky_iac.drain.rollout import roll_step
from slinky_iac.drain.settings import DrainPolicy
from slinky_iac.drain.steps import next_step
from tests.made.machines import worker_machine
from tests.unit.drain.made import OWNER, goal, job, node, nodeset, pod, seen

LOOK = seen(
    [pod(0, machine="k-1"), pod(1, machine="k-2"), pod(2, machine="k-1", ready=False)],
    [node(0, "MIXED"), node(1, "MIXED"), node(2)],
    [job(7, 0), job(8, 1)],
)


def test_only_pods_on_the_machine_are_in_it_ready_or_not():
    found = plan_machine(LOOK, nodeset(3), OWNER, "k-1")
    assert {each.node for each in found.selected} == {"gpu-0", "gpu-2"}
    assert [each.job_id for each in found.jobs] == [7]
    assert (found.current, found.target, found.removes) == (3, 3, 2)


def test_a_machine_without_a_pod_has_no_plan():
    assert plan_machine(LOOK, nodeset(3), OWNER, "k-3") is None
    assert plan_machine(seen([pod(0, scheduled=False)], [node(0)]), nodeset(1), OWNER, "") is None


def test_without_slurms_answer_nothing_is_claimed():
    found = plan_machine(seen(LOOK.pods, [], cluster=None, problem="asleep"), nodeset(3), OWNER, "k-1")
    assert not found.known
    assert found.selected == ()
    assert "asleep" in found.warnings[0]


DAEMONS = seen(
    [pod(0), pod(1)],
    [node(0), node(1)],
    nodeset=nodeset(2, mode="DaemonSet", on_delete=True),
    machines=(worker_machine("k-1"),),
)


@pytest.mark.parametrize("target", [1, 2, 3])
def test_no_number_of_a_nodeset_that_somebody_set_to_daemonset_is_written(target):
    """slurm-operator reads none there."""
    for step in (next_step(DAEMONS, goal(2, target)), roll_step(DAEMONS, goal(2, target, rolls=1))):
        assert isinstance(step, Stop)
        assert "has scalingMode DaemonSet" in step.why


def test_a_preview_says_so_first():
    plan = plan_scale_in(DAEMONS, DAEMONS.nodeset, 1, DrainPolicy(), OWNER)
    assert "has scalingMode DaemonSet" in plan.blocks[0]


def test_a_plan_of_a_removal_or_a_service_counts_its_pods_and_waits_for_no_earlier_scale_in():
    found = plan_teardown(DAEMONS, nodeset(0, mode="DaemonSet", on_delete=True), OWNER)
    assert (found.current, found.target, found.removes, found.warnings) == (2, 0, 2, ())
    served = plan_machine(DAEMONS, nodeset(0, mode="DaemonSet", on_delete=True), OWNER, "k-1")
    assert (served.current, served.target) == (2, 2)


def test_a_removal_drains_its_pods_as_any_others():
    step = next_step(DAEMONS, goal(2, 0, teardown=True))
    assert {mark.pod for mark in step.pods} == {"hpc-worker-gpu-0", "hpc-worker-gpu-1"}
