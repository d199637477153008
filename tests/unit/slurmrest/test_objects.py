"""What a job's states mean for the nodes that it names."""

import pytest

from tests.unit import builders


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
    assert builders.job(17, "gpu-0", states).active is holds


def test_a_task_of_an_array_is_acted_on_by_its_own_name():
    """The last task of an array has the array's id: `scancel 12` would take every task of it, on kept nodes too."""
    assert builders.job(12, array_job_id=12, array_task_id=3).handle == "12_3"
    assert builders.job(12).handle == 12
    assert builders.job(12, het_job_id=12, het_job_offset=0).handle == 12, "a het job is one job"
