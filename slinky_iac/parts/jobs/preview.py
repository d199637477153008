"""What a preview can tell of a job: whether slurmctld, as it runs now, has the partition and allows the time limit, and
whether its user is SlurmUser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from slinky_iac.cluster.connection import connected
from slinky_iac.errors import SlinkyError
from slinky_iac.parts.jobs.props import JobSettings
from slinky_iac.slurmrest.submitted import PartitionLimits

BUDGET_S: Final = 10.0


def faults(settings: JobSettings) -> tuple[tuple[str, str], ...]:
    """Setting and sentence of each fault; none where slurmctld doesn't answer, as before a first `pulumi up`."""
    try:
        with connected(settings.reach, budget_s=BUDGET_S, tries=1) as connection:
            slurm = connection.slurm
            return tuple(judged(settings, slurm.partition_limits(), slurm.slurm_user()))
    except SlinkyError:
        return ()


def of_slurm_user(settings: JobSettings, slurm_user: str) -> str:
    """What is wrong with a job of the cluster's own SlurmUser, whatever its name; empty for any other. ``slurm_user``: empty
    where slurmctld can't tell, before 26.05."""
    if settings.user != slurm_user:
        return ""
    return (
        f"{settings.user} is SlurmUser of this cluster, and its job could do all that root can. Nothing was submitted; name"
        " an ordinary user"
    )


def judged(
    settings: JobSettings, partitions: Mapping[str, PartitionLimits], slurm_user: str = ""
) -> Iterator[tuple[str, str]]:
    """The faults by a list of partitions, and by the name of SlurmUser."""
    if fault := of_slurm_user(settings, slurm_user):
        yield f"jobs.{settings.job}.user", fault
    wanted = settings.partition
    if not wanted:
        return
    partition = partitions.get(wanted)
    if partition is None:
        if not settings.own_partition:
            some = ", ".join(sorted(partitions)[:8])
            yield (
                f"jobs.{settings.job}.partition",
                f"slurmctld has no partition {wanted}, and the stack makes none; it has {some or 'none'}. Nothing was"
                " submitted",
            )
        return
    most, limit = partition.most_minutes, settings.time_limit_s
    if most is not None and limit is not None and limit > most * 60:
        yield (
            f"jobs.{settings.job}.timeLimit",
            f"{-(-limit // 60)} minutes are more than the {most} that partition {wanted} allows: the job would be"
            " refused, or wait for ever. Nothing was submitted",
        )
