"""Rules of files that a stack writes for Slurm's daemons: their parameters, and what a plugin has to find.

Source: ``cgroup.c``, ``gres.c`` (fatal over an unknown parameter), ``slurm_lua.c``, ``switch_record.c``, run_command.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from slinky_iac.conf_lines import conf_lines, includes, numbered
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.shown import name_of, word_of
from slinky_iac.config.slurm import words as slurm_words
from slinky_iac.config.slurm.node_groups import node_groups
from slinky_iac.config.slurm.reach import LUA_COMMENT, LUA_NAME
from slinky_iac.config.slurm.refusals import NAMESPACE, Conf
from slinky_iac.config.stack import StackConfig

_PAIR: Final = re.compile(r'(?<![A-Za-z0-9_.])([A-Za-z0-9_.]++)\s*+=\s*+("[^"]*"|[^\s"]+)')
_BOTH: Final = "slurmctld and slurmd end over it"
_SLURMCTLD: Final = "slurmctld ends over it at its start"
READ_FILES: Final = {
    "acct_gather.conf": _SLURMCTLD,
    "burst_buffer.conf": _SLURMCTLD,
    "cgroup.conf": _BOTH,
    "gres.conf": _BOTH,
    "helpers.conf": _BOTH,
    "job_container.conf": "slurmd ends over it, and no job runs on such a node",
    "oci.conf": "each job with --container ends over it",
    "topology.conf": _SLURMCTLD,
}
"""Files whose parameters the table has, and what follows of one that isn't there (run on 26.05.5 and 25.11.7; of
burst_buffer.conf and oci.conf read: ``bb_load_config``, ``get_oci_conf``)."""
_LOCAL: Final = re.compile(r"\blocal\s+(function\s+)?\w+")
"""What Lua keeps to the script: Slurm doesn't find it (run)."""
_LUA_TEXT: Final = re.compile(r"(?<!\[)(\"[^\"\n\\]*\"|'[^'\n\\]*')(?!\])")
"""A text on one line, which isn't a key of a table."""
_SUBMITTED: Final = "job_submit.lua"
_MPI: Final = "mpi.conf"
"""slurmd passes over what no loaded plugin reads there (``PARSE_FLAGS_IGNORE_NEW`` in mpi.c)."""
UNITS: Final = {"tree": "SwitchName", "block": "BlockName", "ring": "RingName"}
"""Plugins that read topology.conf, and what names a unit there: without one, slurmctld ends."""
_NEEDED: Final = (
    ("JobSubmitPlugins", "lua", ("job_submit.lua",), "slurmctld ends"),
    ("CliFilterPlugins", "lua", ("cli_filter.lua",), "every srun, sbatch and salloc fails"),
    ("JobCompType", "lua", ("jobcomp.lua",), "slurmctld ends"),
    ("BurstBufferType", "lua", ("burst_buffer.lua",), "slurmctld ends"),
    ("NodeFeaturesPlugins", "helpers", ("helpers.conf",), "slurmctld ends"),
    *(("TopologyPlugin", plugin, ("topology.conf", "topology.yaml"), "slurmctld ends") for plugin in UNITS),
    ("TopologyPlugin", "torus3d", ("topology.yaml",), "slurmctld ends"),
)
"""Parameter, plugin, the files of which it reads one, and what follows without."""
NAMESPACE_FILES: Final = {"tmpfs": "job_container.conf", "linux": "namespace.yaml"}
"""Plugins of NamespaceType that slurmd loads, and the file that each reads, fetched from slurmctld (``init``)."""
_GATHERED: Final = (
    ("EnergyXCC", "AcctGatherEnergyType", ("xcc",)),
    ("EnergyIPMI", "AcctGatherEnergyType", ("ipmi", "xcc")),
    ("ProfileHDF5", "AcctGatherProfileType", ("hdf5",)),
    ("ProfileInfluxDB", "AcctGatherProfileType", ("influxdb",)),
    ("InfinibandOFED", "AcctGatherInterconnectType", ("ofed",)),
    ("InterconnectOFED", "AcctGatherInterconnectType", ("ofed",)),
    ("SysfsInterfaces", "AcctGatherInterconnectType", ("sysfs",)),
)
"""Beginnings of names in acct_gather.conf, and the plugins that read them (``acct_gather_conf_init``: fatal for others)."""
_LARGE: Final = 700 << 10
_MOST: Final = (1 << 20) - (48 << 10)
"""Bytes in a ConfigMap: Kubernetes takes 1 MiB, and the operator's own lines and the object's metadata need some of it."""
_FUNCTIONS: Final = {
    "job_submit.lua": ("slurm_job_submit", "slurm_job_modify"),
    "cli_filter.lua": ("slurm_cli_setup_defaults", "slurm_cli_pre_submit", "slurm_cli_post_submit"),
    "jobcomp.lua": ("slurm_jobcomp_log_record",),
}
"""What a script must define, or its plugin isn't loaded (``req_fxns`` of each)."""
_NO_SYSTEMD: Final = ("ignoresystemd", "ignoresystemdonfailure")
"""Parameters of cgroup.conf, in lower case, by which slurmd makes its cgroups without systemd."""


