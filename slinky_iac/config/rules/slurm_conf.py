"""Rules of slurm.conf parameters: what a setting writes already may not be written a second time beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.operator import conf as operator_conf
from slinky_iac.config.partitions import partition_parameters
from slinky_iac.config.quantities import amount, mebibytes, whole_cpus
from slinky_iac.config.shown import name_of, word_of
from slinky_iac.config.slurm import refusals as slurm_refusals
from slinky_iac.config.slurm import words as slurm_words
from slinky_iac.config.slurm.node_groups import hosts_in
from slinky_iac.config.slurm.owned import OWNED, OWNED_BY_DATABASE, set_instead
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.workers import NodeSet
from slinky_iac.keys.catalogue import SLURM
from slinky_iac.keys.registry import ROTATING
from slinky_iac.text import closest

TAKEN_FILES: Final[Mapping[str, str]] = {
    **{key.bundle: key.setting for key in ROTATING if key.bundle},
    "jwt.key": "keys",
    "jwt_hs256.key": "keys",
    "slurm.conf": "controller.extraConf",
    "slurm.key": "keys",
    "slurmdbd.conf": "accounting.extraConf",
}
"""Files of /etc/slurm that the operator (1.0.1 to 1.3.0-rc1, ``controllerVolumes``, ``accountingVolumes``) or this program
writes, and the setting to use instead. One projected volume has them all, ConfigMaps of the settings come after the
operator's own sources, and kubelet lets the later one win: the operator's file would be replaced without a word."""
TAKEN_ENDINGS: Final = (PurePosixPath(SLURM.bundle).suffix, ".key")
"""Endings of names that are keys': keys are Secrets and never files of settings."""
SLURM_FILES: Final = frozenset(
    {"acct_gather.conf", "burst_buffer.conf", "cgroup.conf", "cli_filter.lua", "gres.conf", "helpers.conf"}
    | {"job_container.conf", "job_submit.lua", "mpi.conf", "namespace.yaml", "oci.conf", "plugstack.conf"}
    | {"topology.conf", "topology.yaml"}
)
"""Other files that Slurm's daemons open in /etc/slurm by these names. The operator writes cgroup.conf (1.1 gres.conf too)
where no map of ``configFileRefs`` has it, and asks no other map."""
SCRIPT_ENDINGS: Final = frozenset({"", ".bash", ".pl", ".py", ".sh"})
"""Endings of a prolog's or epilog's name: nothing that a daemon opens has one of them."""
_PASSED_OVER: Final = frozenset({"reconfigflags"})
"""Parameters of which slurmctld 26.05.5 reports an unknown word in its log and starts (run), against its own manual."""
_DIGITS: Final = 20
_SHARED: Final = {"cpus": "they share what there is", "memory": "Kubernetes ends what uses more than the pod has"}
OPERATOR_NODE_KEYS = frozenset({"nodename", "nodehostname", "nodeaddr", "port", "state"})
_PARTITION_KEYS = frozenset({"partitionname", "nodes"})
"""Parameters of a PartitionName= line that are there already: Slurm takes the last one of a line, and says so in its log."""


def owned(config: StackConfig) -> Iterator[Finding]:
    """Parameters of OWNED in ``controller.extraConf``."""
    for key in config.controller.extra_conf:
        if key.lower() in OWNED:
            yield at(f"controller.extraConf.{key}").error(set_instead(key))


def files(config: StackConfig) -> Iterator[Finding]:
    """Names that the maps of files may not have: slurmctld's pod has all of them in one folder."""
    controller = config.controller
    maps = {"configFiles": controller.config_files, "prolog": controller.prolog, "epilog": controller.epilog}
    where: dict[str, str] = {}
    named = {PurePosixPath(value.strip(' "').partition(" ")[0]).name for value in controller.extra_conf.values()}
    for field, entries in maps.items():
        for name in entries:
            path = f"controller.{field}.{name}"
            if instead := _taken(name):
                yield at(path).error(
                    f"is a file of /etc/slurm that the operator or this program writes, and this one would replace it: set"
                    f" {instead} instead"
                )
            elif name in where:
                yield at(path).error(
                    f"is a name in controller.{where[name]} too; all these files are in one folder, and the later one would"
                    " replace the other. Rename one of them"
                )
            elif field != "configFiles" and PurePosixPath(name).suffix not in SCRIPT_ENDINGS:
                endings = ", ".join(sorted(SCRIPT_ENDINGS - {""}))
                yield at(path).error(
                    f"can't be a script's name: it would be beside slurm.conf, where Slurm may read it as a file of its own."
                    f" End the name in {endings}, or leave out the ending; a configuration file belongs to"
                    " controller.configFiles"
                )
            elif field == "configFiles" and name not in SLURM_FILES | named:
                yield at(path).warning(
                    f"isn't a file that Slurm opens itself ({', '.join(sorted(SLURM_FILES))}). Rename it, or remove it; if a"
                    " script or a plugin of yours reads it, acknowledge this",
                    id="config-file-unread",
                )
            where.setdefault(name, field)


