"""What slurmctld refuses in slurm.conf beside names and single values: pairs that don't go together, one line each.

It then keeps its old file, or ends where it is just starting, and every Slurm command in its pod fails. Names and values
are those of :mod:`.words`; the rest is slurmctld's own to say (`slinky preflight --try`). The rows were
run on slurmctld 26.05.5 and 25.11.7 (tests/faults/test_slurm_words.py); source: ``_validate_and_set_defaults`` of read_config.c.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

_SELECT: Final = frozenset(
    {"cr_socket", "cr_socket_memory", "cr_core", "cr_core_memory", "cr_memory", "cr_cpu", "cr_cpu_memory"}
)
_CONTAINS: Final = frozenset({"contain", "x11", "runinjob"})
"""Flags of PrologFlags that set Contain."""
_MODES: Final = frozenset({"off", "cluster", "cancel", "requeue", "on", "suspend"})
_TASK_UNITS: Final = frozenset({"none", "sockets", "cores", "threads"})
_TASK_AUTO: Final = frozenset(f"autobind={unit}" for unit in _TASK_UNITS)
_TASK: Final = _TASK_UNITS | _TASK_AUTO | {"verbose", "slurmdoffspec", "oomkillstep", "slurmdspecoverride"}
_RATE: Final = re.compile(
    r"rl_(bucket_size|refill_rate|refill_period|table_size)=(?!0*[1-9][0-9]*\Z)|rl_log_freq=(?!(-1|[0-9]+)\Z)"
)
"""Limits of rate_limit.c over which slurmctld ends."""
_LONGEST_SCRIPT: Final = 512 << 20
_LONGEST_LINE: Final = 2 << 20


def spelt(parameters: Mapping[str, str], name: str) -> str:
    """A parameter's name as it is written, without regard to case; empty where it isn't there."""
    return next((key for key in parameters if key.lower() == name.lower()), "")


NAMESPACE: Final = ("NamespaceType", "JobContainerType")
"""Folders of a job's own: the parameter's name since 25.11 and the one before, whose values the first takes, too."""


class Conf:
    """Parameters as slurmctld sees them: names, and most values, without regard to case."""

    def __init__(self, *layers: Mapping[str, str], release: tuple[int, ...] = ()) -> None:
        """``release``: Slurm's, as (26, 5), where a row asks for it."""
        self.release = release
        self._held = {key.lower(): value for layer in layers for key, value in layer.items()}

    def __getitem__(self, key: str) -> str:
        return self.exact(key).lower()

    def exact(self, key: str) -> str:
        """A value as it is written: names of plugins are files."""
        return self._held.get(key.lower(), "")

    def words(self, key: str) -> list[str]:
        """A value's items, by comma."""
        return [word for word in self[key].split(",") if word]

    def plugins(self, *keys: str) -> set[str]:
        """Plugins that parameters name, without their kind: of ``topology/tree`` it is tree."""
        return {word.rpartition("/")[2] for key in keys for word in self.words(key)}

    def plugin(self, *keys: str) -> str:
        """The plugin that the first of these with a value names, likewise."""
        return next(filter(None, map(self.__getitem__, keys)), "").rpartition("/")[2]

    def has(self, key: str, *words: str) -> bool:
        """Whether one of these is among a value's items."""
        return not set(words).isdisjoint(self.words(key))

    def number(self, key: str, default: int) -> int:
        """A number's value; ``default`` where it isn't one."""
        text = self[key]
        return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else default

    def preempts(self) -> bool:
        """Whether PreemptMode says what becomes of jobs."""
        return self.has("PreemptMode", "cancel", "requeue", "on", "suspend")

    def twice(self, key: str, among: frozenset[str]) -> bool:
        """Whether a value has more than one of ``among``."""
        return sum(word in among for word in self.words(key)) > 1

    def beyond(self, key: str, option: str, most: int) -> bool:
        """Whether ``option=NUMBER`` among a value's items is greater than ``most``."""
        match = re.search(rf"{option}=([0-9]{{1,18}})", self[key])
        return match is not None and int(match[1]) > most

    def bare(self, key: str) -> bool:
        """Whether a plugin is set without PrologFlags that contain jobs."""
        return self[key].partition("/")[2] not in ("", "none") and not self.has("PrologFlags", *_CONTAINS)


