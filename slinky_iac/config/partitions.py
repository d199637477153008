"""Parameters of all partitions of a stack, by the settings that have them."""

from __future__ import annotations

from slinky_iac.config.stack import StackConfig


def partition_parameters(config: StackConfig) -> dict[str, dict[str, str]]:
    """Parameters of every PartitionName= line, by the path of the setting."""
    own = {f"nodesets.{name}.partition.config": nodeset.partition.config for name, nodeset in config.nodesets.items()}
    return own | {f"partitions.{name}.config": partition.config for name, partition in config.partitions.items()}
