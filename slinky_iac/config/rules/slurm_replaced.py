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
from slinky_iac.config.slurm.words import TRUE
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
_CHECKED: Final = 60
"""Seconds of HealthCheckTimeout where it isn't set, in releases that have it."""
_WITH_TIMEOUT: Final = (26, 5)
"""First release with HealthCheckTimeout."""
_LEAST_SLICE: Final = 5
_MOST_SECONDS: Final = 100
_PATIENT: Final = (
    f"is above {_MOST_SECONDS} seconds, which is too high for faults to be found, as the daemon says in its log: each message"
    f" to one that hangs waits so long. Lower it to {_MOST_SECONDS} or less"
)


def _late(conf: Conf) -> bool:
    """Whether checks may last as long as the time between two."""
    between = conf.number("HealthCheckInterval", 0)
    return conf.release >= _WITH_TIMEOUT and 0 < between <= conf.number("HealthCheckTimeout", _CHECKED)


_OF_CONF: Final[tuple[Row, ...]] = (
    ("SuspendTime", lambda c: c["SuspendTime"] not in _NEVER and not (c["SuspendProgram"] and c["ResumeProgram"]), "has no effect: power saving is off without SuspendProgram and ResumeProgram (power_save.c). Set both, or remove it"),
    ("CpuFreqDef", lambda c: not c["CpuFreqDef"].startswith(_GOVERNORS), "isn't a governor that it takes, and slurmctld leaves it out. Write Conservative, OnDemand, Performance, PowerSave or SchedUtil, or remove it"),
    ("GpuFreqDef", lambda c: _GPU_FREQUENCY.fullmatch(c["GpuFreqDef"]) is None, "isn't a frequency of GPUs, and jobs run without it. Write low, medium, high, highm1 or a number in MHz, with memory= before it for memory (gpu_common.c)"),
    ("MaxJobId", lambda c: c.number("MaxJobId", 0) > _MOST_JOBS, f"is above {_MOST_JOBS}, which slurmctld takes for it. Lower it, or remove it"),
    ("FastSchedule", lambda c: c["FastSchedule"] == "1", "does nothing in this release of Slurm, which only writes a line in its log. Remove it"),
    ("SlurmdParameters", lambda c: c.has("SlurmdParameters", "l3cache_as_socket") and c.has("SlurmdParameters", "numa_node_as_socket"), "has l3cache_as_socket and numa_node_as_socket, and slurmd leaves out the second. Keep one"),
    ("MCSParameters", lambda c: _MCS.fullmatch(c["MCSParameters"]) is None, "has a word that slurmctld doesn't look for, so its default holds. Write ondemand or enforced, select, noselect or ondemandselect, and privatedata, by comma (mcs.c)"),
    ("BcastParameters", lambda c: _COMPRESSION.search(c["BcastParameters"]) is not None, "has a Compression that srun and sbcast don't have, so that they compress nothing. Write Compression=lz4 or none (proc_args.c)"),
    ("HealthCheckTimeout", _late, "isn't below HealthCheckInterval, so a check that hangs meets the next one, and slurmctld and slurmd name it in their logs. Lower it, or raise HealthCheckInterval"),
    ("HealthCheckInterval", lambda c: not c["HealthCheckTimeout"] and bool(c["HealthCheckProgram"]) and _late(c), f"isn't above HealthCheckTimeout, {_CHECKED} seconds by default, so a check that hangs meets the next one, and slurmctld and slurmd name it in their logs. Raise it, or set HealthCheckTimeout below it"),
    ("TreeWidth", lambda c: c["TreeWidth"].isdigit() and not c.number("TreeWidth", 1), "is 0, which isn't a number of branches, and Slurm takes its default. Remove it"),
    ("MessageTimeout", lambda c: c.number("MessageTimeout", 0) > _MOST_SECONDS, _PATIENT),
    ("SchedulerTimeSlice", lambda c: c.number("SchedulerTimeSlice", _LEAST_SLICE) < _LEAST_SLICE, f"is below {_LEAST_SLICE} seconds, and slurmctld takes its default, 30. Raise it, or remove it"),
    ("PrologFlags", lambda c: c.has("PrologFlags", "serial") and c.has("PrologFlags", "runinjob"), "has Serial and RunInJob, which don't go together, as slurmctld says in its log. Remove one"),
    ("MCSParameters", lambda c: c["MCSPlugin"] in ("mcs/none", "none"), "has no effect with MCSPlugin=mcs/none. Remove both, or set MCSPlugin to mcs/group, mcs/user or mcs/account"),
    ("Licenses", lambda c: "*" in c["Licenses"], "has a *, which slurmctld takes for a part of the name: of foo*4 it makes one licence called foo*4. Write foo:4"),
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
    ("PreemptMode", lambda c: c.has("PreemptMode", "gang"), "has GANG, which is of the whole cluster: slurmctld leaves it out of a partition. Set it in PreemptMode of controller.extraConf"),
    ("OverTimeLimit", lambda c: re.fullmatch(r"-[0-9]+", c["OverTimeLimit"]) is not None, "is below 0, and slurmctld leaves it out. Write minutes from 0 on, or UNLIMITED"),
    ("ExclusiveUser", lambda c: c["ExclusiveUser"] in TRUE and c["ExclusiveTopo"] in TRUE, "is there beside ExclusiveTopo, and slurmctld takes ExclusiveTopo alone. Remove one"),
)  # fmt: skip
"""The same of a PartitionName= line."""
_STORAGE: Final = re.compile(r"((^|,)(ssl_(ca|capath|cert|cipher|key)|token_[a-z]+)=[^,]+)*")
_OF_DATABASE: Final[tuple[Row, ...]] = (
    *(row for row in _OF_CONF if row[0] == "MessageTimeout"),
    ("StorageParameters", lambda c: _STORAGE.fullmatch(c["StorageParameters"]) is None, "has an option that slurmdbd leaves out, as it says in its log. It takes SSL_CA, SSL_CAPATH, SSL_CERT, SSL_CIPHER and SSL_KEY, each with a value, by comma (mysql_common.c)"),
)  # fmt: skip
"""The same of slurmdbd.conf (``slurmdbd_conf_load``)."""