Row = tuple[str, Callable[[Conf], bool], str]
"""A parameter, when slurmctld refuses it, and why or what to do."""
REFUSED: Final[tuple[Row, ...]] = (
    ("SelectType", lambda c: c.exact("SelectType") not in ("", "select/cons_tres"), "doesn't go with MaxNodeCount, without which no pod can register, nor with any plugin but select/cons_tres: leave it out. On a live cluster a change of it would also lose all jobs"),
    ("SelectTypeParameters", lambda c: c.twice("SelectTypeParameters", _SELECT), "says twice what is consumed: keep one of CR_CPU, CR_Core and CR_Socket, each with _Memory or without"),
    ("SelectTypeParameters", lambda c: not c.has("SelectTypeParameters", *(_SELECT - {"cr_memory"})), "needs one of CR_CPU, CR_Core and CR_Socket, each with _Memory or without (select_cons_tres.c)"),
    ("SelectTypeParameters", lambda c: c.has("SelectTypeParameters", "cr_one_task_per_core") and c.has("SelectTypeParameters", "cr_cpu", "cr_cpu_memory"), "has CR_ONE_TASK_PER_CORE, which doesn't go with CR_CPU: use CR_Core or CR_Core_Memory"),
    ("PreemptMode", lambda c: c.twice("PreemptMode", _MODES) or (c.has("PreemptMode", "gang") and c.has("PreemptMode", "within", "priority")), "takes one of OFF, CANCEL, REQUEUE and SUSPEND, with GANG, or with WITHIN or PRIORITY"),
    ("PreemptMode", lambda c: set(c.words("PreemptMode")) in ({"suspend"}, {"on"}), "is SUSPEND alone: write SUSPEND,GANG"),
    ("PreemptMode", lambda c: c["PreemptType"] in ("", "preempt/none") and (c.preempts() or c.has("PreemptMode", "within", "priority")), "preempts jobs, and no PreemptType says which: set PreemptType (preempt/qos or preempt/partition_prio) beside it"),
    ("PreemptType", lambda c: c["PreemptType"] in ("preempt/qos", "preempt/partition_prio") and not c.preempts(), "needs a PreemptMode beside it that says what becomes of preempted jobs: CANCEL, REQUEUE or SUSPEND,GANG"),
    ("PreemptParameters", lambda c: c["PreemptType"] not in ("", "preempt/none") and re.search(r"min_exempt_priority=(?![0-9]{1,9}(,|\Z))", c["PreemptParameters"]) is not None, "has a min_exempt_priority that isn't a number: give it a whole number, a priority of jobs"),
    ("PrologFlags", lambda c: c.has("PrologFlags", "nohold") and c.has("PrologFlags", *_CONTAINS), "has NoHold, which doesn't go with Contain, RunInJob and X11: keep NoHold, or these"),
    ("PrologFlags", lambda c: c.has("PrologFlags", "x11") and c["ProctrackType"] == "proctrack/linuxproc", "has X11, which doesn't go with ProctrackType=proctrack/linuxproc: use proctrack/cgroup"),
    ("NamespaceType", lambda c: c.bare("NamespaceType"), "needs PrologFlags with Contain beside it"),
    ("JobContainerType", lambda c: c.bare("JobContainerType"), "needs PrologFlags with Contain beside it"),
    ("SlurmctldParameters", lambda c: c.has("SlurmctldParameters", "enable_stepmgr") and not c.has("PrologFlags", *_CONTAINS), "has enable_stepmgr, which needs PrologFlags with Contain beside it"),
    ("HealthCheckNodeState", lambda c: c.release >= (26, 5) and c.has("HealthCheckNodeState", "start_only", "reboot_only") and len(set(c.words("HealthCheckNodeState"))) > 1, "has START_ONLY or REBOOT_ONLY, each of which must be alone: remove the others"),
    ("LaunchParameters", lambda c: c.has("LaunchParameters", "enable_nss_slurm") and c.has("LaunchParameters", "disable_send_gids"), "has enable_nss_slurm and disable_send_gids, of which one is possible: remove the other"),
    ("JobAcctGatherParams", lambda c: "usepss" in c["JobAcctGatherParams"] and "noshared" in c["JobAcctGatherParams"], "has UsePss and NoShared, of which one is possible: remove the other"),
    ("CommunicationParameters", lambda c: "disableipv4" in c["CommunicationParameters"] and "enableipv6" not in c["CommunicationParameters"], "disables IPv4 without EnableIPv6, and then no daemon can speak: add EnableIPv6"),
    ("MCSParameters", lambda c: bool(c["MCSParameters"]) and not c["MCSPlugin"], "needs an MCSPlugin beside it: add one, or leave this out"),
    ("MCSPlugin", lambda c: c["MCSPlugin"] == "mcs/group" and not c["MCSParameters"], "is mcs/group, which needs MCSParameters beside it"),
    ("TaskPluginParam", lambda c: not set(c.words("TaskPluginParam")) <= _TASK or c.twice("TaskPluginParam", _TASK_UNITS) or c.twice("TaskPluginParam", _TASK_AUTO), "takes one of None, Sockets, Cores and Threads, one Autobind= of these, Verbose, SlurmdOffSpec, OOMKillStep and SlurmdSpecOverride"),
    ("TaskPluginParam", lambda c: c.has("TaskPluginParam", "oomkillstep", "slurmdspecoverride") and "cgroup" not in c["TaskPlugin"], "has OOMKillStep or SlurmdSpecOverride, which need TaskPlugin with task/cgroup beside it"),
    ("TaskPluginParam", lambda c: "slurmdoffspec" in c["TaskPluginParam"] and "slurmdspecoverride" in c["TaskPluginParam"], "has SlurmdOffSpec and SlurmdSpecOverride, of which one is possible: remove the other"),
    ("FastSchedule", lambda c: c["FastSchedule"] not in ("", "1"), "was removed from Slurm: leave it out; SlurmdParameters=config_overrides does what 2 did"),
    ("AccountingStoreJobComment", lambda c: bool(c["AccountingStoreJobComment"]), "was removed from Slurm: use AccountingStoreFlags=job_comment"),
    ("SallocDefaultCommand", lambda c: bool(c["SallocDefaultCommand"]), "was removed from Slurm: use LaunchParameters=use_interactive_step"),
    ("Licenses", lambda c: re.search(r"\s|[:=](?![0-9]*([,;|]|\Z))|\|.*[,;]|[,;].*\|", c["Licenses"]) is not None, "takes names by comma, or all by |, without blanks, each with :COUNT or without, as matlab:50,ansys"),
    ("FirstJobId", lambda c: c["FirstJobId"] == "0", "is 0, and must be 1 or more"),
    ("MaxJobCount", lambda c: c["MaxJobCount"] == "0", "is 0, and must be 1000 or more"),
    ("MaxStepCount", lambda c: c["MaxStepCount"] == "0", "is 0, and must be 1000 or more"),
    ("FirstJobId", lambda c: c.number("FirstJobId", 1) > c.number("MaxJobId", 0x03FF0000), "is greater than MaxJobId (67043328 where it isn't set): lower it, or raise MaxJobId"),
    ("MaxDBDMsgs", lambda c: c.number("MaxDBDMsgs", 10000) < 10000, "must be 10000 or more"),
    ("PriorityDecayHalfLife", lambda c: c["PriorityDecayHalfLife"] == "0" and not c["PriorityUsageResetPeriod"], "is 0, so usage would grow for ever: set PriorityUsageResetPeriod beside it"),
    ("PriorityCalcPeriod", lambda c: c["PriorityCalcPeriod"] in ("0", "-1", "unlimited", "infinite"), "must be a minute or more"),
    ("SlurmctldParameters", lambda c: c.has("SlurmctldParameters", "rl_enable") and any(_RATE.match(word) for word in c.words("SlurmctldParameters")), "has a limit of requests that isn't a number: give rl_bucket_size, rl_refill_rate, rl_refill_period and rl_table_size whole numbers above 0, rl_log_freq one from -1 on"),
    ("PropagatePrioProcess", lambda c: c.number("PropagatePrioProcess", 0) > 2, "takes 0, 1 or 2"),
    ("SchedulerParameters", lambda c: c.beyond("SchedulerParameters", "max_script_size", _LONGEST_SCRIPT), f"has a max_script_size above {_LONGEST_SCRIPT}, the most: lower it"),
    ("SchedulerParameters", lambda c: c.beyond("SchedulerParameters", "max_submit_line_size", _LONGEST_LINE), f"has a max_submit_line_size above {_LONGEST_LINE}, the most: lower it"),
    ("SchedulerParameters", lambda c: "max_job_bf=" in c["SchedulerParameters"] and "bf_max_job_test=" not in c["SchedulerParameters"] and c["SchedulerType"] != "sched/builtin", "has max_job_bf, which sched/backfill has no more: write bf_max_job_test in its place"),
)  # fmt: skip
"""Rows about slurm.conf. SlurmSchedLogLevel has none: every operator writes the SlurmSchedLogFile that it needs."""

