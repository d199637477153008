"""Which partitions get a short job."""

from __future__ import annotations

from slinky_iac.config.reading.load import load
from slinky_iac.parts.jobs.rules import smoke_jobs
from tests.stacks import minimal


def test_the_partition_of_a_nodeset_in_daemonset_mode_gets_one() -> None:
    sections = minimal(
        nodesets={"gpu": {"scalingMode": "DaemonSet"}},
        operator={"version": "1.2.1"},
        smoke={"enabled": True, "user": "alice"},
    )
    assert "smoke-gpu" in smoke_jobs(load(sections))
