"""Rules of gres.conf: over what slurmd ends, and what it leaves out, so that slurmctld drains the node.

Each was run as `slurmd -G`, which reads the file as slurmd does when it starts, on 26.05.5 and 25.11.7. Source:
``_parse_gres_config`` and ``_foreach_gres_conf`` of gres.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from slinky_iac.conf_lines import numbered
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.operator.conf import GRES_CONF
from slinky_iac.config.rules.slurm_files import pairs_of, rows_of
from slinky_iac.config.shown import name_of, shown
from slinky_iac.config.slurm.gres import SHARED, GresItem
from slinky_iac.config.slurm.node_gres import types_of
from slinky_iac.config.slurm.refusals import Conf
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import HostlistError
from slinky_iac.hostlist import expand

_ENDS: Final = "slurmd ends over it, and no job runs on such a node"
_OFF: Final = frozenset({"", "off"})
_ANY: Final = ""
"""Stands for every node."""
_WHOLE: Final = re.compile(r"[0-9]{1,15}")
_BARE_RANGE: Final = re.compile(r"(.*?[^0-9])([0-9]+-[0-9]+)")
"""A range outside brackets, which is part of one file's name."""
_ENV: Final = "_env"
"""End of the flags that say which variables name a job's devices."""


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
        return self.listed or self.values.get("multiplefiles", "")

    @property
    def listed(self) -> str:
        """What File names, by either of its names (``_parse_gres_config``)."""
        return self.values.get("file") or self.values.get("files", "")

    @property
    def hosts(self) -> tuple[str, ...]:
        """Its nodes; one that stands for every node where it names none, or none that can be read."""
        return _expanded(self.values.get("nodename", "")) or (_ANY,)

    @property
    def variables(self) -> frozenset[str]:
        """Flags that say by which variables jobs know their devices."""
        return frozenset(flag for flag in self.values.get("flags", "").lower().split(",") if flag.endswith(_ENV))

    @property
    def devices(self) -> int | None:
        """How many it names; None where that can't be read. Those of MultipleFiles are one."""
        names = _expanded(self.listed)
        return 1 if "multiplefiles" in self.values else None if names is None else len(names)

    @property
    def count(self) -> int:
        """What it counts; 1, or the number of its files, where it doesn't say it."""
        if item := GresItem.parse(f"{self.name}:{self.values.get('count', '')}"):
            return item.count
        return self.devices or 1

    @property
    def shape(self) -> tuple[str, bool, bool]:
        """What all lines of its name and node have in common: the name, and whether there are files and a type."""
        return self.name, bool(self.file), "type" in self.values


def _expanded(text: str) -> tuple[str, ...] | None:
    try:
        return expand(text) if text else ()
    except HostlistError:
        return None


def records_of(text: str) -> list[Record]:
    """Lines with Name of a gres.conf."""
    return [Record(line, row["name"].lower(), row) for line, row in rows_of(text) if row.get("name")]


def finds_devices(text: str) -> bool:
    """Whether slurmd looks for devices itself by any line."""
    return not autodetects_of(text) <= _OFF


def autodetects_of(text: str) -> set[str]:
    """Each AutoDetect by which slurmd looks, in lower case: it passes over one in a line that begins with Name
    (``_parse_gres_config``)."""
    return {value for _, key, value in _autodetects(text) if key != "name"}