def cgroups_hold(config: StackConfig) -> bool:
    """Whether jobs are held by cgroups: Slurm's default, which cgroup.conf may disable."""
    said = {key.lower(): value.lower() for _, key, value in pairs(config.slurmctld.config_files.get("cgroup.conf", ""))}
    return said.get("cgroupplugin") not in ("disabled", "cgroup/disabled")


def pairs(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, name and value of each parameter of a file of Slurm's."""
    return ((number, key, value) for number, line in numbered(text) for key, value in pairs_of(line))


def pairs_of(line: str) -> Iterator[tuple[str, str]]:
    """Name and value of each parameter of one line."""
    return ((match[1], match[2].strip('"')) for match in _PAIR.finditer(line))


def rows_of(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Each line's parameters by name, in lower case."""
    return ((number, {key.lower(): value for key, value in pairs_of(line)}) for number, line in numbered(text))


def includes_another(text: str) -> bool:
    """Whether a file of Slurm's reads another, of which it isn't known what it has."""
    return any(map(includes, conf_lines(text)))


def _parameters(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Names and values of the files that slurmctld and slurmd read."""
    for name, ends in READ_FILES.items():
        words, text = slurm_words.words(config.slurm_release, name), config.slurmctld.config_files.get(name, "")
        where = at(f"controller.configFiles.{name}")
        unread: dict[int, str] = {}
        for line, line_text in numbered(text):
            rest = _PAIR.sub("", line_text)
            if rest.strip() and not includes(rest):
                first = _PAIR.match(line_text)
                unread[line] = first[1] if first else ""
                quoted = f'. Where it is one value, write it in quotes: {name_of(first[1])}="…"' if first else ""
                yield where.error(
                    f"has on line {line} what isn't Key=Value: slurmctld and slurmd can't read the file{quoted}. Correct the"
                    f" line ({name}(5)), or begin it with # to leave it out"
                )
        heads = {"include", *map(str.lower, words.heads)}
        for line, head in _heads(text) if words.heads else ():
            if head in words and head.lower() not in heads:
                yield where.error(
                    f"has {name_of(head)} at the beginning of line {line}: {ends}. Write"
                    f" {' or '.join(words.heads)} first ({name}(5))"
                )
        for line, key, value in pairs(text):
            if unread.get(line, key) != key:
                continue  # a part of what stands without quotes, maybe
            if key not in words:
                yield where.error(
                    f"has {name_of(key)} on line {line}, which Slurm {config.slurm_release} doesn't read there: {ends}."
                    f" {slurm_words.instead_of(key, name, config.slurm_release)}"
                )
            elif fault := words.fault(key, value):
                yield where.error(
                    f"has {name_of(key)} on line {line}, which {words.got(key, value)}; Slurm takes {fault}. With another"
                    " value daemons don't start, or ignore it"
                )


def _heads(text: str) -> Iterator[tuple[int, str]]:
    """What each line begins with."""
    for number, line in numbered(text):
        if match := _PAIR.match(line):
            yield number, match[1]


def _unread_options(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Options, and whole parameters of mpi.conf, that daemons pass over without a word."""
    for name in (*READ_FILES, _MPI):
        words = slurm_words.words(config.slurm_release, name)
        for line, key, value in pairs(config.slurmctld.config_files.get(name, "")):
            where = at(f"controller.configFiles.{name}")
            for option in words.passed_over(key, value):
                had = word_of(option, words.all_options)
                yield where.warning(
                    f"has {had} in {name_of(key)} on line {line}, which Slurm {config.slurm_release} passes over"
                    f" ({words.hint(key, option, f'{name}(5)')}). Correct it, or remove it",
                    id="slurm-ignores",
                )
            if name == _MPI and key not in words:
                instead = slurm_words.instead_of(key, name, config.slurm_release)
                said = f"has {word_of(key, words.kinds)} on line {line}, which Slurm passes over. {instead}"
                yield where.warning(said, id="slurm-ignores")


def _namespaces(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    conf, files = Conf(config.slurmctld.extra_conf), config.slurmctld.config_files
    named = conf[NAMESPACE[0]] or conf[NAMESPACE[1]]
    file = NAMESPACE_FILES.get(conf.plugin(*NAMESPACE))
    if file and file not in files:
        yield at("controller.configFiles").error(
            f"lacks {file}, which {name_of(named)} of NamespaceType or JobContainerType reads: no slurmd starts without. Add"
            " it, or leave the parameter out"
        )


def _gathered(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """slurmctld ends over a parameter of a plugin that it doesn't load."""
    conf = Conf(config.slurmctld.extra_conf)
    known = slurm_words.words(config.slurm_release, "acct_gather.conf")
    for line, key, _value in pairs(config.slurmctld.config_files.get("acct_gather.conf", "")):
        rows = [row for row in _GATHERED if key.lower().startswith(row[0].lower())]
        loaded = any(conf.plugins(name).intersection(p) for _, name, p in rows)
        if not loaded and key in known and key.lower() != "include":
            named = [f"{name}: {name_of(plugins[0])}" for _, name, plugins in rows[:1]]
            way = "".join(f", or set controller.extraConf.{setting}" for setting in named)
            yield at("controller.configFiles.acct_gather.conf").error(
                f"has {name_of(key)} on line {line}, and no plugin that slurmctld loads reads it: it ends over it at its"
                f" start. Remove the line{way}"
            )


def _of_plugins(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Files that a plugin reads when it starts."""
    own, files = config.slurmctld.extra_conf, config.slurmctld.config_files
    conf = Conf(own)
    for parameter, plugin, needed, ends in _NEEDED:
        named = conf.plugins(parameter)
        key = next((spelling for spelling in own if spelling.lower() == parameter.lower()), parameter)
        if plugin in named and not any(_says(files, file, plugin) for file in needed):
            there = files.get(needed[0])
            lacking = [] if there is None else _lacking(there, needed[0])
            if lacking:
                yield at(f"controller.extraConf.{key}").error(
                    f"has {plugin}, and {needed[0]} lacks the function {' and '.join(lacking)}: {ends} without. Add it to"
                    " the script, not as a local one"
                )
                continue
            inside = [f"{UNITS[plugin]}="] if plugin in UNITS else _FUNCTIONS.get(needed[0], ())
            more = f" with {' and '.join(inside)}" if inside else ""
            yield at(f"controller.extraConf.{key}").error(
                f"has {plugin}, which reads {' or '.join(needed)}{more}: {ends} without. Add it to controller.configFiles"
            )


def _lua(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """slurmctld ends over a script that Lua can't load (``slurm_lua_loadscript``). Lua is judged by Lua alone: the trial."""
    named = Conf(config.slurmctld.extra_conf).plugins("JobSubmitPlugins")
    if "lua" in named and _SUBMITTED in config.slurmctld.config_files and not config.controller.trial.enabled:
        yield at(f"controller.configFiles.{_SUBMITTED}").info(
            "is Lua, which slurmctld alone judges, and it ends over a fault: before `pulumi up` run"
            " `slinky preflight --try`, or set controller.trial.enabled: true, which does that before each change",
            id="lua-untried",
        )


def _says(files: Mapping[str, str], file: str, plugin: str) -> bool:
    """Whether a file is there and says what the plugin needs."""
    text = files.get(file)
    if text is None:
        return False
    if file == "topology.conf":
        return any(key.lower() == UNITS[plugin].lower() for _, key, _ in pairs(text))
    return not _lacking(text, file)


def _lacking(text: str, file: str) -> list[str]:
    """Functions that a script's plugin needs, and that it doesn't define: a name in a text defines none."""
    named = set(LUA_NAME.findall(_LOCAL.sub("", _LUA_TEXT.sub("", LUA_COMMENT.sub("", text)))))
    return [function for function in _FUNCTIONS.get(file, ()) if function not in named]


def _without_cgroups(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """slurmd ends where cgroup.conf disables cgroups and a plugin uses them, ProctrackType's default among these (run on
    26.05.5). Operators up to 1.1 write plugins that use none then; from 1.2 on they write no plugin."""
    if cgroups_hold(config):
        return
    conf, pruned = Conf(config.slurmctld.extra_conf), config.operator_version.prunes_slurm_conf
    using = [key for key in ("ProctrackType", "TaskPlugin", "JobAcctGatherType") if "cgroup" in conf[key]]
    if pruned and not conf["ProctrackType"]:
        using.append("ProctrackType (proctrack/cgroup by default)")
    if using:
        yield at("controller.configFiles.cgroup.conf").error(
            f"disables cgroups, which {', '.join(using)} uses: no slurmd would start. Set ProctrackType:"
            " proctrack/linuxproc in controller.extraConf, and no plugin of cgroups, or leave CgroupPlugin out"
        )


def _without_systemd(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """slurmd asks systemd for the scope of its steps, and ends where there is none (``_init_slurmd_system_scope`` of
    cgroup_v2.c, ``_slurmd_init``). Workers get slurmctld's cgroup.conf; where the stack has none, every operator writes the
    line (:func:`slinky_iac.config.operator.conf.files`)."""
    text = config.slurmctld.config_files.get("cgroup.conf")
    if text is None or not config.nodesets or not cgroups_hold(config):
        return
    said = {key.lower(): value.lower() for _, key, value in pairs(text)}
    if said.get("cgroupplugin") == "cgroup/v1" or not slurm_words.TRUE.isdisjoint(map(said.get, _NO_SYSTEMD)):
        return
    yield at("controller.configFiles.cgroup.conf").error(
        "lacks IgnoreSystemd=yes: slurmd would ask systemd for its cgroups, which pods don't have, and no slurmd in a pod"
        " would start. Add the line IgnoreSystemd=yes"
    )


def _sizes(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Each is a ConfigMap: slurm.conf with a line for each outside host, configuration files, prologs, epilogs."""
    controller = config.slurmctld
    hosts = config.external.slurmd_hosts if controller.owns_conf else ()
    lines = sum(
        len(names) + len(address or "") + sum(map(len, (*parameters, *parameters.values()))) + 20
        for names, address, parameters in node_groups(hosts)
    )
    sizes = {"external.slurmdHosts": lines}
    for name, files in (
        ("configFiles", controller.config_files),
        ("prolog", controller.prolog),
        ("epilog", controller.epilog),
    ):
        sizes[f"controller.{name}"] = sum(len(text.encode()) for text in files.values())
    for path, size in sizes.items():
        if size > _MOST:
            yield at(path).error(
                f"makes {size >> 10} KiB, and Kubernetes takes {_MOST >> 10} KiB in one ConfigMap: it would refuse it. Leave"
                " large files in an image; for hosts, name equal ones by one hostlist, metal-[001-500], or keep slurmctld"
                " outside Kubernetes"
            )
        elif size > _LARGE:
            yield at(path).warning(
                f"fills {size >> 10} of the {_MOST >> 10} KiB that one ConfigMap may hold; above that Kubernetes refuses the"
                " update. Put large files into an image, write equal hosts as one hostlist (metal-[001-500]), or acknowledge"
                " this if they don't grow",
                id="large-files",
            )


def _tried(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """A trial of new files is one of files that this program writes."""
    trial = config.controller.trial
    if trial.enabled and not config.slurmctld.owns_conf:
        yield at("controller.trial.enabled").error(
            "true, and slurmctld is outside: this program doesn't write its slurm.conf, so an update has nothing to try."
            " Remove it. slurmctld's admin tries new lines by `try.sh` of the hand-off: run `slinky handoff --role slurmctld"
            " --out handoff`, then slurmctld/try.sh of that folder on slurmctld's host"
        )
    if trial.namespace is not None and not trial.enabled:
        yield at("controller.trial.namespace").ignored("controller.trial.enabled is false")


RULES = (
    _parameters,
    _unread_options,
    _namespaces,
    _gathered,
    _of_plugins,
    _lua,
    _without_cgroups,
    _without_systemd,
    _sizes,
    _tried,
)
