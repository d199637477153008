"""Power saving of an outside slurmctld: whether it powers down the pods of a stack when they are idle. Pure.

To slurmctld pods are nodes as any other: one that is idle for SuspendTime gets SuspendProgram, and ResumeProgram when a job
needs it again, which no pod hears of. Source: power_save.c (``_init_power_config``, ``_do_power_work``,
``_parse_exc_states``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from slinky_iac.config.stack import StackConfig

PARAMETERS: Final = (
    *("SuspendProgram", "ResumeProgram", "SuspendTime"),
    *("SuspendExcStates", "SuspendExcParts", "SuspendExcNodes"),
)
"""What is read of slurm.conf."""
LINE: Final = "SuspendExcStates=DYNAMIC_NORM"
"""What excludes nodes that register without a line in slurm.conf, as pods do."""
FOLLOWS: Final = "jobs that then get one wait until ResumeTimeout, and it is DOWN, while its pod runs on"
"""What follows where it takes pods."""
_STATE: Final = "dynamic_norm"
_NEVER: Final = frozenset({"", "infinite", "none", "-1"})


@dataclass(frozen=True)
class PowerSaving:
    """What slurm.conf says of it; empty where it says nothing."""

    suspend: str = ""
    resume: str = ""
    time: str = ""
    states: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()

    @classmethod
    def read(cls, values: Mapping[str, str]) -> PowerSaving:
        """Of parameters as `scontrol show config` prints them (SuspendTime as ``300 sec``)."""
        texts = [values.get(name, "") for name in PARAMETERS]
        lists = [tuple(item.strip() for item in text.split(",") if item.strip()) for text in texts[3:]]
        return cls(texts[0], texts[1], texts[2].split(" ")[0], *lists)

    @property
    def runs(self) -> bool:
        """Whether idle nodes are powered down: both programs, and a time."""
        return bool(self.suspend and self.resume) and self.time.lower() not in _NEVER

    def takes(self, config: StackConfig) -> tuple[str, ...]:
        """NodeSets of a stack whose idle pods are powered down."""
        if not self.runs or any(each.lower() == _STATE for each in self.states):
            return ()
        return tuple(name for name in config.nodesets if not self._leaves(config, name))

    def _leaves(self, config: StackConfig, nodeset: str) -> bool:
        """Whether a partition with all of the NodeSet, or its NodeSet= line, is excluded."""
        own = config.nodesets[nodeset].partition.enabled
        partitions = {name for name, each in config.partitions.items() if {nodeset, "ALL"} & set(each.nodesets)}
        partitions |= {nodeset} if own else set()
        return nodeset in self.nodes or not partitions.isdisjoint(self.partitions)
