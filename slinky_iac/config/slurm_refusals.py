"""What slurmctld refuses in slurm.conf beside the names of its parameters: values, and pairs that don't go together.

It then keeps its old file, or ends where it is just starting, and every Slurm command in its pod fails. Each row was run on
slurmctld 26.05.5 (tests/faults/test_slurm_words.py); source: slurm.conf(5), ``_validate_and_set_defaults`` of read_config.c.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

WRITTEN_TO_1_1: Final = {
    "ProctrackType": "proctrack/cgroup",
    "PrologFlags": "Contain",
    "TaskPlugin": "task/affinity,task/cgroup",
}
"""What slurm-operator 1.0 and 1.1 write themselves; ``extraConf`` follows and its value counts."""

_LEVELS: Final = frozenset(
    {"quiet", "fatal", "error", "info", "verbose", "debug", "debug2", "debug3", "debug4", "debug5", *map(str, range(10))}
)
_SELECT: Final = frozenset(
    {"cr_socket", "cr_socket_memory", "cr_core", "cr_core_memory", "cr_memory", "cr_cpu", "cr_cpu_memory"}
)
_SELECT_MORE: Final = frozenset(
    {"cr_one_task_per_core", "cr_no_dist_topo_block", "cr_core_default_dist_block", "cr_lln", "cr_pack_nodes"}
    | {"ll_shared_gres", "multiple_sharing_gres_pj", "enforce_binding_gres", "one_task_per_sharing_gres"}
)
_CONTAINS: Final = frozenset({"contain", "x11", "runinjob"})
"""Flags of PrologFlags that set Contain."""
_PROLOG: Final = _CONTAINS | {"alloc", "deferbatch", "nohold", "forcerequeueonfail", "serial"}
_MODES: Final = frozenset({"off", "cluster", "cancel", "requeue", "on", "suspend"})
_WITH_MODE: Final = frozenset({"gang", "within", "priority"})
_OFF: Final = frozenset({"off", "cluster"})
_TASK_UNITS: Final = frozenset({"none", "sockets", "cores", "threads"})
_TASK_AUTO: Final = frozenset(f"autobind={unit}" for unit in _TASK_UNITS)
_TASK: Final = _TASK_UNITS | _TASK_AUTO | {"verbose", "slurmdoffspec", "oomkillstep", "slurmdspecoverride"}
_TIME: Final = re.compile(r"([0-9]+-)?[0-9]+(:[0-9]+){0,2}|infinite|unlimited|-1")


class Conf:
    """Parameters as slurmctld sees them: names, and most values, without regard to case."""

    def __init__(self, *layers: Mapping[str, str]) -> None:
        self._held = {key.lower(): value for layer in layers for key, value in layer.items()}

    def __getitem__(self, key: str) -> str:
        return self.exact(key).lower()

    def exact(self, key: str) -> str:
        """A value as it is written: names of plugins are files."""
        return self._held.get(key.lower(), "")

    def words(self, key: str) -> list[str]:
        """A value's items, by comma."""
        return [word for word in self[key].split(",") if word]

    def has(self, key: str, *words: str) -> bool:
        """Whether one of these is among a value's items."""
        return not set(words).isdisjoint(self.words(key))

    def number(self, key: str, default: int) -> int:
        """A number's value; ``default`` where it isn't one."""
        text = self[key]
        return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else default


@dataclass(frozen=True)
class Refusal:
    """A parameter, when slurmctld refuses it, and what to do."""

    key: str
    when: Callable[[Conf], bool]
    why: str


def _unknown(key: str, known: frozenset[str]) -> Callable[[Conf], bool]:
    return lambda conf: bool(conf[key]) and not set(conf.words(key)) <= known


def _one_of(key: str, known: frozenset[str], shown: str) -> Refusal:
    return Refusal(key, _unknown(key, known), f"takes {shown}")


def _removed(key: str, instead: str) -> Refusal:
    return Refusal(key, lambda conf: bool(conf[key]), f"was removed from Slurm: use {instead}")


def _not_both(key: str, first: str, second: str) -> Refusal:
    return Refusal(
        key,
        lambda conf: first.lower() in conf[key] and second.lower() in conf[key],
        f"has {first} and {second}, of which one is possible",
    )


def _positive(key: str) -> Refusal:
    return Refusal(key, lambda conf: conf[key] == "0", "may not be 0")


def _needs_contain(key: str, none: str) -> Refusal:
    def bare(conf: Conf) -> bool:
        return conf[key] not in ("", none) and not conf.has("PrologFlags", *_CONTAINS)

    return Refusal(key, bare, "needs PrologFlags with Contain beside it")


def _time(key: str) -> Refusal:
    return Refusal(
        key,
        lambda conf: bool(conf[key]) and _TIME.fullmatch(conf[key]) is None,
        "is no time of Slurm: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes,"
        " days-hours:minutes:seconds or UNLIMITED",
    )


