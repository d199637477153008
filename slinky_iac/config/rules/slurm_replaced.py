"""Values that Slurm's daemons leave out, or take another for, and start: one row for each parameter.

Each row was run on slurmctld 26.05.5, which names most in its log. Source: read_config.c, and what a row names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from slinky_iac import names
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.partitions import partition_parameters
from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm.node_groups import hosts_in
from slinky_iac.config.slurm.refusals import Conf, Row, spelt
from slinky_iac.config.stack import StackConfig
from slinky_iac.hostlist import split

_IGNORES: Final = "slurm-ignores"
_NEVER: Final = frozenset({"", "-1", "infinite", "unlimited", "none"})
"""SuspendTime that asks for no power saving."""
_GOVERNORS: Final = ("co", "onde", "perf", "pow", "sche")
"""How slurmctld tells a governor (``_cpu_freq_check_gov`` of cpu_frequency.c); UserSpace is none for CpuFreqDef."""
_MOST_JOBS: Final = 0x03FFFFFF
_FREQUENCY: Final = r"([0-9]+|low|medium|high|highm1)"
_GPU_FREQUENCY: Final = re.compile(rf"(({_FREQUENCY}|memory={_FREQUENCY}|verbose)(,|$))+")
_MCS: Final = re.compile(r"((ondemand|enforced|select|noselect|ondemandselect|privatedata)?(,|$|:.*))*")
_COMPRESSION: Final = re.compile(r"(?:^|,)compression=(?!(lz4|none)(,|$))")
_TOO_LONG: Final = re.compile(r"power_save_(?:min_)?interval=0*(?:6[1-9]|[7-9][0-9]|[1-9][0-9]{2,})(?:,|$)")
_OF_CONF: Final[tuple[Row, ...]] = (
    ("SuspendTime", lambda c: c["SuspendTime"] not in _NEVER and not (c["SuspendProgram"] and c["ResumeProgram"]), "has no effect: power saving is off without SuspendProgram and ResumeProgram (power_save.c). Set both, or remove it"),
    ("CpuFreqDef", lambda c: not c["CpuFreqDef"].startswith(_GOVERNORS), "isn't a governor that it takes, and slurmctld leaves it out. Write Conservative, OnDemand, Performance, PowerSave or SchedUtil, or remove it"),
    ("GpuFreqDef", lambda c: _GPU_FREQUENCY.fullmatch(c["GpuFreqDef"]) is None, "isn't a frequency of GPUs, and jobs run without it. Write low, medium, high, highm1 or a number in MHz, with memory= before it for memory (gpu_common.c)"),
    ("MaxJobId", lambda c: c.number("MaxJobId", 0) > _MOST_JOBS, f"is above {_MOST_JOBS}, which slurmctld takes for it. Lower it, or remove it"),
    ("FastSchedule", lambda c: c["FastSchedule"] == "1", "does nothing in this release of Slurm, which only writes a line in its log. Remove it"),
    ("SlurmdParameters", lambda c: c.has("SlurmdParameters", "l3cache_as_socket") and c.has("SlurmdParameters", "numa_node_as_socket"), "has l3cache_as_socket and numa_node_as_socket, and slurmd leaves out the second. Keep one"),
    ("MCSParameters", lambda c: _MCS.fullmatch(c["MCSParameters"]) is None, "has a word that slurmctld doesn't look for, so its default holds. Write ondemand or enforced, select, noselect or ondemandselect, and privatedata, by comma (mcs.c)"),
    ("BcastParameters", lambda c: _COMPRESSION.search(c["BcastParameters"]) is not None, "has a Compression that srun and sbcast don't have, so that they compress nothing. Write Compression=lz4 or none (proc_args.c)"),
    ("SlurmctldParameters", lambda c: _TOO_LONG.search(c["SlurmctldParameters"]) is not None, "has a power_save_interval or power_save_min_interval above 60 seconds, with which power saving is off (power_save.c). Lower it"),
)  # fmt: skip
"""Rows of slurm.conf."""
_SHARED: Final = re.compile(r"yes:0*[01]|force:0+")
_LEFT_OUT: Final = (
    "is a count that slurmctld leaves out, and jobs share no resources. Write NO, or a count of 2 or more for YES, of 1 or"
    " more for FORCE"
)
_OF_PARTITION: Final[tuple[Row, ...]] = (
    ("OverSubscribe", lambda c: _SHARED.fullmatch(c["OverSubscribe"]) is not None, _LEFT_OUT),
    ("Shared", lambda c: _SHARED.fullmatch(c["Shared"]) is not None, _LEFT_OUT),
)
"""The same of a PartitionName= line."""


def _values(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    lines = {"controller.extraConf": (config.slurmctld.extra_conf, _OF_CONF)}
    lines |= {path: (dict(given), _OF_PARTITION) for path, given in partition_parameters(config).items()}
    for path, (given, rows) in lines.items():
        conf = Conf(given)
        for parameter, when, said in rows:
            if (key := spelt(given, parameter)) and when(conf):
                yield at(f"{path}.{key}").warning(said, id=_IGNORES)


def _excepted(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """What keeps its power by a name that isn't there (``power_save_exc_setup`` of power_save.c)."""
    own = config.slurmctld.extra_conf
    hosts = {host.name for host in config.external.slurmd_hosts} | set(config.nodesets)
    partitions = {*config.partitions, *(name for name, each in config.nodesets.items() if each.partition.enabled)}
    nodes = [re.sub(r":[0-9]+$", "", each.strip()) for each in split(own.get(spelt(own, "SuspendExcNodes"), ""))]
    asked = {
        "SuspendExcNodes": [
            host
            for each in nodes
            for host in hosts_in(each)
            if host not in hosts and not any(names.is_node_of(host, nodeset) for nodeset in config.nodesets)
        ],
        "SuspendExcParts": [
            each.strip() for each in own.get(spelt(own, "SuspendExcParts"), "").split(",") if each.strip() not in partitions
        ],
    }
    for parameter, lacking in asked.items():
        if key := spelt(own, parameter) if lacking else "":
            yield at(f"controller.extraConf.{key}").warning(
                f"has {name_of(lacking[0])}, which the stack doesn't have: slurmctld leaves it out, and powers down what was"
                " meant. Correct the name, or remove it",
                id=_IGNORES,
            )


RULES = (_values, _excepted)
