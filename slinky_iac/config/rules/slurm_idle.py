"""Rules of parameters that do nothing, or other than they seem to, for want of another one, and of power saving that takes
pods, too (:mod:`slinky_iac.config.slurm.power`).

Each was run on slurmctld and slurmd 26.05.5 and 25.11.7. Source: controller.c, ``_internal_setup`` of
priority_multifactor.c, ``slurm_conf_init_stepd``, ``reserve_port_config``, ``run_script_health_check``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.partitions import partition_parameters
from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm.power import FOLLOWS, LINE, PARAMETERS, PowerSaving
from slinky_iac.config.slurm.refusals import Conf, spelt
from slinky_iac.config.stack import StackConfig
from slinky_iac.text import some

_OF_DATABASE: Final = (
    "AccountingStorageEnforce",
    "AccountingStoreFlags",
    "PriorityWeightAge",
    "PriorityWeightAssoc",
    "PriorityWeightFairshare",
    "PriorityWeightQOS",
)
"""Parameters that need slurmdbd. Of the weights slurmctld names Age and Fairshare in its log; the others weigh what only
slurmdbd has."""
_WEIGHT: Final = "priorityweight"
_OF_BASIC: Final = ("0", "", "none")
"""Values by which a parameter asks for nothing."""
_PORTS: Final = re.compile(r"ports=0*([1-9][0-9]{0,9})-([0-9]{1,10})(?![0-9])")
_LISTS: Final = ("AllowAccounts", "AllowGroups", "AllowQos", "DenyAccounts", "DenyQos")
_NAMES: Final = (
    *("BcastExclude", "CpuFreqGovernors", "GresTypes", "HealthCheckNodeState", "MetricsAuthUsers", "SuspendExcParts"),
    "SuspendExcStates",
)
"""The same of slurm.conf, whose items are compared whole."""
_TRUE: Final = frozenset({"yes", "up", "true", "1"})
_BLANK: Final = re.compile(r"\s,|,\s|^\s|\s$")
_CHECK: Final = "HealthCheckProgram"
_ONCE: Final = ("start_only", "reboot_only")
"""HealthCheckNodeState by which slurmd runs the check at its own start."""


def _setting(own: Mapping[str, str], name: str) -> str:
    return f"controller.extraConf.{spelt(own, name)}"


def _without_database(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    own = config.slurmctld.extra_conf
    conf = Conf(own)
    if config.accounting.enabled:
        return
    for name in _OF_DATABASE:
        if conf[name] not in _OF_BASIC:
            yield at(_setting(own, name)).warning(
                "has no effect, as it needs slurmdbd, and accounting.enabled is false: slurmctld passes over it. Set"
                " accounting, or remove it",
                id="slurm-ignores",
            )
    if conf.plugin("PreemptType") == "qos":
        yield at(_setting(own, "PreemptType")).warning(
            "is preempt/qos, and no QOS is there, as they are slurmdbd's, and accounting.enabled is false: no job is"
            " preempted. Set accounting, or preempt/partition_prio",
            id="slurm-ignores",
        )


def _basic(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Weights that no plugin reads."""
    own = config.slurmctld.extra_conf
    conf = Conf(own)
    if conf.plugin("PriorityType") != "basic":
        return
    for key in own:
        if key.lower().startswith(_WEIGHT) and conf[key] not in _OF_BASIC:
            yield at(f"controller.extraConf.{key}").warning(
                "has no effect with PriorityType=priority/basic, by which jobs run in the order of their ids. Set"
                " PriorityType: priority/multifactor, or remove it",
                id="slurm-ignores",
            )


