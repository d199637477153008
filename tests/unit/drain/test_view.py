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


def test_a_job_without_any_state_is_not_known_to_be_over():
    assert JobView(17, frozenset(), ("gpu-0",)).active