def _mode_is_wrong(conf: Conf) -> bool:
    words = conf.words("PreemptMode")
    known = set(words) <= _MODES | _WITH_MODE
    return (
        not known
        or sum(word in _MODES for word in words) > 1
        or ("gang" in words and conf.has("PreemptMode", "within", "priority"))
    )


def _preempts(conf: Conf) -> bool:
    """Whether PreemptMode says what becomes of jobs."""
    return any(word in _MODES - _OFF for word in conf.words("PreemptMode"))


def _bare_suspend(conf: Conf) -> bool:
    return set(conf.words("PreemptMode")) in ({"suspend"}, {"on"})


def _alone(key: str, word: str) -> Refusal:
    return Refusal(
        key,
        lambda conf: conf.has(key, word.lower()) and len(set(conf.words(key))) > 1,
        f"has {word}, which stands alone",
    )


REFUSED: Final = (
    Refusal(
        "SelectType",
        lambda conf: conf.exact("SelectType") not in ("", "select/cons_tres"),
        "doesn't go with MaxNodeCount, without which no pod can register, nor with any plugin but select/cons_tres: leave it"
        " out. On a live cluster a change of it would also lose all jobs",
    ),
    Refusal(
        "SelectTypeParameters",
        _unknown("SelectTypeParameters", _SELECT | _SELECT_MORE),
        "has a word that slurmctld doesn't know; slurm.conf(5) lists them, for example CR_Core_Memory",
    ),
    Refusal(
        "SelectTypeParameters",
        lambda conf: len(set(conf.words("SelectTypeParameters")) & _SELECT) > 1,
        "says twice what is consumed: keep one of CR_CPU, CR_Core, CR_Socket (each with _Memory or without) and CR_Memory",
    ),
    Refusal(
        "SelectTypeParameters",
        lambda conf: (
            conf.has("SelectTypeParameters", "cr_one_task_per_core")
            and conf.has("SelectTypeParameters", "cr_cpu", "cr_cpu_memory")
        ),
        "has CR_ONE_TASK_PER_CORE, which doesn't go with CR_CPU: use CR_Core or CR_Core_Memory",
    ),
    Refusal(
        "PreemptMode",
        _mode_is_wrong,
        "takes one of OFF, CANCEL, REQUEUE and SUSPEND, with GANG, or with WITHIN or PRIORITY",
    ),
    Refusal("PreemptMode", _bare_suspend, "is SUSPEND alone: write SUSPEND,GANG"),
    Refusal(
        "PreemptMode",
        lambda conf: (
            conf["PreemptType"] in ("", "preempt/none")
            and (_preempts(conf) or conf.has("PreemptMode", "within", "priority"))
        ),
        "preempts jobs, and no PreemptType says which: set PreemptType (preempt/qos or preempt/partition_prio) beside it",
    ),
    Refusal(
        "PreemptType",
        lambda conf: conf["PreemptType"] in ("preempt/qos", "preempt/partition_prio") and not _preempts(conf),
        "needs a PreemptMode beside it that says what becomes of preempted jobs: CANCEL, REQUEUE or SUSPEND,GANG",
    ),
    Refusal(
        "PrologFlags",
        _unknown("PrologFlags", _PROLOG),
        "has a word that slurmctld doesn't know; it knows Alloc, Contain, DeferBatch, ForceRequeueOnFail, NoHold, RunInJob,"
        " Serial and X11",
    ),
    Refusal(
        "PrologFlags",
        lambda conf: conf.has("PrologFlags", "nohold") and conf.has("PrologFlags", *_CONTAINS),
        "has NoHold, which doesn't go with Contain, RunInJob and X11",
    ),
    Refusal(
        "PrologFlags",
        lambda conf: conf.has("PrologFlags", "x11") and conf["ProctrackType"] == "proctrack/linuxproc",
        "has X11, which doesn't go with ProctrackType=proctrack/linuxproc: use proctrack/cgroup",
    ),
    _needs_contain("NamespaceType", "namespace/none"),
    _needs_contain("JobContainerType", "job_container/none"),
    _alone("HealthCheckNodeState", "START_ONLY"),
    _alone("HealthCheckNodeState", "REBOOT_ONLY"),
    _not_both("LaunchParameters", "enable_nss_slurm", "disable_send_gids"),
    _not_both("JobAcctGatherParams", "UsePss", "NoShared"),
    Refusal(
        "CommunicationParameters",
        lambda conf: (
            "disableipv4" in conf["CommunicationParameters"] and "enableipv6" not in conf["CommunicationParameters"]
        ),
        "disables IPv4 without EnableIPv6, and then no daemon can speak",
    ),
    Refusal(
        "MCSParameters", lambda conf: bool(conf["MCSParameters"]) and not conf["MCSPlugin"], "needs an MCSPlugin beside it"
    ),
    Refusal(
        "MCSPlugin",
        lambda conf: conf["MCSPlugin"] == "mcs/group" and not conf["MCSParameters"],
        "is mcs/group, which needs MCSParameters beside it",
    ),
    Refusal(
        "TaskPluginParam",
        lambda conf: (
            not set(conf.words("TaskPluginParam")) <= _TASK
            or sum(word in _TASK_UNITS for word in conf.words("TaskPluginParam")) > 1
            or sum(word in _TASK_AUTO for word in conf.words("TaskPluginParam")) > 1
        ),
        "takes one of None, Sockets, Cores and Threads, one Autobind= of these, Verbose, SlurmdOffSpec, OOMKillStep and"
        " SlurmdSpecOverride",
    ),
    Refusal(
        "TaskPluginParam",
        lambda conf: (
            conf.has("TaskPluginParam", "oomkillstep", "slurmdspecoverride") and "task/cgroup" not in conf["TaskPlugin"]
        ),
        "has OOMKillStep or SlurmdSpecOverride, which need task/cgroup in TaskPlugin",
    ),
    _not_both("TaskPluginParam", "SlurmdOffSpec", "SlurmdSpecOverride"),
    Refusal(
        "FastSchedule",
        lambda conf: conf["FastSchedule"] not in ("", "1"),
        "was removed from Slurm: leave it out; SlurmdParameters=config_overrides does what 2 did",
    ),
    _removed("AccountingStoreJobComment", "AccountingStoreFlags=job_comment"),
    _removed("SallocDefaultCommand", "LaunchParameters=use_interactive_step"),
    *(_positive(key) for key in ("FirstJobId", "MaxJobCount", "MaxStepCount")),
    Refusal(
        "FirstJobId",
        lambda conf: conf.number("FirstJobId", 1) > conf.number("MaxJobId", 0x03FF0000),
        "is greater than MaxJobId",
    ),
    Refusal("MaxDBDMsgs", lambda conf: conf.number("MaxDBDMsgs", 10000) < 10000, "must be 10000 or more"),
    Refusal(
        "PriorityDecayHalfLife",
        lambda conf: conf["PriorityDecayHalfLife"] == "0" and not conf["PriorityUsageResetPeriod"],
        "is 0, so usage would grow for ever: set PriorityUsageResetPeriod beside it",
    ),
    _one_of(
        "PriorityUsageResetPeriod",
        frozenset({"none", "now", "daily", "weekly", "monthly", "quarterly", "yearly"}),
        "NONE, NOW, DAILY, WEEKLY, MONTHLY, QUARTERLY or YEARLY",
    ),
    *(
        _one_of(key, _LEVELS, "quiet, fatal, error, info, verbose, or debug to debug5")
        for key in ("SlurmctldDebug", "SlurmdDebug", "SlurmctldSyslogDebug", "SlurmdSyslogDebug")
    ),
    _one_of(
        "EnforcePartLimits",
        frozenset({"yes", "up", "true", "1", "no", "down", "false", "0", "all", "any"}),
        "ALL, ANY or NO",
    ),
    _one_of("PropagatePrioProcess", frozenset({"0", "1", "2"}), "0, 1 or 2"),
)
"""Rows about slurm.conf."""