def _autodetects(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, what the line begins with, and value of each AutoDetect, in lower case."""
    for line, line_text in numbered(text):
        pairs = [(key.lower(), value.lower()) for key, value in pairs_of(line_text)]
        yield from ((line, pairs[0][0], value) for key, value in pairs if key == "autodetect")


def _of_one(record: Record) -> Iterator[str]:
    """What is wrong with a line alone."""
    if record.listed and "multiplefiles" in record.values:
        yield "has File and MultipleFiles: keep one, MultipleFiles where all its files are one device"
        return
    if record.devices is None:
        yield f"has a File that isn't a list of files: write File=/dev/{record.name}[0-3], say"
        return
    if bare := _BARE_RANGE.fullmatch(record.listed):
        yield f"has {bare[2]} without brackets in File, which names one file: write [{bare[2]}]"
        return
    if "no_gpu_env" in record.variables and len(record.variables) > 1:
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
        for host in record.hosts:
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


def _devices_twice(records: Sequence[Record]) -> Iterator[str]:
    """A device that two lines of one resource and node name: one sentence for each two lines (``_foreach_gres_conf``)."""
    first: dict[tuple[str, str, str], int] = {}
    told: set[tuple[int, int]] = set()
    for record in records:
        if "multiplefiles" in record.values:
            continue
        for host in record.hosts:
            for device in _expanded(record.file) or ():
                line = first.get((record.name, host, device), first.get((record.name, _ANY, device), 0))
                first.setdefault((record.name, host, device), record.line)
                if line and (line, record.line) not in told:
                    told.add((line, record.line))
                    both = f"on lines {line} and {record.line}" if line != record.line else f"twice on line {line}"
                    yield f"names {shown(device)} {both} for {name_of(record.name)}: each device is named once on a node"


def _variables_differ(records: Sequence[Record]) -> Iterator[str]:
    """Two lines of one resource and node by which jobs know devices differently. A line without such flags has all
    variables where it is the first of a GPU, and else those of the line before (``_parse_gres_config``)."""
    before: dict[tuple[str, str], tuple[frozenset[str] | None, int]] = {}
    for record in records:
        for host in record.hosts:
            key = (record.name, host)
            known, line = before.get(key, before.get((record.name, _ANY), (None, 0)))
            if record.variables and line and known != record.variables:
                yield (
                    f"has two lines of {name_of(record.name)}, {line} and {record.line}, with other Flags that end in"
                    f" {_ENV}: give all lines of a node the same"
                )
                return
            if record.variables or (not line and record.name == "gpu"):
                before[key] = (record.variables or None, record.line)


def _shared_alone(text: str, records: Sequence[Record]) -> Iterator[tuple[Record, str]]:
    """What divides GPUs, where nothing finds a GPU (gres_c_s.c: "failed to merge SHARED and SHARING configuration")."""
    if not finds_devices(text) and not any(record.name == "gpu" and record.file for record in records):
        yield from (
            (record, f"has {record.name}, which divides GPUs, and no line with Name=gpu and File, nor AutoDetect: add one")
            for record in records
            if record.name in SHARED
        )


def _lines(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    text = config.slurmctld.config_files.get(GRES_CONF, "")
    path, records = at(f"controller.configFiles.{GRES_CONF}"), records_of(text)
    for record in records:
        for said in _of_one(record):
            yield path.error(f"on line {record.line}, {said}. {_ENDS} (gres.conf(5))")
    for record, said in _shared_alone(text, records):
        yield path.error(f"on line {record.line}, {said}. {_ENDS} (gres.conf(5))")
    for said in (*_of_two(records), *_variables_differ(records)):
        yield path.error(f"{said}. {_ENDS} (gres.conf(5))")
    for said in _devices_twice(records):
        yield path.error(f"{said}. slurmd ends over it, or leaves the second out (gres.conf(5))")


def _left_out(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Lines of which slurmd makes nothing: of a resource that GresTypes doesn't name, or of GPUs that nothing finds."""
    text = config.slurmctld.config_files.get(GRES_CONF, "")
    given = Conf(config.slurmctld.extra_conf).words("GresTypes")
    known = {gres_type.lower() for gres_type in (*given, *types_of(config), "gpu")}
    path = at(f"controller.configFiles.{GRES_CONF}")
    for record in records_of(text):
        if record.name not in known:
            yield path.warning(
                f"has Name={name_of(record.values['name'])} on line {record.line}, and no node of the stack has such a gres"
                f" (there are: {', '.join(map(name_of, sorted(known)))}): slurmd passes over the line. Correct the name, add"
                " it to gres of a NodeSet, or remove the line",
                id="slurm-ignores",
            )
        elif record.name == "gpu" and not record.file and not finds_devices(text):
            yield path.warning(
                f"has GPUs without File on line {record.line}, and no AutoDetect: slurmd passes over them, and the node is"
                " drained, as it has fewer than slurmctld expects. Add File, or the line AutoDetect=nvidia",
                id="gpus-without-gres-conf",
            )
    for number, head, value in _autodetects(text):
        if head == "name":
            yield path.warning(
                f"has AutoDetect={name_of(value)} on line {number}, which begins with Name: slurmd passes over it there."
                " Write it on a line of its own, or behind NodeName at the beginning",
                id="slurm-ignores",
            )


RULES = (_lines, _left_out)
