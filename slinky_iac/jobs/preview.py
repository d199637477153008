"""What a preview can tell of a job: whether slurmctld, as it runs now, has the partition and allows the time limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from slinky_iac.cluster.connection import connected
from slinky_iac.errors import SlinkyError
from slinky_iac.jobs.settings import JobSettings
from slinky_iac.slurmrest.submitted import PartitionLimits

BUDGET_S: Final = 10.0


def faults(settings: JobSettings) -> tuple[tuple[str, str], ...]:
    """Setting and sentence of each fault; none where slurmctld doesn't answer, as before a first `pulumi up`."""
    try:
        with connected(settings.reach, budget_s=BUDGET_S, tries=1) as connection:
            return tuple(judged(settings, connection.slurm.partition_limits()))
    except SlinkyError:
        return ()


def judged(settings: JobSettings, partitions: Mapping[str, PartitionLimits]) -> Iterator[tuple[str, str]]:
    """The faults by a list of partitions."""
    wanted = settings.partition
    if not wanted:
        return
    found = partitions.get(wanted)
    if found is None:
        if not settings.own_partition:
            some = ", ".join(sorted(partitions)[:8])
            yield (
                f"jobs.{settings.job}.partition",
                f"slurmctld has no partition {wanted}, and the stack makes none; it has {some or 'none'}. Nothing was"
                " submitted",
            )
        return
    most, limit = found.most_minutes, settings.time_limit_s
    if most is not None and limit is not None and limit > most * 60:
        yield (
            f"jobs.{settings.job}.timeLimit",
            f"{-(-limit // 60)} minutes are more than the {most} that partition {wanted} allows: the job would be refused,"
            " or wait for good. Nothing was submitted",
        )
