"""The plan of one Kubernetes node's service: its pods alone, all of them, and nothing claimed without an answer."""

from slinky_iac.drain.plan import plan_machine
from tests.unit.drain.made import OWNER, job, node, nodeset, pod, seen

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
