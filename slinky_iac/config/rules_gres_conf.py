"""Rules of gres.conf: over what slurmd ends, and what it leaves out, so that slurmctld drains the node.

Each was run as `slurmd -G`, which reads the file as slurmd does when it starts, on 26.05.5 and 25.11.7. Source:
``_parse_gres_config`` and ``_foreach_gres_conf`` of gres.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.gres import SHARED
from slinky_iac.config.node_gres import GRES_CONF, types_of
from slinky_iac.config.rules_slurm_files import lines_of, pairs
from slinky_iac.config.shown import name_of
from slinky_iac.config.slurm_refusals import Conf
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import HostlistError
from slinky_iac.hostlist import expand

_ENDS: Final = "slurmd ends over it, and no job runs on such a node"
_OFF: Final = frozenset({"", "off"})
_ANY: Final = ""
"""Stands for every node."""
_WHOLE: Final = re.compile(r"[0-9]{1,15}")


@dataclass(frozen=True)
class Record:
    """A line with Name."""

    line: int
    name: str
    """In lower case: Slurm compares so."""
    values: dict[str, str]
    """By parameters in lower case."""

    @property
    def file(self) -> str:
        """Its devices; empty without."""
        return self.values.get("file") or self.values.get("multiplefiles", "")

    @property
    def devices(self) -> int | None:
        """How many it names; None where that can't be read. Those of MultipleFiles are one."""
        names = _expanded(self.values.get("file", ""))
        return 1 if "multiplefiles" in self.values else None if names is None else len(names)

    @property
    def shape(self) -> tuple[str, bool, bool]:
        """What all lines of its name and node have in common: the name, and whether there are files and a type."""
        return self.name, bool(self.file), "type" in self.values


def _expanded(text: str) -> tuple[str, ...] | None:
    try:
        return expand(text) if text else ()
    except HostlistError:
        return None


def _records(text: str) -> list[Record]:
    rows = [(line, {key.lower(): value for _, key, value in pairs(each)}) for line, each in lines_of(text)]
    return [Record(line, row["name"].lower(), row) for line, row in rows if row.get("name")]


def _of_one(record: Record) -> Iterator[str]:
    """What is wrong with a line alone."""
    if {"file", "multiplefiles"} <= record.values.keys():
        yield "has File and MultipleFiles: keep one, MultipleFiles where all its files are one device"
        return
    if record.devices is None:
        yield f"has a File that is no list of files: write File=/dev/{record.name}[0-3], say"
        return
    flags = {each.lower() for each in record.values.get("flags", "").split(",")}
    if "no_gpu_env" in flags and any(each.endswith("_env") for each in flags - {"no_gpu_env"}):
        yield "has no_gpu_env in Flags beside another one that ends in _env: keep one"
    count = record.values.get("count", "")
    if record.file and _WHOLE.fullmatch(count) and record.name not in SHARED and int(count) != record.devices:
        named = "MultipleFiles, which are one device" if "multiplefiles" in record.values else f"{record.devices} in File"
        yield f"has Count={count} and {named}: name as many devices, or leave Count out"


def _of_two(records: Sequence[Record]) -> Iterator[str]:
    """What is wrong with lines of one resource and node: one sentence for each two shapes that meet on a node."""
    shapes: dict[tuple[str, bool, bool], dict[str, Record]] = {}
    told: set[frozenset[tuple[str, bool, bool]]] = set()
    for record in records:
        for host in _expanded(record.values.get("nodename", "")) or (_ANY,):
            for shape, hosts in shapes.items():
                other = hosts.get(host) or hosts.get(_ANY) or (next(iter(hosts.values())) if host == _ANY else None)
                pair = frozenset({shape, record.shape})
                if other is None or other is record or pair in told or not (said := _between(other, record)):
                    continue
                told.add(pair)
                yield said
            shapes.setdefault(record.shape, {}).setdefault(host, record)


def _between(one: Record, other: Record) -> str:
    """What is wrong with two lines of one node; empty where nothing is, as for two resources."""
    if one.name != other.name:
        return ""
    lines = f"has two lines of {name_of(one.name)}, {one.line} and {other.line}, of which"
    if bool(one.file) != bool(other.file):
        return f"{lines} line {(one if one.file else other).line} alone has File: give both one, or none"
    if one.shape != other.shape:
        return f"{lines} line {(one if 'type' in one.values else other).line} alone has Type: give both one, or none"
    if not one.file and "type" not in one.values:
        return f"{lines} none has Type or File, so one is the other again: keep one, with the whole Count"
    return ""


def _lines(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    path, records = at(f"controller.configFiles.{GRES_CONF}"), _records(config.slurmctld.config_files.get(GRES_CONF, ""))
    for record in records:
        for said in _of_one(record):
            yield path.error(f"on line {record.line}, {said}. {_ENDS} (gres.conf(5))")
    for said in _of_two(records):
        yield path.error(f"{said}. {_ENDS} (gres.conf(5))")


def _left_out(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Lines of which slurmd makes nothing: of a resource that GresTypes doesn't name, or of GPUs that nothing finds."""
    text = config.slurmctld.config_files.get(GRES_CONF, "")
    given = Conf(config.slurmctld.extra_conf).words("GresTypes")
    known = {each.lower() for each in (*given, *types_of(config), "gpu")}
    path = at(f"controller.configFiles.{GRES_CONF}")
    found = {value.lower() for _, key, value in pairs(text) if key.lower() == "autodetect"} <= _OFF
    for record in _records(text):
        if record.name not in known:
            yield path.warning(
                f"has Name={name_of(record.values['name'])} on line {record.line}, and no node of the stack has such a gres"
                f" (there are: {', '.join(map(name_of, sorted(known)))}): slurmd passes over the line. Correct the name, add"
                " it to gres of a NodeSet, or remove the line",
                id="slurm-ignores",
            )
        elif record.name == "gpu" and not record.file and found:
            yield path.warning(
                f"has GPUs without File on line {record.line}, and no AutoDetect: slurmd passes over them, and the node is"
                " drained, as it has fewer than slurmctld expects. Add File, or the line AutoDetect=nvidia",
                id="gpus-without-gres-conf",
            )


RULES = (_lines, _left_out)
