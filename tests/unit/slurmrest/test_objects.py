"""What a job's states mean for the nodes that it names."""

import pytest

from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.commands.status.nodes import word
from slinky_iac.drain.free import Free, verdict
from tests.made.jobs import job
from tests.made.nodes import node
from tests.unit.drain.made import NOW


@pytest.mark.parametrize(
    ("states", "holds"),
    [
        ("PENDING", False),
        ("COMPLETED", False),
        ("NODE_FAIL", False),
        ("CANCELLED+REVOKED", False),
        ("RUNNING", True),
        ("SUSPENDED", True),
        ("COMPLETED+COMPLETING", True),
        ("PENDING+COMPLETING", True),
        ("CANCELLED+TIMEOUT", True),
        ("PENDING+COMPLETED", True),
        ("REVOKED", True),
        ("A STATE OF THE FUTURE", True),
    ],
)
def test_a_job_holds_its_nodes_unless_it_surely_does_not(states, holds):
    assert job(17, "gpu-0", states).active is holds


def test_a_task_of_an_array_is_acted_on_by_its_own_name():
    """The last task of an array has the array's id: `scancel 12` would take every task of it, on kept nodes too."""
    assert job(12, array_job_id=12, array_task_id=3).handle == "12_3"
    assert job(12).handle == 12
    assert job(12, het_job_id=12, het_job_offset=0).handle == 12, "a het job is one job"


@pytest.mark.parametrize(
    ("state", "drained"),
    [
        ("IDLE+DRAIN", True),
        ("MIXED+DRAIN", True),
        ("DOWN+DRAIN+NOT_RESPONDING", True),
        ("IDLE", False),
        ("DOWN", False),
        ("IDLE+DRAIN+UNDRAIN", False),
        ("IDLE+DRAIN+RESUME", False),
    ],
)
def test_a_node_on_its_way_back_to_work_is_not_drained_for_anybody(state, drained):
    """slurmctld clears DRAIN with both requests (node_mgr.c, update_node); all ask the same property."""
    assert node("gpu-0", state).drained_or_draining is drained
    assert (word(node("gpu-0", state)) in {"drained", "draining"}) is drained
    free = isinstance(verdict("gpu-0", ClusterView.of([node("gpu-0", state)], []), NOW), Free)
    assert free is (drained and "MIXED" not in state)


@pytest.mark.parametrize(
    ("state", "alloc_cpus", "busy", "known"),
    [
        ("IDLE+DRAIN", 0, False, True),
        ("IDLE+DRAIN", 1, True, True),
        ("MIXED", 0, True, True),
        ("IDLE+COMPLETING", 0, True, True),
        ("IDLE+EXTERNAL", 0, False, True),
        ("UNKNOWN+DRAIN", 0, False, False),
        ("IDLE+DOWN", 0, False, False),
    ],
)
def test_a_node_is_busy_by_its_states_or_its_cpus_and_known_by_one_base_state(state, alloc_cpus, busy, known):
    found = node("gpu-0", state, alloc_cpus=alloc_cpus)
    assert (found.busy, found.known) == (busy, known)
