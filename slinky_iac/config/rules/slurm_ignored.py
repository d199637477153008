"""Rules of what Slurm takes and doesn't do as it is written: files that nothing loads, limits the wrong way round, names of
older releases.

Source: ``_defunct_option`` of read_config.c and cgroup.c, ``_parse_srun_ports``, slurm.conf(5) of 26.05 and 25.11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.partitions import partition_parameters
from slinky_iac.config.rules import node_sizes as rules_node_sizes
from slinky_iac.config.rules import plugin_files as rules_plugin_files
from slinky_iac.config.rules import private_folders as rules_private_folders
from slinky_iac.config.rules import slurm_idle as rules_slurm_idle
from slinky_iac.config.rules import slurm_replaced as rules_slurm_replaced
from slinky_iac.config.rules import slurm_values as rules_slurm_values
from slinky_iac.config.rules.slurm_files import UNITS, pairs
from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm import words as slurm_words
from slinky_iac.config.slurm.reach import ELSEWHERE
from slinky_iac.config.slurm.refusals import NAMESPACE, Conf, spelt
from slinky_iac.config.slurm.times import minutes
from slinky_iac.config.stack import StackConfig

_LOADED: Final = {
    "job_submit.lua": ("JobSubmitPlugins", ("lua",), "lua"),
    "cli_filter.lua": ("CliFilterPlugins", ("lua",), "lua"),
    "burst_buffer.lua": ("BurstBufferType", ("lua",), "burst_buffer/lua"),
    "helpers.conf": ("NodeFeaturesPlugins", ("helpers",), "helpers"),
    "topology.conf": ("TopologyPlugin", tuple(UNITS), "topology/tree"),
    "job_container.conf": ("NamespaceType", ("tmpfs",), "namespace/tmpfs"),
}
"""Files that a plugin alone reads: the parameter, names of plugins, and the value that loads one."""
_RANGE: Final = re.compile(r"(\d{1,9})-(\d{1,9})")
_WHOLE: Final = re.compile(r"\d{1,9}")


def _unloaded(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Files for a plugin that no parameter loads."""
    conf = Conf(config.slurmctld.extra_conf)
    for file, (parameter, plugins, value) in _LOADED.items():
        named = conf.plugins(*(NAMESPACE if parameter in NAMESPACE else (parameter,)))
        if file in config.slurmctld.config_files and named.isdisjoint(plugins):
            yield at(f"controller.configFiles.{file}").warning(
                f"is read by no daemon: {parameter} doesn't name {value}, so what the file says has no effect. Set"
                f" {parameter}: {value} in controller.extraConf, or remove the file",
                id="slurm-ignores",
            )


def _defunct(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Names that Slurm reads and does nothing with, and those that it has renamed."""
    said = "does nothing in this release of Slurm, which writes a line in its log at most. Remove it"
    own, release = config.slurmctld.extra_conf, config.slurm_release
    conf = Conf(own)
    for key in own:
        low = key.lower()
        if low in ELSEWHERE:
            continue  # refused, with what to do
        if slurm_words.is_unread(key, "slurm.conf", release):
            yield at(f"controller.extraConf.{key}").warning(said, id="slurm-ignores")
        elif instead := slurm_words.renamed(key, release):
            yield at(f"controller.extraConf.{key}").warning(
                f"is an old name, which Slurm still reads, with a line in its log at each start: what it says belongs to"
                f" {instead}",
                id="slurm-ignores",
            )
        elif (option := slurm_words.defunct_option(key, release)) and conf.has(key, option.lower()):
            yield at(f"controller.extraConf.{key}").warning(f"has {option}, which {said}", id="slurm-ignores")
    for line, key, _value in pairs(config.slurmctld.config_files.get("cgroup.conf", "")):
        if slurm_words.is_unread(key, "cgroup.conf", release):
            path = at("controller.configFiles.cgroup.conf")
            yield path.warning(f"has {name_of(key)} on line {line}, which {said}", id="slurm-ignores")


def _ports(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    own = config.slurmctld.extra_conf
    match = _RANGE.fullmatch(Conf(own)["SrunPortRange"])
    if match and int(match[1]) > int(match[2]):
        yield at(f"controller.extraConf.{spelt(own, 'SrunPortRange')}").warning(
            f"begins above its end: Slurm takes no such range, and srun any port. Write {match[2]}-{match[1]}",
            id="slurm-ignores",
        )


def _partitions(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Limits of a partition that no job can keep, and a default that no job has."""
    for path, parameters in partition_parameters(config).items():
        conf = Conf(parameters)
        least, most = conf["MinNodes"], conf["MaxNodes"]
        if _WHOLE.fullmatch(most) and not int(most):
            yield at(f"{path}.{spelt(parameters, 'MaxNodes')}").error(
                "is 0, and each job has a node at least: no job would run in this partition. Remove it, or set 1 or more; to"
                " close a partition set State: DOWN"
            )
        elif _WHOLE.fullmatch(least) and _WHOLE.fullmatch(most) and int(least) > int(most):
            yield at(f"{path}.{spelt(parameters, 'MinNodes')}").error(
                f"is {int(least)}, above MaxNodes={int(most)}: no job would run in this partition. Set MinNodes to"
                f" {int(most)} or less"
            )
        default, longest = minutes(conf["DefaultTime"]), minutes(conf["MaxTime"])
        if default is not None and longest is not None and default > longest:
            yield at(f"{path}.{spelt(parameters, 'DefaultTime')}").warning(
                "is longer than MaxTime: slurmctld leaves it out, and a job without --time has MaxTime. Set DefaultTime to"
                " MaxTime or less",
                id="slurm-ignores",
            )


RULES = (
    *(_unloaded, _defunct, _ports, _partitions),
    *rules_slurm_values.RULES,
    *rules_slurm_replaced.RULES,
    *rules_slurm_idle.RULES,
    *rules_node_sizes.RULES,
    *rules_private_folders.RULES,
    *rules_plugin_files.RULES,
)
