"""`python -m lab.slurm_table 25.11=TREE 26.05=TREE`: what Slurm's sources say of its configuration files, as JSON.

Each TREE is a folder with Slurm's sources of that release. Printed, for ``slinky_iac/config/slurm_table.json``: parameters
by file and kind of value, plugins by kind, and the words of parameters that take a closed list. Names only, no text.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

CONF: Final = "src/common/read_config.c"
_TOPOLOGY: Final = "src/plugins/topology"
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
}
"""Each kind of line: the source files, and the tables of its parameters there: of what begins a line, and of the rest. That
of a plugin is left out where a release lacks the plugin."""
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
LIMITS: Final = ("src/common/slurm_rlimits_info.c", "PropagateResourceLimits")
RESET: Final = "PriorityUsageResetPeriod"
_KINDS: Final = {
    "BOOLEAN": "switch", "UINT16": "16", "UINT32": "32", "UINT64": "64", "FLOAT": "decimal", "DOUBLE": "decimal",
    "LONG_DOUBLE": "decimal", "LONG": "64",
}  # fmt: skip
_ROW: Final = re.compile(r'\{\s*"(\w+)"\s*,\s*S_P_(\w+)')
_COMPARED: Final = re.compile(r'xstrn?casecmp\(\s*\w+,\s*"([^"]+)"')


def table(tree: Path) -> dict[str, Any]:
    """What one release's sources say."""
    found: dict[str, Any] = {name: _parameters(tree, places) for name, places in FILES.items()}
    words = {key: _compared(_function(tree / file, name)) for key, (file, name) in FUNCTIONS.items()}
    words[LIMITS[1]] = re.findall(r'RLIMIT_\w+,\s*"(\w+)"', (tree / LIMITS[0]).read_text())
    text = (tree / CONF).read_text()
    begins = text.index(f'"{RESET}", hashtbl')
    words[RESET] = _compared(text[begins : text.index("SLURM_ERROR", begins)])
    plugins = {kind.name: sorted(_plugins(kind)) for kind in sorted((tree / "src/plugins").iterdir()) if kind.is_dir()}
    found["words"] = {key: " ".join(sorted({each.lower() for each in values})) for key, values in sorted(words.items())}
    found["plugins"] = {kind: " ".join(names) for kind, names in plugins.items() if names}
    return found


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
