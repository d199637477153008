"""Reading lines of slurm.conf, node expressions and durations. Source: slurm.conf(5), "NODE CONFIGURATION" and on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from slurm_rules.conf_lines import conf_lines, includes

_PAIR = re.compile(r"(?<![A-Za-z0-9_])([A-Za-z_][A-Za-z0-9_]*+)\s*+[-+*/]?=\s*+(\"[^\"]*\"|\S*)")
_DURATION = re.compile(r"(?<![\d.])(\d++(?:\.\d++)?)(ns|us|µs|ms|s|m|h)")
_DURATIONS = re.compile(f"(?:{_DURATION.pattern})+")
_ITEM = re.compile(r"(?:[^,\[]++|\[[^\]]*+\]?)++")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
MAXIMUM_NODES = 65533
"""More than this in one expression is no sensible cluster (slurm.conf(5), MaxNodeCount)."""


_DIGITS = 9
"""Of the largest number in a name that is counted."""
_RANGES = 8
"""In one name. Slurm reads no more than a few."""


@dataclass(frozen=True)
class Line:
    """One line: its parameters in order, names in lower case."""

    pairs: tuple[tuple[str, str], ...]

    @property
    def first(self) -> str:
        """Name of the first parameter, which says what the line is about."""
        return self.pairs[0][0]

    @property
    def value(self) -> str:
        """Value of the first parameter."""
        return self.pairs[0][1]

    def get(self, name: str) -> str:
        """Value of a parameter, empty where it is not there."""
        return dict(self.pairs).get(name, "")


def lines(text: str) -> Iterator[Line]:
    """The lines of a configuration that have a parameter, or read another file."""
    for line in conf_lines(text):
        pairs = tuple((name.lower(), value.strip('"')) for name, value in _PAIR.findall(line))
        if not pairs and includes(line):
            pairs = (("include", line.split(None, 1)[-1]),)
        if pairs:
            yield Line(pairs)


def settings(text: str) -> Mapping[str, str]:
    """Single parameters by name in lower case; the last one wins, as in Slurm."""
    several = {"nodename", "nodeset", "partitionname", "downnodes", "frontendname"}
    return {line.first: line.value for line in lines(text) if line.first not in several}


def split_list(expression: str) -> list[str]:
    """``a,b[1,3]`` is ``a`` and ``b[1,3]``: commas in brackets don't part."""
    return _ITEM.findall(expression)


def expand(expression: str) -> list[str]:
    """Node names of one item such as ``rack[1-4]n[01-32]``; an item that isn't understood stands for itself."""
    match = re.fullmatch(r"([^\[\]]*)\[([0-9,\-]+)\](.*)", expression)
    if match is None or expression.count("[") > _RANGES:
        return [expression]
    rest = expand(match[3]) if "[" in match[3] else [match[3]]
    names: list[str] = []
    for part in match[2].split(","):
        low, _, high = part.partition("-")
        if not (low.isdigit() and (high or low).isdigit()) or max(len(low), len(high)) > _DIGITS:
            return [expression]
        if len(names) + (int(high or low) - int(low)) * len(rest) > MAXIMUM_NODES:
            return [expression]
        names.extend(f"{match[1]}{n:0{len(low)}d}{end}" for n in range(int(low), int(high or low) + 1) for end in rest)
    return names


def nodes(text: str) -> list[str]:
    """Names of all NodeName= lines. Items after the largest number of nodes stand for themselves."""
    names: list[str] = []
    for line in lines(text):
        if line.first == "nodename" and line.value.upper() != "DEFAULT":
            for item in split_list(line.value):
                names += expand(item) if len(names) <= MAXIMUM_NODES else [item]
    return names


def seconds(duration: str) -> float | None:
    """Seconds of a Go duration such as ``15m`` or ``1h30m``; None for anything else."""
    if not _DURATIONS.fullmatch(duration):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(duration))
