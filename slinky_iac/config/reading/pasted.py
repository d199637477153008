"""What people paste from slurm.conf into a stack's file, in place of a mapping or a setting: what it is here. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from slinky_iac.config.chart.conf_texts import members, words
from slinky_iac.config.chart.translation import Advice, advice
from slinky_iac.config.chart.values import SAME, Left, Several
from slinky_iac.config.fields import is_address
from slinky_iac.config.reading.such_as import such_as
from slinky_iac.config.shown import hidden, name_of
from slinky_iac.config.slurm.owned import OWNED, set_instead
from slinky_iac.config.slurm.words import is_known

_HOST: Final = re.compile(r"([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(?::([0-9]{1,5}))?")
_NODE_LINES: Final = re.compile(r"(nodesets|external\.slurmdHosts)\.")
_LABEL: Final = r"[A-Za-z0-9][A-Za-z0-9_./-]{0,314}=(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?"
_SELECTOR: Final = re.compile(rf"{_LABEL}(?:, ?{_LABEL})*")
"""Labels as kubectl's ``-l`` takes them."""
_A_LINE_EACH: Final = "write each parameter on a line of its own, `Name: Value`"
_OUTSIDE: Final = "; with slurmctld outside they belong in its host's slurm.conf, and `slinky handoff` renders what it needs"


def of_text(path: str, text: str) -> Advice | None:
    """What a text is that stands for a mapping at ``path``; None where it isn't one that is known."""
    parts = path.split(".")
    host = _HOST.fullmatch(text)
    if parts[-1] == "external" and (is_address(text) or host):
        own: dict[str, Any] = {"host": text}
        if host and host[3] and not is_address(text):
            own = {"host": host[1], "port": int(host[3])}
        return Advice("it is the host of `external`: write `host:` below it", _at(parts, own), is_whole=True)
    if "=" not in text:
        return None
    if parts[-1] in {"nodeSelector", "labels"} and _SELECTOR.fullmatch(text):
        pairs = dict(label.strip().split("=") for label in text.split(","))
        return Advice("write each label as `NAME: VALUE`", _at(parts, pairs), is_whole=True)
    if parts[-1] in {"partition", "config"} or path.startswith("partitions."):
        return _partition(parts, text)
    if parts[-1] != "extraConf" or (known := advice(path, text)) is None or not known.settings:
        return None
    rest = known.words.partition("; ")[2]
    told = _A_LINE_EACH + (_OUTSIDE if parts[0] == "controller" else "") + (f"; {rest}" if rest else "")
    return Advice(told, known.settings, is_whole=known.is_whole)


def parameter(path: str, key: str) -> str | None:
    """What to say of a parameter of slurm.conf that stands as a setting; None where it is none."""
    line = "NodeName" if _NODE_LINES.match(path) else "slurm.conf"
    if not is_known(key, line):
        return None
    said = "is a parameter of slurm.conf and not a setting"
    if line == "NodeName":
        return f"{said}: write it below `extraConf`, or `config` of a host"
    if key.lower() in OWNED:
        return f"{said}; it {set_instead(key)}"
    return f"{said}: it goes below controller.extraConf; with slurmctld outside, into its host's slurm.conf"


def _partition(parts: list[str], text: str) -> Advice | None:
    """A line PartitionName=, or the parameters of one."""
    try:
        line = words(text)
    except Left:
        return None
    own = line.settings[SAME] if isinstance(line, Several) else None
    if not isinstance(own, Mapping):
        return None
    left = {key: value for key, value in own.items() if key.lower() not in {"partitionname", "nodes"}}
    if parts[-1] == "config":
        return Advice(_A_LINE_EACH, _at(parts, left), is_whole=True)
    config: dict[str, Any] = {"config": left} if left else {}
    if parts[-1] == "partition":
        return Advice(
            "its name and nodes are the NodeSet's; parameters go below `config`", _at(parts, config), is_whole=True
        )
    nodes = next((value for key, value in own.items() if key.lower() == "nodes"), "")
    told = "nodes go to `nodesets`, parameters below `config`"
    return Advice(told, _at(parts, {**({"nodesets": members(nodes)} if nodes else {}), **config}), is_whole=True)


def _at(parts: list[str], value: object) -> dict[str, Any]:
    for part in reversed(parts):
        value = {part: value}
    assert isinstance(value, dict)
    return value


def items_of(where: str, value: object) -> list[str]:
    """Items of a list that were written without its brackets, where a message may show them; none of another value, nor
    where items are mappings, of which a text is none."""
    if not isinstance(value, str) or hidden(where) or _of_mappings(where):
        return []
    items = value.split(",")
    return items if all(word.replace("-", "").isalnum() and name_of(word) == word for word in items) else []


def entries_of(where: str, value: object) -> list[Any]:
    """The same, and a single entry that was written without its dash."""
    return [value] if isinstance(value, Mapping) and value and _of_mappings(where) else items_of(where, value)


def _of_mappings(where: str) -> bool:
    """Whether a list of settings has mappings."""
    return such_as((*(int(part) if part.isdecimal() else part for part in where.split(".")), 0)).startswith("- {")
