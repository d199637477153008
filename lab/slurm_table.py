"""`python -m lab.slurm_table 25.11=TREE 26.05=TREE`: what Slurm's sources say of its configuration files, as JSON.

Each TREE is a folder with Slurm's sources of that release. Printed, for ``slinky_iac/config/slurm/table.json``: parameters
by file and kind of value, plugins by kind, and the words of parameters that take a closed list. Names only, no text.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

CONF: Final = "src/common/read_config.c"
_TOPOLOGY: Final = "src/plugins/topology"
_HELPERS: Final = "src/plugins/node_features/helpers/node_features_helpers.c"
_TMPFS: Final = "src/plugins/namespace/tmpfs/read_jcconf.c"
FILES: Final = {
    "slurm.conf": ((CONF, "slurm_conf_options"),),
    "PartitionName": ((CONF, "_partition_options"),),
    "NodeName": ((CONF, "_nodename_options"),),
    "slurmdbd.conf": (("src/slurmdbd/read_config.c", "options"),),
    "cgroup.conf": (("src/interfaces/cgroup.c", "options"),),
    "gres.conf": (("src/interfaces/gres.c", "_gres_conf_options"), ("src/interfaces/gres.c", "_gres_options")),
    "topology.conf": (
        (f"{_TOPOLOGY}/tree/switch_record.c", "switch_options"),
        (f"{_TOPOLOGY}/tree/switch_record.c", "_switch_options"),
        (f"{_TOPOLOGY}/block/block_record.c", "block_options"),
        (f"{_TOPOLOGY}/block/block_record.c", "_block_options"),
        (f"{_TOPOLOGY}/ring/ring_record.c", "ring_options"),
    ),
    "helpers.conf": ((_HELPERS, "conf_options"), (_HELPERS, "feature_options")),
    "job_container.conf": ((_TMPFS, "options"), (_TMPFS, "ns_options")),
    "mpi.conf": (("src/plugins/mpi/pmix/mpi_pmix.c", "pmix_options"),),
    "oci.conf": (("src/common/oci_config.c", "options"),),
    "burst_buffer.conf": (("src/plugins/burst_buffer/common/burst_buffer_common.c", "bb_options"),),
    "acct_gather.conf": tuple(
        (f"src/plugins/acct_gather_{kind}/{name}/acct_gather_{kind}_{name}.c", "options")
        for kind, name in (
            *(("profile", "hdf5"), ("profile", "influxdb"), ("interconnect", "ofed"), ("interconnect", "sysfs")),
            *(("energy", "ipmi"), ("energy", "xcc")),
        )
    ),
}
"""Each kind of line: the source files, and the tables of its parameters there: of what begins a line, and of the rest. That
of a plugin is left out where a release lacks the plugin."""
_INSIDE: Final = frozenset(
    {"_gres_options", "_switch_options", "_block_options", "feature_options", "ns_options"}
)  # fmt: skip
"""Tables of parameters that stand behind the one that begins a line."""
YAML: Final = {
    "topology.yaml": {
        "": "TOPOLOGY_CONF",
        "block": "TOPOLOGY_BLOCK_CONFIG",
        "blocks": "BLOCK_CONFIG",
        "flat": "TOPOLOGY_FLAT_CONFIG",
        "ring": "TOPOLOGY_RING_CONFIG",
        "rings": "RING_CONFIG",
        "torus3d": "TOPOLOGY_TORUS3D_CONFIG",
        "toruses": "TORUS3D_CONFIG",
        "placements": "TORUS3D_PLACEMENT",
        "regions": "TORUS3D_REGION",
        **dict.fromkeys(("anchor", "anchor_seed", "anchor_spacing", "dims"), "TORUS3D_DIMS"),
        "tree": "TOPOLOGY_TREE_CONFIG",
        "switches": "SWITCH_CONFIG",
    },
    "namespace.yaml": {
        "": "NAMESPACE_FULL_CONF",
        "defaults": "NAMESPACE_CONF",
        "dir_confs": "NAMESPACE_DIR_CONF",
        "node_confs": "NAMESPACE_NODE_CONF",
        "options": "NAMESPACE_CONF",
    },
}
"""Each file in YAML: the objects that it may have by the name that they stand under, the whole file under none, each with
the parser of the newest data parser that reads its names. One that a release lacks is left out."""
OPTIONS: Final = {
    "AccountingStoreFlags": "",
    "BcastParameters": "bcast_parameters",
    "CommunicationParameters": "comm_params",
    "CpuFreqGovernors": "",
    "DependencyParameters": "dependency_params",
    "JobAcctGatherFrequency": "",
    "JobAcctGatherParams": "job_acct_gather_params",
    "LaunchParameters": "launch_params",
    "PreemptParameters": "preempt_params",
    "PriorityFlags": "",
    "PrivateData": "",
    "SchedulerParameters": "sched_params",
    "SlurmctldParameters": "slurmctld_params",
    "SlurmdParameters": "slurmd_params",
    "TopologyParam": "topology_param",
    "X11Parameters": "x11_params",
}
"""Parameters of slurm.conf with a list of options, of which daemons pass over those that they don't know, and the field that
the code looks for options in. The options are these, and those that slurm.conf(5) has."""
OPTIONS_OF: Final = {"slurmdbd.conf": {"Parameters": "parameters"}}
"""The same of other files; these options are in the code alone."""
DEFS: Final = "src/common/slurm_protocol_defs.c"
FUNCTIONS: Final = {
    "AccountingStorageEnforce": (CONF, "_validate_accounting_storage_enforce"),
    "DebugFlags": (CONF, "debug_str2flags"),
    "EnforcePartLimits": (DEFS, "parse_part_enforce_type"),
    "PreemptMode": (DEFS, "preempt_mode_num"),
    "PrologFlags": (CONF, "prolog_str2flags"),
    "ReconfigFlags": (CONF, "reconfig_str2flags"),
    "SelectTypeParameters": (CONF, "_parse_select_type_param"),
    "SlurmctldDebug": (DEFS, "log_string2num"),
}
"""Parameters that take a closed list: the function that compares each word, and refuses another."""
VALUES: Final = {
    "DependencyParameters": "dependency_params",
    "PreemptParameters": "preempt_params",
    "SchedulerParameters": "sched_params",
    "SlurmctldParameters": "slurmctld_params",
}
"""Parameters of slurm.conf of whose options the table has the values, and the field that the code looks for them in."""
MANUAL: Final = "doc/man/man5/slurm.conf.5"
PARSERS: Final = "src/plugins/data_parser/v*/parsers.c"
PASSED_OVER: Final = {
    "slurm.conf": {"HealthCheckNodeState": (CONF, "_health_node_state")},
    "gres.conf": {"Flags": ("src/interfaces/gres.c", "gres_flags_parse")},
    "NodeName": {"CpuBind": ("src/common/slurm_resource_info.c", "xlate_cpu_bind_str")},
    "PartitionName": {"CpuBind": ("src/common/slurm_resource_info.c", "xlate_cpu_bind_str")},
}
"""The same with the function that compares each option, of other files and lines too."""
ASKED: Final = ("slurm.conf", "slurmdbd.conf", "cgroup.conf")
"""Files whose parameters one source file both names and asks for: what it names alone is read, and does nothing."""
STATES: Final = (
    "SuspendExcStates",
    ("src/slurmctld/power_save.c", r"excludable_state_flags = ([^;]*);"),
    (DEFS, r"node_state_flags\[\] = \{(.*?)\n\};"),
)
"""A parameter with words for states of nodes: where the code has those that it takes, and the word of each. It takes DOWN,
which is none of these flags, too."""
_RENAMED: Final = re.compile(r'"(\w+) (?:parameter )?has (?:been (?:renamed to|replaced with)|moved to) (\w+)')
_DEFUNCT: Final = re.compile(r'The (\w+) option \\"(\w+)\\" is defunct')
_UNASKED: Final = re.compile(r'\{\s*"\w+"\s*,\s*S_P_\w+\s*(?:,\s*_defunct_option\s*)?\}')
"""A row of a table of parameters without a function that takes the value."""
_OBSOLETE: Final = re.compile(r'"(\w+) option is obsolete')
LIMITS: Final = ("src/common/slurm_rlimits_info.c", "PropagateResourceLimits")
RESET: Final = "PriorityUsageResetPeriod"
LOG_TIMES: Final = "LogTimeFormat"
"""Parameters whose words are compared where the file is read."""
_KINDS: Final = {
    "BOOLEAN": "switch", "UINT16": "16", "UINT32": "32", "UINT64": "64", "FLOAT": "decimal", "DOUBLE": "decimal",
    "LONG_DOUBLE": "decimal", "LONG": "64",
}  # fmt: skip
_NEAR: Final = 500
"""Characters behind a look for an option in which its number is read and compared."""
_DEFINED: Final = re.compile(
    r"^[#][ \t]*define\s+(\w+)\s+\(?((?:0x[0-9a-fA-F]+|[0-9* ]|MAX_BF_MAX_JOB_TEST)+)\)?\s*;?\s*(?:/\*.*)?$",
    re.MULTILINE,
)
_ROW: Final = re.compile(r'\{\s*"(\w+)"\s*,\s*S_P_(\w+)')
_ENTRY: Final = re.compile(r"^\.[TI]P.*\n(?:\.\\\".*\n)*\\fB(\w+)", re.MULTILINE)
"""What an entry of a manual is about."""
_COMPARED: Final = re.compile(r'xstrn?case(?:cmp|str)\(\s*\w+,\s*"([^"]+)"')


def table(tree: Path) -> dict[str, Any]:
    """What one release's sources say."""
    found: dict[str, Any] = {name: _parameters(tree, places) for name, places in FILES.items()}
    heads = {name: [row for row in places if row[1] not in _INSIDE] for name, places in FILES.items()}
    heads = {name: rows for name, rows in heads.items() if len(rows) < len(FILES[name])}
    found["heads"] = {name: " ".join(_names(_parameters(tree, rows))) for name, rows in heads.items()}
    words = {key: _compared(_function(tree / file, name)) for key, (file, name) in FUNCTIONS.items()}
    words[LIMITS[1]] = re.findall(r'RLIMIT_\w+,\s*"(\w+)"', (tree / LIMITS[0]).read_text())
    text = (tree / CONF).read_text()
    begins = text.index(f'"{RESET}", hashtbl')
    words[RESET] = _compared(text[begins : text.index("SLURM_ERROR", begins)])
    plugins = {kind.name: sorted(_plugins(kind)) for kind in sorted((tree / "src/plugins").iterdir()) if kind.is_dir()}
    found["words"] = {key: " ".join(sorted({each.lower() for each in values})) for key, values in sorted(words.items())}
    manual = (tree / MANUAL).read_text(errors="replace")
    code = "\n".join(file.read_text(errors="replace") for file in sorted((tree / "src").rglob("*.[ch]")))
    known = _names(found["slurm.conf"])
    options = {key: sorted(_described(manual, key, known) | _looked_for(code, field)) for key, field in OPTIONS.items()}
    found["values of slurm.conf"] = {key: " ".join(_bounded(tree, field)) for key, field in VALUES.items()}
    found["options of slurm.conf"] = {key: " ".join(each) for key, each in options.items()}
    begins = text.index(f'"{LOG_TIMES}", hashtbl')
    found["options of slurm.conf"][LOG_TIMES] = " ".join(sorted(_compared(text[begins : text.index("xfree", begins)])))
    for kind, functions in PASSED_OVER.items():
        of_kind = {key: sorted(set(map(str.lower, _compared(_function(tree / f, n))))) for key, (f, n) in functions.items()}
        found.setdefault(f"options of {kind}", {}).update({key: " ".join(each) for key, each in of_kind.items()})
    if states := _states(tree):
        found["options of slurm.conf"][STATES[0]] = " ".join(states)
    for kind, fields in OPTIONS_OF.items():
        found[f"options of {kind}"] = {key: " ".join(sorted(_looked_for(code, field))) for key, field in fields.items()}
    found |= {file: _objects(tree, parsers) for file, parsers in YAML.items()}
    found["plugins"] = {kind: " ".join(names) for kind, names in plugins.items() if names}
    unread = {file: " ".join(_unread(tree, file, _names(found[file]))) for file in ASKED}
    found["unread"] = {file: names for file, names in unread.items() if names}
    found["renamed"] = dict(_RENAMED.findall(text))
    found["defunct options"] = dict(_DEFUNCT.findall(text))
    return found


