"""Parameters of all partitions of a stack, by the settings that have them."""

from __future__ import annotations

from slinky_iac.config.stack import StackConfig


def partition_parameters(config: StackConfig) -> dict[str, dict[str, str]]:
    """Parameters of every PartitionName= line, by the path of the setting."""
    own = {f"nodesets.{name}.partition.config": each.partition.config for name, each in config.nodesets.items()}
    return own | {f"partitions.{name}.config": each.config for name, each in config.partitions.items()}
