"""Rules of what Slurm's parameters and files reach: programs, libraries, other hosts, places, bounds of time.

The tables are those of :mod:`slinky_iac.config.slurm.reach`, by which the policies judge every stack; there a site declares
what it wants all the same, here the stack acknowledges it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from slinky_iac.conf_lines import PLUGSTACK, file_lines
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.partitions import partition_parameters
from slinky_iac.config.pieces import parts
from slinky_iac.config.rules.slurm_conf import refused_parameters
from slinky_iac.config.rules.slurm_files import READ_FILES, cgroups_hold
from slinky_iac.config.shown import name_of, shown
from slinky_iac.config.slurm import permitted, permitted_files
from slinky_iac.config.slurm import reach as tables
from slinky_iac.config.slurm import refusals as slurm_refusals
from slinky_iac.config.slurm import words as slurm_words
from slinky_iac.config.slurm.owned import OWNED, OWNED_BY_DATABASE
from slinky_iac.config.slurm.scripts import of_command, of_lifecycle, of_script
from slinky_iac.config.slurm.shebang import is_script
from slinky_iac.config.stack import StackConfig
from slinky_iac.hostlist import split
from slinky_iac.text import some

RUNS: Final = "slurm-runs"
SENDS: Final = "slurm-sends"
WRITES: Final = "slurm-writes"
BOUNDS: Final = "slurm-bounds"
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./%@:+=,*?-]+")
_PURGE: Final = re.compile(r"(\d{1,6})(hours?|days?|months?)?", re.IGNORECASE)
_HOURS: Final = {"h": 1, "d": 24, "m": 720}
_SPANK: Final = re.compile(r"(?:required|optional)\s+(\S+)|include\s+(\S+)")
_SET: Final = re.compile(tables.SET)
_PATH: Final = re.compile(tables.PATH)
_SHOWN: Final = 4
_NUMBER: Final = re.compile(r"unlimited|infinite|(0|[1-9]\d{0,18})(k?)", re.IGNORECASE)
"""What slurmctld reads as a decimal number: 030 is 24, and 0x10 is 16."""
_IMAGES: Final = ", ".join(tables.PROGRAM_FOLDERS)
_KNOWN: Final = frozenset({*tables.known("slurm.conf"), *tables.known("slurmdbd.conf")})
Fault = tuple[str, str]
"""Id of the finding, and what is said."""


def _below(path: str, folders: tuple[str, ...]) -> bool:
    return ".." not in path.split("/") and any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def of_parameter(name: str, value: str, *, cgroups: bool = True, files: Collection[str] = ()) -> Fault | None:
    """What a parameter of slurm.conf or slurmdbd.conf reaches that it must not; None for nothing. Names of parameters that
    the operator owns, and unknown ones, are judged elsewhere. ``cgroups``: whether jobs are held by them; ``files``: those
    that the stack puts beside slurm.conf."""
    key, text = name.lower(), value.strip().strip('"')
    if key in tables.ELSEWHERE:
        return SENDS, tables.ELSEWHERE[key]
    if key in tables.PROGRAMS:
        return None if key in tables.SENT and text in files else _program(key, text, value)
    if key in tables.FILES:
        inside = tables.FILES[key]
        where = ", ".join(inside)
        if "://" in text:
            return SENDS, f"is an address, and data of jobs goes to that host: allowed are files below {where}"
        said = f"is {shown(value)}, where a daemon may not write: allowed are files and folders below {where}"
        if key == "archivedir":
            said += ", in a volume that accounting.raw mounts there: what is in the pod's own folders goes with the pod"
        return None if _below(text, inside) else (WRITES, said)
    if key.startswith("purge") or key in tables.PURGES or key in permitted.LEAST:
        return _least(key, text, value)
    return _of_form(key, text, cgroups=cgroups)


def is_program(name: str, text: str) -> bool:
    """Whether a value is a program that :func:`of_parameter` takes."""
    return _program(name.lower(), text, text) is None


def _program(key: str, text: str, value: str) -> Fault | None:
    program, *arguments = text.split(" ")
    own = all(_below(part, tables.PROGRAM_FOLDERS) for part in program.split(":"))
    if own and _PLAIN.fullmatch(program) and all(re.fullmatch(tables.ARGUMENTS, argument) for argument in arguments):
        return None
    script = f"; a script goes to controller.{key}" if key in ("prolog", "epilog") else ""
    script = script or ("; a script goes to controller.configFiles, and its name here" if key in tables.SENT else "")
    said = f"is {shown(value)}, which a daemon runs, and isn't of the image: allowed is what is below {_IMAGES}"
    return RUNS, f"{said}, with options that have no value{script}"


def _of_form(key: str, text: str, *, cgroups: bool) -> Fault | None:
    if key in permitted.FREE:
        return _form(key, text, permitted.FREE[key], "it may do harm in this form")
    if key in permitted.PERMITTED:
        without = {} if cgroups else permitted.WITHOUT_CGROUPS
        return _form(key, text, *without.get(key, permitted.PERMITTED[key]))
    judged = key not in _KNOWN or key in permitted.OWN_RULES
    return (
        None
        if judged
        else (BOUNDS, "is not supported: this release of slinky-iac does not know which of its values are safe")
    )


def _least(key: str, text: str, value: str) -> Fault | None:
    """What is lost by a number that is too low."""
    if key not in permitted.LEAST:
        match = _PURGE.match(text)
        hours = int(match[1]) * _HOURS[(match[2] or "m")[0].lower()] if match else 0
        kept = hours >= tables.LEAST_PURGED_HOURS
        said = f"is {shown(value)}: records of less than a month go (allowed: 1month, 30days, 720hours or more)"
        return None if kept else (BOUNDS, said)
    least, never = permitted.LEAST[key]
    match = _NUMBER.fullmatch(text)
    number = int(match[1]) * (1024 if match[2] else 1) if match and match[1] else least
    enough = bool(match) and (number >= least or (never and number == 0))
    zero = ", or 0 for none" if never else ""
    said = f"is {shown(value)}; jobs or their records are lost below {least} (allowed: {least} or more, in decimal{zero})"
    return None if enough else (BOUNDS, said)


def _form(key: str, value: str, form: str, harm: str) -> Fault | None:
    """What is wrong with a value of which each part between commas must be of a form."""
    items = list(filter(None, map(str.strip, value.split(",")))) or [""]  # Slurm passes over empty ones
    wrong = [part for part in items if not re.fullmatch(form, part, re.IGNORECASE)]
    if not wrong:
        return None
    return SENDS if harm in (
        permitted.SENT,
        permitted.LOGS,
    ) else BOUNDS, f"has {_named(wrong)}: {harm}{permitted.allowed(key, form)}"


def _named(parts: list[str]) -> str:
    """The first of several words of a value; of an assignment its name."""
    return some((name_of(part.partition("=")[0]) + ("=…" if "=" in part else "") for part in parts), _SHOWN)


def of_file(name: str, text: str, words: slurm_words.Words | None = None) -> Iterator[Fault]:
    """What the lines of a file of /etc/slurm, or of a prolog or an epilog, reach. ``words``: what a release reads in it;
    what it can't read is refused elsewhere."""
    if match := re.search(tables.KEYS_READ, text):
        yield SENDS, f"has {match[0]}: a key or a token of the cluster goes where the script takes it"
    if name.endswith(".lua"):
        names = {f".{lua_name}." for lua_name in tables.LUA_NAME.findall(tables.LUA_COMMENT.sub("", text))}
        for word in tables.LUA:
            if any(f".{word}." in lua_name for lua_name in names):
                yield RUNS, f"has {word}: slurmctld runs or loads what it says"
    elif name == PLUGSTACK:
        for number, line in file_lines(name, text):
            match = _SPANK.match(line)
            if not (match and _of_image(match[1] or _beside(match[2]))):
                yield RUNS, f"loads on line {number} what isn't a library of the image"
    elif name.endswith((".conf", ".yaml", ".yml")):
        yield from _of_lines(name, text, words)


