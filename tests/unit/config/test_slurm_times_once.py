"""A value that slurmctld can't read has one error: no rule judges what it would mean."""

from __future__ import annotations

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.config.rules.sections import findings
from tests.stacks import minimal


@pytest.mark.parametrize(("value", "ids"), [("3 days", {""}), ("2", {"slurm-bounds"}), ("1:00:00", set())])
def test_a_time_of_a_partition_that_cannot_be_read_is_not_judged_as_short(value: str, ids: set[str]) -> None:
    config = load(minimal(nodesets={"gpu": {"replicas": 1, "partition": {"config": {"MaxTime": value}}}}))
    found = [each for each in findings(config, frozenset()) if each.path.endswith("MaxTime")]
    assert {each.id for each in found} == ids