def _unread(tree: Path, file: str, names: Sequence[str]) -> Iterator[str]:
    """Parameters that the code has in a table and nowhere asks for, and those that it calls obsolete."""
    texts = [(tree / place).read_text() for place, _ in FILES[file] if (tree / place).exists()]
    asked = "\n".join(_UNASKED.sub("", each) for each in texts)
    obsolete = {name for each in texts for name in _OBSOLETE.findall(each)}
    yield from (name for name in names if f'"{name}"' not in asked or name in obsolete)


def _states(tree: Path) -> list[str]:
    """Words of :data:`STATES`, in lower case; none where the code has another shape."""
    (taken_in, taken), (words_in, words) = STATES[1:]
    if not (tree / taken_in).exists():
        return []
    flags = re.search(taken, (tree / taken_in).read_text())
    spelt = re.search(words, (tree / words_in).read_text(), re.DOTALL)
    if flags is None or spelt is None:
        raise SystemExit(f"{tree} has no states of nodes in {taken_in} and {words_in}: look where they went")
    known = dict(re.findall(r'\{\s*(NODE_STATE_\w+),\s*"(\w+)"', spelt[1]))
    return sorted({"down", *(known[each].lower() for each in re.findall(r"NODE_STATE_\w+", flags[1]) if each in known)})