def _of_lines(name: str, text: str, words: slurm_words.Words | None) -> Iterator[Fault]:
    known = words is None and name in permitted_files.IN_FILES
    for number, line in file_lines(name, text):
        said = re.sub(permitted_files.COUNTED, r"\1", re.sub(permitted_files.INCLUDED, "Include=", line))
        for key, value in _SET.findall(said):
            if words is None or (key in words and not words.fault(key, value.strip('"'))):
                yield from _of_line(name, number, key, value.strip("\"'"))
        if known and tables.unjudged(name, said):
            form = "Key=Value" if name.endswith(".conf") else "`key: value` on one line, without backslashes"
            yield BOUNDS, f"has on line {number} what isn't {form}: it is not known what Slurm makes of it"


def _beside(path: str) -> str:
    """What include names: without / at its beginning, it is beside plugstack.conf (``_spank_conf_include``)."""
    return path if path.startswith("/") else f"{tables.CONF_FOLDER}/{path}"


def _of_image(path: str) -> bool:
    return "/" not in path or _below(path, tables.PROGRAM_FOLDERS)


def _of_line(file: str, number: int, key: str, value: str) -> Iterator[Fault]:
    where = f"has {name_of(key)} on line {number}, which"
    low = key.lower()
    if low.endswith(("pass", "password")):
        yield SENDS, f"{where} {tables.PASSWORD}"
    elif "://" in value or value.startswith("//") or low.endswith("host"):
        yield SENDS, f"{where} leads to another host"
    elif low == "include":
        yield RUNS, f"{where} reads another file"
    elif row := permitted_files.IN_FILES.get(file, {}).get(low):
        if fault := _form(low, value, *row):
            yield fault[0], f"{where} {fault[1]}"
    elif low not in permitted_files.PATHS.get(file, (low,)):
        yield BOUNDS, f"{where} is not supported: this release of slinky-iac does not know which of its values are safe"
    elif value.startswith("/"):
        yield from _paths(low, value, where)
    if file in tables.SHELLS and low not in tables.EXPRESSIONS and re.search(r"[;|&`$<>]", value):
        yield RUNS, f"{where} runs a shell"


