"""Rules of nodes that get no job: in no partition, or more than slurmctld takes."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.slurm.node_records import node_records
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


def _too_many(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """MaxNodeCount is the number of nodes that slurmctld has room for, those of pods among them."""
    records = node_records(config)
    if records.total > config.cluster.max_node_count:
        yield at("nodesets").error(
            f"{_count(records.pods, 'pod')} and {_count(records.others, 'outside host')} are more than"
            f" cluster.maxNodeCount {config.cluster.max_node_count}, so pods above it can't register. Raise it (outside: in"
            " slurm.conf too); check counts only what this file names, and `slinky preflight` counts slurm.conf's"
        )


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


RULES = (_without_partition, _too_many)
