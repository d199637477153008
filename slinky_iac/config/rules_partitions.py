"""The rule of NodeSets that no partition has: slurmctld starts with them, and gives them no job."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig


def _without_partition(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """A warning, since an outside slurm.conf may have a partition of its own with the nodes, and a program may add one."""
    members = {name for partition in config.partitions.values() for name in partition.nodesets}
    if any(name.upper() == "ALL" for name in members):
        return
    outside = "; if a PartitionName= line of the outside slurm.conf has its nodes, acknowledge this"
    for name, nodeset in config.nodesets.items():
        if not nodeset.partition.enabled and name not in members:
            yield at(f"nodesets.{name}").warning(
                "is in no partition, so no job can run there. Set partition.enabled: true, or name it in"
                f" partitions.NAME.nodesets{'' if config.slurmctld.owns_conf else outside}",
                id="nodeset-without-partition",
            )


RULES = (_without_partition,)