_SHARED: Final = "takes NO, EXCLUSIVE, YES or FORCE, the last two with :COUNT or without"
_OF_PARTITION: Final[tuple[Row, ...]] = (
    ("OverSubscribe", lambda c: re.fullmatch(r"|no|exclusive|(yes|force)(:[0-9]+)?", c["OverSubscribe"]) is None, _SHARED),
    ("Shared", lambda c: re.fullmatch(r"|no|exclusive|(yes|force)(:[0-9]+)?", c["Shared"]) is None, _SHARED),
    ("Exclusive", lambda c: c["Exclusive"] not in ("", "no", "node", "user", "topo"), "takes NO, NODE, USER or TOPO"),
    ("SelectTypeParameters", lambda c: re.match(r"\Z|cr_core|cr_socket", c["SelectTypeParameters"]) is None, "takes CR_Core, CR_Core_Memory, CR_Socket or CR_Socket_Memory"),
)  # fmt: skip


_EXCLUSIVE: Final = (
    ("shared", "oversubscribe"),
    ("feature", "features"),
    ("procs", "cpus"),
    ("priority", "priorityjobfactor"),
    ("priority", "prioritytier"),
    ("jobcontainertype", "namespacetype"),
    ("defmempercpu", "defmempernode"),
    ("maxmempercpu", "maxmempernode"),
    ("denyaccounts", "allowaccounts"),
    ("denyqos", "allowqos"),
)
"""Two parameters, in lower case, of which Slurm takes one (``_parse_partitionname``, ``_parse_nodename`` and
``_validate_and_set_defaults`` of read_config.c), and says so in its log at most."""