def _values(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    lines = {"controller.extraConf": (config.slurmctld.extra_conf, _OF_CONF)}
    lines["accounting.extraConf"] = (config.slurmdbd.extra_conf, _OF_DATABASE)
    lines |= {path: (dict(given), _OF_PARTITION) for path, given in partition_parameters(config).items()}
    for path, (given, rows) in lines.items():
        conf = Conf(given, release=config.slurm_numbers)
        for parameter, when, said in rows:
            if (key := spelt(given, parameter)) and when(conf):
                yield at(f"{path}.{key}").warning(said, id=_IGNORES)


def _alternates(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Where jobs go while a partition is down (``_alt_part_test`` of job_mgr.c)."""
    known = _partition_names(config)
    for path, given in partition_parameters(config).items():
        if (key := spelt(given, "Alternate")) and given[key] not in known:
            yield at(f"{path}.{key}").warning(
                f"names {name_of(given[key])}, and the stack has no such partition (there are:"
                f" {', '.join(map(name_of, sorted(known)))}): jobs go nowhere while this one is down. Correct the name, or"
                " remove it",
                id=_IGNORES,
            )


def _partition_names(config: StackConfig) -> set[str]:
    return {*config.partitions, *(name for name, nodeset in config.nodesets.items() if nodeset.partition.enabled)}


def _excepted(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """What keeps its power by a name that isn't there (``power_save_exc_setup`` of power_save.c)."""
    own = config.slurmctld.extra_conf
    hosts = {host.name for host in config.external.slurmd_hosts} | set(config.nodesets)
    partitions = _partition_names(config)
    nodes = [re.sub(r":[0-9]+$", "", hostlist.strip()) for hostlist in split(own.get(spelt(own, "SuspendExcNodes"), ""))]
    asked = {
        "SuspendExcNodes": [
            host
            for hostlist in nodes
            for host in hosts_in(hostlist)
            if host not in hosts and not any(names.is_node_of(host, nodeset) for nodeset in config.nodesets)
        ],
        "SuspendExcParts": [
            partition.strip()
            for partition in own.get(spelt(own, "SuspendExcParts"), "").split(",")
            if partition.strip() not in partitions
        ],
    }
    for parameter, lacking in asked.items():
        if key := spelt(own, parameter) if lacking else "":
            yield at(f"controller.extraConf.{key}").warning(
                f"has {name_of(lacking[0])}, which the stack doesn't have: slurmctld leaves it out, and powers down what was"
                " meant. Correct the name, or remove it",
                id=_IGNORES,
            )


RULES = (_values, _alternates, _excepted)
