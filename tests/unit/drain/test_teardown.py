"""The plan of a removal names every node and job, and what is waited out first."""

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.drain.plan import plan_teardown
from slinky_iac.drain.protocol import Observation
from slinky_iac.drain.tags import Tag
from tests.unit.drain.made import NOW, OWNER, V110, codes, given_up, job, node, nodeset, pod


def plan(pods, nodes, jobs=(), **state):
    cluster = None if nodes is None else ClusterView.of(nodes, jobs)
    shown = nodeset(**{"replicas": len(pods), **state})
    return plan_teardown(Observation(NOW, V110, tuple(pods), cluster=cluster, problem="timed out"), shown, OWNER)


def test_every_node_is_removed_and_every_job_waited_for():
    found = plan([pod(0), pod(1)], [node(0), node(1)], [job(1, 0, end=NOW + 9), job(2, 1, end=None)])
    assert [each.pod.ordinal for each in found.selected] == [0, 1]
    assert [each.job_id for each in found.jobs] == [1, 2]
    assert found.free_at is None
    assert (found.removes, found.target, found.blocks) == (2, 0, ())
    assert found.written.props["to"] == 0


def test_another_gate_and_a_node_that_cannot_be_freed_block():
    found = plan([given_up(0, gate=Tag("prod/gpu", 0).text()), pod(1)], [node(0), node(1, "DOWN", "fan")])
    assert codes(found.blocks) == ["foreign-gate", "blocked-node"]


def test_what_is_waited_out_first_is_told():
    assert codes(plan([pod(0), pod(1)], [node(0), node(1)], replicas=1, updated=0).warnings) == ["rollout", "in-flight"]


def test_without_slurm_nothing_is_claimed():
    found = plan([pod(0)], None)
    assert not found.known
    assert found.selected == ()
    assert "timed out" in found.warnings[0]