def twice(own: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Parameters that are there twice, in two spellings or by two names, each with the other one."""
    names: dict[str, str] = {}
    for key in own:
        if key.lower() in names:
            yield key, names[key.lower()]
        names.setdefault(key.lower(), key)
    for one, other in _EXCLUSIVE:
        if one in names and other in names:
            yield names[one], names[other]


def refused(written: Mapping[str, str], own: Mapping[str, str], release: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """Parameters of ``own`` that slurmctld of a release refuses beside ``written``, which they replace, with the reason."""
    yield from _found(REFUSED, Conf(written, own, release=release), own)


def refused_of_partition(own: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The same for a PartitionName= line."""
    yield from _found(_OF_PARTITION, Conf(own), own)


_OF_DATABASE: Final = ("CommunicationParameters",)
"""Parameters of which slurmdbd refuses what slurmctld does (``slurmdbd_conf_load`` of slurmdbd/read_config.c)."""


def refused_of_database(own: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The same for slurmdbd.conf."""
    rows = tuple(row for row in REFUSED if row[0] in _OF_DATABASE)
    yield from _found(rows, Conf(own), own, daemon="slurmdbd")


def _found(
    rows: tuple[Row, ...], conf: Conf, own: Mapping[str, str], daemon: str = "slurmctld"
) -> Iterator[tuple[str, str]]:
    names = {key.lower(): key for key in own}
    for parameter, when, why in rows:
        key = names.get(parameter.lower())
        if key is not None and when(conf):
            yield key, f"{why}. {daemon} refuses its whole file over it"