def _limits(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Of PropagateResourceLimits and …Except slurmd reads the second alone (slurm.conf(5))."""
    own = config.slurmctld.extra_conf
    conf = Conf(own)
    given, but = conf["PropagateResourceLimits"], conf["PropagateResourceLimitsExcept"]
    if given not in ("", "all") and but:
        yield at(_setting(own, "PropagateResourceLimits")).error(
            "is there beside PropagateResourceLimitsExcept, which slurmd takes alone, without a word: all limits but"
            f" {name_of(but.upper())} would go along with jobs. Keep one: limits that go along in PropagateResourceLimits,"
            " those that don't in PropagateResourceLimitsExcept"
        )


def _mpi(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    own = config.slurmctld.extra_conf
    value = Conf(own)["MpiParams"]
    match = _PORTS.search(value)
    sound = match is not None and int(match[1]) <= int(match[2])
    bare = "ports=" not in value and re.search(r"(^|,)[0-9]+([-:][0-9]+)?(,|$)", value)
    if ("ports=" in value and not sound) or bare:
        yield at(_setting(own, "MpiParams")).warning(
            "has no ports that slurmctld can read, as ports=12000-12999: it reserves none for steps, with a line in its log"
            " at most. Write the first port, -, and the last",
            id="slurm-ignores",
        )


def _partitions(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Blanks that become part of a name. A name may have one inside, as groups of a directory."""
    for path, parameters in partition_parameters(config).items():
        for name in _LISTS:
            key = spelt(parameters, name)
            if key and _BLANK.search(parameters[key]):
                yield at(f"{path}.{key}").error(
                    "has a blank beside a comma or at an end, which slurmctld takes for a part of the name: there is no such"
                    " one, so the line holds for others than it says, or slurmctld ends over it. Write a,b"
                )


def _names(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """The same of slurm.conf: of ``gpu, nic`` the second type is `` nic``, which no node has (``gres_init``)."""
    own = config.slurmctld.extra_conf
    for name in _NAMES:
        key = spelt(own, name)
        if key and _BLANK.search(own[key]):
            yield at(f"controller.extraConf.{key}").error(
                "has a blank beside a comma or at an end, which Slurm takes for a part of the word: there is no such one,"
                " so what it says is lost, without a word or with a line in the log. Write a,b"
            )


def _health(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    own = config.slurmctld.extra_conf
    conf = Conf(own)
    if conf[_CHECK] and not conf.number("HealthCheckInterval", 0) and not conf.has("HealthCheckNodeState", *_ONCE):
        yield at(_setting(own, _CHECK)).warning(
            "is never run: HealthCheckInterval is 0, its default. Set HealthCheckInterval: 300, say",
            id="slurm-ignores",
        )


def _route(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Slurm reads one word of it (``_validate_and_set_defaults``)."""
    own = config.slurmctld.extra_conf
    value = Conf(own)["RoutePlugin"]
    if value and "tree" not in value and value.rpartition("/")[2] != "default":
        yield at(_setting(own, "RoutePlugin")).warning(
            "has no effect: there are no such plugins any more. For messages along the switches set TopologyParam:"
            " RouteTree; else remove it",
            id="slurm-ignores",
        )


def _power(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Idle pods that slurmctld in Kubernetes powers down, as `slinky preflight` says it of one outside."""
    own = config.slurmctld.extra_conf
    conf = Conf(own)
    saving = PowerSaving.read({name: conf.exact(name) for name in PARAMETERS})
    if taken := saving.takes(config):
        states = ",".join(map(name_of, (*saving.states, LINE.partition("=")[2])))
        time = name_of(saving.time_of(config, taken[0]))
        yield at(_setting(own, "SuspendProgram")).warning(
            f"powers down pods of {some(map(name_of, taken), 3)} that are idle for {time} s"
            f" (SuspendTime), as any node: {FOLLOWS}. Set SuspendExcStates: {states} beside it, which leaves out"
            " nodes that register without a line in slurm.conf; acknowledge this where ResumeProgram restarts the pods",
            id="pods-powered-down",
        )


def _power_of_partitions(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """PowerDownOnIdle: a node that a job gets is powered down after it, whatever SuspendExc… says (``make_node_alloc``,
    ``_do_power_work``)."""
    for path, parameters in partition_parameters(config).items():
        key = spelt(parameters, "PowerDownOnIdle")
        kind, rest = path.split(".", 1)
        members = config.partitions[rest.removesuffix(".config")].nodesets if kind == "partitions" else config.nodesets
        if key and parameters[key].lower() in _TRUE and config.nodesets and {"ALL", *config.nodesets} & set(members):
            yield at(f"{path}.{key}").warning(
                f"powers down each pod of the partition after a job, as any node: {FOLLOWS}. SuspendExcStates doesn't hold"
                " for it. Remove it; acknowledge this where ResumeProgram restarts the pods",
                id="pods-powered-down",
            )


RULES = (
    *(_without_database, _basic, _limits, _mpi, _partitions, _names, _health, _route, _power),
    _power_of_partitions,
)
