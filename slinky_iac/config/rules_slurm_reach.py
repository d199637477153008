"""Rules of what Slurm's parameters and files reach: programs, libraries, other hosts, places, bounds of time.

The tables are those of :mod:`.slurm_reach`, by which the policies judge every stack; there a site declares what it wants all
the same, here the stack acknowledges it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from slinky_iac.config import slurm_reach as tables
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.rules_secrets import OWNED_BY_DATABASE
from slinky_iac.config.shown import name_of, shown
from slinky_iac.config.slurm_owned import OWNED
from slinky_iac.config.stack import StackConfig

RUNS: Final = "slurm-runs"
SENDS: Final = "slurm-sends"
WRITES: Final = "slurm-writes"
BOUNDS: Final = "slurm-bounds"
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./%@:+=,*?-]+")
_PURGE: Final = re.compile(r"(\d{1,6})(hours?|days?|months?)?", re.IGNORECASE)
_HOURS: Final = {"h": 1, "d": 24, "m": 720}
_SPANK: Final = re.compile(r"(?:required|optional)\s+(\S+)|include\s+(\S+)")
_SET: Final = re.compile(r"(?<![A-Za-z])([A-Za-z]{1,60}+)[ \t]{0,9}[=:][ \t]{0,9}(\S{1,500})")
Fault = tuple[str, str]
"""Id of the finding, and what is said."""


def _below(path: str, folders: tuple[str, ...]) -> bool:
    return ".." not in path.split("/") and any(path == each or path.startswith(f"{each}/") for each in folders)


def of_parameter(name: str, value: str) -> Fault | None:
    """What a parameter of slurm.conf or slurmdbd.conf reaches that it must not; None for nothing. Names of parameters that
    the operator owns, and unknown ones, are judged elsewhere."""
    key, text = name.lower(), value.strip().strip('"')
    words = [each.strip("+- ").lower() for each in text.split(",")]
    images = ", ".join(tables.PROGRAM_FOLDERS)
    if key in tables.ELSEWHERE:
        return SENDS, "gives another host data, or its word: jobs, accounts or keys leave the cluster by it"
    if key in tables.PROGRAMS:
        own = all(_below(part, tables.PROGRAM_FOLDERS) for part in text.split(":")) and _PLAIN.fullmatch(text)
        return None if own else (RUNS, f"is {shown(value)}, which a daemon runs, and isn't of the image ({images})")
    if key in tables.FILES:
        folders = tables.FILES[key]
        named = ", ".join(folders)
        return None if _below(text, folders) else (WRITES, f"is {shown(value)}: daemons write below {named}")
    if key in tables.VALUES:
        allowed = tables.VALUES[key]
        keeps = " or ".join(allowed)
        return None if text.lower() in allowed else (SENDS, f"is {shown(value)}; data stays in the cluster with {keeps}")
    if key in tables.LOUD:
        loud = [each for each in words if each in tables.LOUD[key]]
        return (SENDS, f"has {', '.join(loud)}, with which logs hold messages of daemons, credentials too") if loud else None
    return _bound(key, text, value)


def _bound(key: str, text: str, value: str) -> Fault | None:
    if key in tables.LEAST:
        low = text.isdigit() and 0 < int(text[:9]) < tables.LEAST[key]
        return (BOUNDS, f"is {shown(value)}; jobs are lost below {tables.LEAST[key]}") if low else None
    if key.startswith("purge"):
        match = _PURGE.match(text)
        hours = int(match[1]) * _HOURS[(match[2] or "m")[0].lower()] if match else 0
        kept = hours >= tables.LEAST_PURGED_HOURS
        return None if kept else (BOUNDS, f"is {shown(value)}: records of less than a month go")
    if "://" in text or (text.startswith("/") and not _below(text, tables.PROGRAM_FOLDERS)):
        return SENDS, f"is {shown(value)}, a place that isn't known"
    return None


def of_file(name: str, text: str) -> Iterator[Fault]:
    """What the lines of a file of /etc/slurm reach."""
    if name.endswith(".lua"):
        names = {f".{each}." for each in tables.LUA_NAME.findall(tables.LUA_COMMENT.sub("", text))}
        for word in tables.LUA:
            if any(f".{word}." in each for each in names):
                yield RUNS, f"has {word}: slurmctld runs or loads what it says"
    elif name == "plugstack.conf":
        for number, line in enumerate(map(str.strip, text.splitlines()), 1):
            match = _SPANK.match(line)
            if line and not line.startswith("#") and not (match and _of_image(match[1] or match[2])):
                yield RUNS, f"loads on line {number} what isn't a library of the image"
    elif name.endswith((".conf", ".yaml", ".yml")):
        for number, line in enumerate(text.splitlines(), 1):
            for key, value in _SET.findall(line.split("#", 1)[0]):
                yield from _of_line(name, number, key, value.strip("\"'"))


def _of_image(path: str) -> bool:
    return "/" not in path or _below(path, tables.PROGRAM_FOLDERS)


def _of_line(file: str, number: int, key: str, value: str) -> Iterator[Fault]:
    where = f"has {name_of(key)} on line {number}, which"
    if "://" in value or value.startswith("//") or key.lower().endswith("host"):
        yield SENDS, f"{where} leads to another host"
    elif key.lower() == "include":
        yield RUNS, f"{where} reads another file"
    elif value.startswith("/"):
        runs = key.lower().startswith(tables.RUN_KEYS) or key.lower().endswith(tables.RUN_KEYS)
        inside = tables.PROGRAM_FOLDERS if runs else (*tables.PROGRAM_FOLDERS, *tables.FILE_FOLDERS)
        path = re.split(r"[\[,]", value)[0]
        device = path.startswith(tables.DEVICES) and ".." not in path and not runs
        if not device and not _below(path, inside):
            yield RUNS, f"{where} names {shown(value)}, which isn't of the image"
    elif file in tables.SHELLS and re.search(r"[;|&`$<>]", value):
        yield RUNS, f"{where} runs a shell"


def _parameters(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    yield from _of("controller.extraConf", config.slurmctld.extra_conf, OWNED)
    yield from _of("accounting.extraConf", config.slurmdbd.extra_conf, OWNED_BY_DATABASE)


def _of(path: str, parameters: Mapping[str, str], owned: Mapping[str, str]) -> Iterator[Finding]:
    for name, value in parameters.items():
        if name.lower() not in owned and (fault := of_parameter(name, str(value))):
            yield _refused(f"{path}.{name}", *fault)


def _refused(path: str, id_: str, said: str) -> Finding:
    return at(path).refused(f"{said}. Change it, or acknowledge {id_} with the reason", id=id_)


def _files(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    for name, text in config.slurmctld.config_files.items():
        for id_, said in dict.fromkeys(of_file(name, text)):
            yield _refused(f"controller.configFiles.{name}", id_, said)


RULES = (_parameters, _files)
