"""What a job's states mean for the nodes that it names."""

import pytest

from slinky_iac.drain.view import JobView


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
    assert JobView(17, frozenset(states.split("+")), ("gpu-0",)).active is holds


def test_a_task_of_an_array_is_acted_on_by_its_own_name():
    """The last task of an array has the array's id: `scancel 12` would take every task of it, on kept nodes too."""
    assert JobView(12, frozenset({"RUNNING"}), label="12_3", task="12_3").handle == "12_3"
    assert JobView(12, frozenset({"RUNNING"}), label="12").handle == 12
    assert JobView(12, frozenset({"RUNNING"}), label="12+0").handle == 12, "a het job is one job"


def test_a_job_without_any_state_is_not_known_to_be_over():
    assert JobView(17, frozenset(), ("gpu-0",)).active