def _taken(name: str) -> str:
    """The setting that a taken name belongs to; empty for a free name."""
    return TAKEN_FILES.get(name, "keys" if name.endswith(TAKEN_ENDINGS) else "")


def _node_parameters(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    for name, nodeset in config.nodesets.items():
        path = f"nodesets.{name}"
        keys = {key.lower() for key in nodeset.extra_conf}
        for key in nodeset.extra_conf:
            if key.lower() in OPERATOR_NODE_KEYS:
                yield at(f"{path}.extraConf.{key}").error(
                    "is what the operator sets from the pod; with another value slurmctld would know the node otherwise"
                    " than the operator does. Leave it out"
                )
        if nodeset.features and keys & {"feature", "features"}:
            yield at(f"{path}.extraConf").error("sets Features beside the setting features; use features only")
        if nodeset.gres and "gres" in keys:
            yield at(f"{path}.extraConf").error("sets Gres beside the setting gres; use gres only")
        yield from _beyond(path, nodeset)
    for path, host in {host.path: host for host in config.external.slurmd_hosts}.items():
        taken = {"nodename", *(["nodeaddr"] if host.address is not None else [])}
        for key in host.config:
            if key.lower() in taken:
                yield at(f"{path}.config.{key}").error(
                    "repeats name and address; Slurm takes the last of two on one line, so this stack would drain"
                    " another node. Set name or address"
                )


def _beyond(path: str, nodeset: NodeSet) -> Iterator[Finding]:
    """More than the pod has: slurmd takes what its line says for the node's, and jobs share what is there."""
    memory, cpus = nodeset.resources.memory, nodeset.resources.cpus
    if cpus is not None and amount(cpus) != (whole := whole_cpus(cpus)):
        yield at(f"{path}.resources.cpus").warning(
            f"is {name_of(str(cpus))}, of which slurmd counts {whole} CPU{'s' if whole > 1 else ''}: slurmctld would give"
            f" jobs as many, and they share what there is. Set a whole number, as {whole}",
            id="beyond-the-pod",
        )
    limits = {name: (whole_cpus(cpus), "CPUs", "cpus") for name in ("cpus", "procs") if cpus is not None}
    limits |= {"realmemory": (mebibytes(memory), "MiB", "memory")} if memory is not None else {}
    for key, value in nodeset.extra_conf.items():
        most, unit, setting = limits.get(key.lower(), (0, "", ""))
        if unit and value.isdecimal() and len(value) < _DIGITS and int(value) > most:
            yield at(f"{path}.extraConf.{key}").warning(
                f"is {int(value)}, and resources.{setting} gives the pod {most} {unit}: slurmctld would give jobs"
                f" {int(value)} {unit}, and {_SHARED[setting]}. Leave it out, or raise resources.{setting}",
                id="beyond-the-pod",
            )


def _partitions(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    own = {name for name, nodeset in config.nodesets.items() if nodeset.partition.enabled}
    for path, parameters in partition_parameters(config).items():
        for key in parameters:
            if key.lower() in _PARTITION_KEYS:
                yield at(f"{path}.{key}").error(
                    "is what this stack itself writes on the partition's line, and of two Slurm takes the last: the"
                    " partition would not be what the settings say. Remove it here, and name the members in"
                    " partitions.<name>.nodesets"
                )
    members = {*config.nodesets, *(host.name for host in config.external.slurmd_hosts)}
    for name, partition in config.partitions.items():
        if name in own:
            yield at(f"partitions.{name}").error(
                f"is also the partition of nodesets.{name_of(name)}; rename it or set partition.enabled: false there"
            )
        for member in partition.nodesets:
            if member != "ALL" and not members.issuperset(hosts_in(member)):
                known = ", ".join(name_of(candidate) for candidate in sorted(members)) or "none"
                near = closest(member, members)
                meant = f"Did you mean {name_of(near)}? Else write" if near else "Write"
                yield at(f"partitions.{name}.nodesets").error(
                    f"names {name_of(member)}, which isn't a NodeSet nor an outside slurmd host (there are: {known});"
                    f" slurmctld refuses its whole configuration over one such line. {meant} a NodeSet into `nodesets`, in a"
                    " program in place of its NodeSet(…), which the list doesn't know (`slinky docs own-repository 'A"
                    " NodeSet of its own'`), and a host into external.slurmdHosts. Or remove it from the list; nodesets: []"
                    " keeps the partition and its queue"
                )


def _default(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Of several lines with Default=YES slurmctld keeps the last one (``_build_single_partitionline_info``)."""
    own = {
        name: f"nodesets.{name}.partition.config" for name, nodeset in config.nodesets.items() if nodeset.partition.enabled
    }
    if config.slurmctld.pods:  # the operator sorts its lines (``buildNodeSetConf``); these are before extraConf's
        own = dict(sorted(own.items()))
    lines = own | {name: f"partitions.{name}.config" for name in config.partitions}
    parameters = partition_parameters(config)
    defaults = [
        (name, f"{path}.{key}")
        for name, path in lines.items()
        for key, value in parameters[path].items()
        if key.lower() == "default" and value.lower() in slurm_words.TRUE
    ]
    for name, path in defaults[:-1]:
        yield at(path).warning(
            f"has no effect: of several partitions with Default=YES slurmctld keeps the one whose line is the last, here"
            f" {name_of(defaults[-1][0])}. Remove it from {name_of(name)}, or from the other one",
            id="default-partition-twice",
        )


def _lines(config: StackConfig) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Lines of parameters by their settings, each with the file, or the kind of line of slurm.conf, that it goes to."""
    lines: dict[str, tuple[str, Mapping[str, str]]] = {"controller.extraConf": ("slurm.conf", config.controller.extra_conf)}
    lines |= {path: ("PartitionName", parameters) for path, parameters in partition_parameters(config).items()}
    lines |= {f"nodesets.{name}.extraConf": ("NodeName", nodeset.extra_conf) for name, nodeset in config.nodesets.items()}
    lines |= {f"{host.path}.config": ("NodeName", host.config) for host in config.external.slurmd_hosts}
    return lines | {"accounting.extraConf": ("slurmdbd.conf", config.accounting.extra_conf)}


def _twice(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Of two spellings of a parameter Slurm takes the last of the line, and the operator may sort them (run)."""
    for path, (_file, parameters) in _lines(config).items():
        for key, other in slurm_refusals.twice(parameters):
            yield at(f"{path}.{key}").error(
                f"is the same parameter as {name_of(other)}, which is there too. Slurm takes one of the two, and says so in"
                " its log at most. Keep the one that you mean"
            )


def _words(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Names and values that slurmctld can't read: it refuses its whole file, and ends where it is just starting. Options
    that it passes over are warnings."""
    written = {"controller.extraConf": OWNED, "accounting.extraConf": OWNED_BY_DATABASE}
    refused = {f"controller.extraConf.{key}" for key, _ in refused_parameters(config)}
    for path, (file, parameters) in _lines(config).items():
        words = slurm_words.words(config.slurm_release, file)
        daemon = "slurmdbd" if file == "slurmdbd.conf" else "slurmctld"
        for key, value in parameters.items():
            if key.lower() in written.get(path, {}) or f"{path}.{key}" in refused:
                continue  # refused already, with what to do
            if key not in words:
                yield at(f"{path}.{key}").error(
                    f"isn't a parameter that Slurm {config.slurm_release} reads in this place, and {daemon} refuses its"
                    f" whole file over one such name. {slurm_words.instead_of(key, file, config.slurm_release)}"
                )
            elif fault := words.fault(key, value):
                yield at(f"{path}.{key}").error(
                    f"{words.got(key, value)}; {daemon} takes {fault}, and"
                    f" {'ignores' if key.lower() in _PASSED_OVER else 'refuses its whole file over'} another"
                    f"{_switch(words, key, value)}"
                )
            else:
                yield from _options(words, f"{path}.{key}", value, config.slurm_release)


def _switch(words: slurm_words.Words, key: str, value: str) -> str:
    """What to write for yes and no where a number is taken, as for JobRequeue. No word of a list stands for none."""
    if words.unknown(key, value):
        return ". Write one of these, or remove it"
    if words.fault(key, "YES") and not words.fault(key, "1") and value.lower() in slurm_words.SWITCH:
        return f". Write {1 if value.lower() in slurm_words.TRUE else 0}: it is a number, and no switch"
    return ""


def _options(words: slurm_words.Words, path: str, value: str, release: str) -> Iterator[Finding]:
    key = path.rpartition(".")[2]
    for option in words.passed_over(key, value):
        hint, had = words.hint(key, option, "slurm.conf(5)"), word_of(option, words.all_options)
        yield at(path).warning(
            f"has {had}, which Slurm {release} passes over, at most with a line in its log ({hint}): what it"
            " says has no effect. Correct it, or remove it",
            id="slurm-ignores",
        )


def refused_parameters(config: StackConfig) -> Iterator[tuple[str, str]]:
    """Parameters of ``controller.extraConf`` that slurmctld refuses, alone or beside what the operator and this program
    write, each with the reason."""
    return slurm_refusals.refused(operator_conf.written(config), config.controller.extra_conf, config.slurm_numbers)


def _refused(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Values that slurmctld refuses, alone, or beside what the operator and this program write."""
    for key, why in refused_parameters(config):
        yield at(f"controller.extraConf.{key}").error(why)
    for key, why in slurm_refusals.refused_of_database(config.slurmdbd.extra_conf):
        yield at(f"accounting.extraConf.{key}").error(why)
    for path, parameters in partition_parameters(config).items():
        for key, why in slurm_refusals.refused_of_partition(parameters):
            yield at(f"{path}.{key}").error(why)


RULES = (
    _node_parameters,
    _partitions,
    _default,
    _words,
    _twice,
    _refused,
)