_OF_PARTITION: Final = (
    _one_of("State", frozenset({"up", "down", "drain", "inactive"}), "UP, DOWN, DRAIN or INACTIVE"),
    _one_of(
        "SelectTypeParameters",
        frozenset({"cr_core", "cr_core_memory", "cr_socket", "cr_socket_memory"}),
        "CR_Core, CR_Core_Memory, CR_Socket or CR_Socket_Memory for a partition",
    ),
    Refusal(
        "OverSubscribe",
        lambda conf: (
            bool(conf["OverSubscribe"])
            and re.fullmatch(r"no|exclusive|(yes|force)(:[0-9]+)?", conf["OverSubscribe"]) is None
        ),
        "takes NO, EXCLUSIVE, YES or FORCE, the last two with :COUNT or without",
    ),
    _time("MaxTime"),
    _time("DefaultTime"),
)


def refused(written: Mapping[str, str], own: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Parameters of ``own`` that slurmctld refuses beside ``written``, which they replace, each with the reason."""
    yield from _found(REFUSED, Conf(written, own), own)


def refused_of_partition(own: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The same for a PartitionName= line."""
    yield from _found(_OF_PARTITION, Conf(own), own)


def _found(rows: tuple[Refusal, ...], conf: Conf, own: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    names = {key.lower(): key for key in own}
    for row in rows:
        key = names.get(row.key.lower())
        if key is not None and row.when(conf):
            yield key, f"{row.why}. slurmctld refuses its whole file over it"