def _names(kinds: Mapping[str, str]) -> list[str]:
    return sorted(name for names in kinds.values() for name in names.split())


def _parameters(tree: Path, places: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Names by kind of value, the kinds in order."""
    kinds: dict[str, set[str]] = {}
    for place, name in places:
        file = tree / place
        if place.startswith("src/plugins") and not file.exists():
            continue
        declared = re.search(rf"s_p_options_t {name}\[\] = \{{(.*?)\{{\s*NULL", file.read_text(), re.DOTALL)
        if declared is None:
            raise SystemExit(f"{file} has no table {name}: is that Slurm's source tree, of the release that was named?")
        for key, kind in _ROW.findall(declared[1]):
            kinds.setdefault(_KINDS.get(kind, "text"), set()).add(key)
    return {kind: " ".join(sorted(kinds[kind], key=str.lower)) for kind in sorted(kinds)}


def _objects(tree: Path, parsers: Mapping[str, str]) -> dict[str, str]:
    """Names by object of a file in YAML."""
    text = max(tree.glob(PARSERS), key=lambda file: file.parent.name).read_text()
    found = {}
    for name, parser in parsers.items():
        declared = re.search(rf"PARSER_ARRAY\({parser}\)\[\] = \{{(.*?)\n\}};", text, re.DOTALL)
        if declared is not None:
            found[name] = " ".join(sorted(re.findall(r'add_c?parse\w*\([^"\n]*"(\w+)"', declared[1])))
    return found


def _looked_for(code: str, field: str) -> set[str]:
    """Options that code looks for in a field of the configuration, in lower case."""
    call = rf'(?:conf_get_opt_str|xstrcasestr|xstrstr)\(\s*(?:\w+(?:\.|->))*{field}\s*,\s*"(\w+)'
    return {each.lower() for each in re.findall(call, code)} if field else set()


def _bounded(tree: Path, field: str) -> Iterator[str]:
    """Options of a field: ``name`` for one that is there or not, ``name=LEAST..MOST`` for one with a number, with more
    numbers behind a comma and an end open where the code has none, ``name=time`` for a time of Slurm's, ``name=a|b`` for
    words. What the code compares with a variable counts as open."""
    texts = [file.read_text(errors="replace") for file in sorted((tree / "src").rglob("*.[ch]"))]
    values = dict(_DEFINED.findall("\n".join(texts)))
    found: dict[str, str] = {}
    for text in texts:
        for call in re.finditer(rf'(?:conf_get_opt_str|xstrcasestr)\(\s*(?:\w+(?:\.|->))*{field}\s*,\s*"(\w+)(=?)"', text):
            said, bounds = call[1].lower(), f"={_bounds(text[call.end() :], values)}" if call[2] else ""
            if len(bounds) >= len(found.get(said, "")):
                found[said] = bounds
    return (f"{name}{found[name]}" for name in sorted(found))


def _bounds(code: str, values: Mapping[str, str]) -> str:
    """How the code behind a look for an option reads and bounds it."""
    near = re.split(r"xstrcasestr|conf_get_opt_str", code[:_NEAR])[0]
    read = re.search(r"(\w+)\s*=\s*(?:\(\w+\)\s*)?(?:ato\w+|strtou?ll?)\(([^;]*);", near)
    timed = near.find("time_str2secs")
    if timed >= 0 and (read is None or timed < read.start()):
        return "time"
    if read is None:
        return "|".join(sorted(re.findall(r'xstrncasecmp\(\w+, "(\w+)"', near))) or ".."
    name, least, most, more = read[1], "", "", ""
    factor = re.search(r"\*\s*(\d+)", read[2])
    scale = int(factor[1]) if factor else 1
    for test in re.finditer(r"\bif \(([^;{]*)\)\s*\{?\s*(\w+)", code[read.end() : read.end() + _NEAR]):
        refuses = test[2] in ("error", "fatal")
        for sign, text in re.findall(rf"\b{name}\b\s*(<=|>=|<|>|==|!=)\s*([\w* -]+)", test[1]):
            number = _constant(text, values)
            if number is None:
                continue
            if sign in ("==", "!="):
                more = f",{number}" if number < 0 else more
            elif sign[0] == ("<" if refuses else ">"):
                least = least or str(-(-(number + (sign in ("<=", ">"))) // scale))
            elif refuses:
                most = most or str((number - (sign == ">=")) // scale)
        if refuses and not least and re.search(rf"!{name}\b", test[1]):
            least = "1"
        if refuses and (least or most):
            break
    return f"{least}..{most}{more}"


def _constant(text: str, values: Mapping[str, str]) -> int | None:
    """A number of the code: digits, a name that is defined as one, and products of these."""
    product = 1
    for part in text.strip("() ").split("*"):
        word = part.strip("() ")
        word = values.get(word, word).strip()
        if "*" in word:
            inner = _constant(word, values)
            if inner is None:
                return None
            product *= inner
        elif re.fullmatch(r"-?\d+|0x[0-9a-fA-F]+", word):
            product *= int(word, 0)
        else:
            return None
    return product


def _described(manual: str, key: str, known: Collection[str]) -> set[str]:
    """Options that a manual has below a parameter, in lower case: until the next parameter of ``known``."""
    found, inside = set(), False
    for name in _ENTRY.findall(manual):
        if name == key or name in known:
            inside = name == key
        elif inside:
            found.add(name.lower())
    return found


def _function(file: Path, name: str) -> str:
    found = re.search(rf"^\w[^\n;]*\b{name}\([^;{{]*\{{?\n.*?^\}}", file.read_text(), re.DOTALL | re.MULTILINE)
    if found is None:
        raise SystemExit(f"{file} has no function {name}: Slurm's sources have changed, look where it went")
    return found[0]


def _compared(text: str) -> list[str]:
    return _COMPARED.findall(text)


def _plugins(kind: Path) -> Iterator[str]:
    """Folders of a kind; those whose name says so hold what the others share."""
    yield from (each.name for each in kind.iterdir() if each.is_dir() and not each.name.startswith("common"))


def main(arguments: list[str]) -> None:
    """Print the table of all releases that are named."""
    trees: Mapping[str, Path] = {release: Path(tree) for release, _, tree in (each.partition("=") for each in arguments)}
    if not trees or not all(re.fullmatch(r"\d\d\.\d\d", release) for release in trees):
        raise SystemExit("usage: python -m lab.slurm_table RELEASE=TREE …, for example 26.05=/src/slurm")
    print(json.dumps({release: table(trees[release]) for release in sorted(trees)}, indent=1, sort_keys=True))


if __name__ == "__main__":
    main(sys.argv[1:])
