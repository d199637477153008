"""Power saving: whether slurmctld powers down the pods of a stack when they are idle. Pure.

To slurmctld pods are nodes as any other: one that is idle for SuspendTime gets SuspendProgram, and ResumeProgram when a job
needs it again, which no pod hears of. Source: power_save.c (``_init_power_config``, ``_do_power_work``,
``_parse_exc_states``, ``_parse_exc_nodes``, ``_set_partition_options``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Final

from slinky_iac import names
from slinky_iac.config.slurm.refusals import Conf
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import HostlistError
from slinky_iac.hostlist import expand

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
_TIME: Final = "SuspendTime"
_COMMAS: Final = re.compile(r",(?![^\[]*\])")
"""Those between hosts, not in their numbers."""


def _length(time: str) -> float:
    """Of a SuspendTime, to compare it: INFINITE is the longest."""
    return int(time) if time.isdecimal() and time.isascii() else inf


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
        lists = [tuple(item.strip() for item in _COMMAS.split(text) if item.strip()) for text in texts[3:]]
        return cls(texts[0], texts[1], texts[2].split(" ")[0], *lists)

    @property
    def runs(self) -> bool:
        """Whether idle nodes are powered down: both programs, and a time."""
        return self._can and self.time.lower() not in _NEVER

    @property
    def _can(self) -> bool:
        return bool(self.suspend and self.resume)

    def takes(self, config: StackConfig) -> tuple[str, ...]:
        """NodeSets of a stack whose idle pods are powered down."""
        if not self._can or any(state.lower() == _STATE for state in self.states):
            return ()
        times = {name: self.time_of(config, name) for name in config.nodesets}
        return tuple(name for name, time in times.items() if time.lower() not in _NEVER and not self._leaves(config, name))

    def time_of(self, config: StackConfig, nodeset: str) -> str:
        """SuspendTime of a NodeSet's nodes: their own, else the longest of their partitions, else that of all."""
        own = config.nodesets[nodeset]
        if time := Conf(own.extra_conf)[_TIME]:
            return time
        parameters = [own.partition.config] if own.partition.enabled else []
        parameters += [
            partition.config for partition in config.partitions.values() if {nodeset, "ALL"} & set(partition.nodesets)
        ]
        given = [time for settings in parameters if (time := Conf(settings)[_TIME])]
        return max(given, key=_length, default=self.time)

    def _leaves(self, config: StackConfig, nodeset: str) -> bool:
        """Whether a partition with all of the NodeSet, or its NodeSet= line, is excluded."""
        own = config.nodesets[nodeset].partition.enabled
        partitions = {name for name, partition in config.partitions.items() if {nodeset, "ALL"} & set(partition.nodesets)}
        partitions |= {nodeset} if own else set()
        return self._names(config, nodeset) or not partitions.isdisjoint(self.partitions)

    def _names(self, config: StackConfig, nodeset: str) -> bool:
        """Whether SuspendExcNodes has the NodeSet, or each of its nodes: ``NODES:2`` are two of them alone. What can't be
        read is taken to."""
        try:
            named = {host for hostlist in self.nodes if ":" not in hostlist for host in expand(hostlist)}
        except HostlistError:
            return True
        own = names.nodeset_hostname(nodeset)
        pods = {f"{own}{number}" for number in range(config.nodesets[nodeset].most)}
        return nodeset in named or (bool(pods) and pods <= named)