def _paths(key: str, value: str, where: str) -> Iterator[Fault]:
    """What is wrong with a value that is a program, or paths between commas."""
    runs = key.startswith(tables.RUN_KEYS) or key.endswith(tables.RUN_KEYS)
    inside = tables.PROGRAM_FOLDERS if runs else (*tables.PROGRAM_FOLDERS, *tables.FILE_FOLDERS)
    for part in [value.split(maxsplit=1)[0]] if runs else map(str.strip, split(value)):
        device = not runs and part.startswith(tables.DEVICES) and ".." not in part
        if not _PATH.fullmatch(part) or not (device or _below(part.partition("[")[0], inside)):
            said = "isn't of the image" if runs else "is neither a device nor below a folder of daemons"
            yield RUNS if runs else WRITES, f"{where} names {shown(part)}, which {said} ({', '.join(inside)})"


def _parameters(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Of slurm.conf and slurmdbd.conf. What a daemon can't read is said of as that, and not as harmful too."""
    files = {"controller": (config.slurmctld.extra_conf, OWNED, "slurm.conf")}
    files |= {"accounting": (config.slurmdbd.extra_conf, OWNED_BY_DATABASE, "slurmdbd.conf")}
    cgroups = cgroups_hold(config)
    refused = {key for key, _ in refused_parameters(config)}
    for section, (parameters, owned, file) in files.items():
        words = slurm_words.words(config.slurm_release, file)
        for name, value in parameters.items():
            lacking = bool(words.no_plugin(name, value))
            if name.lower() in owned or words.fault(name, value) or (section == "controller" and name in refused):
                continue  # refused already
            if lacking and config.cluster.images.slurmctld is None:
                continue
            fault = of_parameter(name, value, cgroups=cgroups, files=config.slurmctld.config_files)
            if fault and not (fault[0] == BOUNDS and lacking):
                yield refusal(f"{section}.extraConf.{name}", *fault)


def _partitions(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """What a daemon can't read is said of as that elsewhere: with it no job ends early, since slurmctld doesn't start."""
    words = slurm_words.words(config.slurm_release, "PartitionName")
    for path, parameters in partition_parameters(config).items():
        refused = {key for key, _ in slurm_refusals.refused_of_partition(parameters)}
        for name, value in parameters.items():
            row = permitted.PARTITION.get(name.lower())
            if name in refused or words.fault(name, value):
                continue
            if row and (fault := _form(name.lower(), value, *row)):
                yield refusal(f"{path}.{name}", *fault)


def refusal(path: str, id_: str, said: str) -> Finding:
    """A finding that stops until it is acknowledged for its own setting."""
    setting = at(path)
    paste = f"below `slinky-iac:acknowledged:` the line `{id_}@{setting.path}: WHY`, with your reason"
    said_whole = f"{said}. Change it or leave it out, or acknowledge it: {paste}"
    return setting.refused(said_whole, id=id_, exposes=tables.PASSWORD in said)


def _files(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    controller = config.slurmctld
    maps = {"configFiles": controller.config_files, "prolog": controller.prolog, "epilog": controller.epilog}
    for kind, files in maps.items():
        for name, text in files.items():
            for said in of_script(text) if is_script(text) else ():
                yield refusal(f"controller.{kind}.{name}", RUNS, said)
            words = slurm_words.words(config.slurm_release, name) if kind == "configFiles" and name in READ_FILES else None
            for id_, said in dict.fromkeys(of_file(name, text, words)):
                yield refusal(f"controller.{kind}.{name}", id_, said)


def _commands(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Commands beside a daemon: hooks of its container, init containers and sidecars of its pod."""
    for part in parts(config):
        for hook, said in of_lifecycle(part.raw.container.get("lifecycle")):
            yield refusal(f"{part.path}.raw.container.lifecycle.{hook}", RUNS, said)
        for container, where in part.beside():
            said_of = of_command(_command(container))
            yield from (refusal(f"{part.path}.raw.{where}", RUNS, said) for said in said_of)


def _command(container: Mapping[str, object]) -> list[object]:
    lists = (container.get("command"), container.get("args"))
    return [word for words in lists if isinstance(words, list) for word in words]


RULES = (_parameters, _partitions, _files, _commands)
