"""Which release of Slinky's chart, and which chart, a file of values is for, by keys that only some have. Pure.

Source: ``helm/slurm/values.yaml`` and ``helm/slurm-operator/values.yaml`` of slurm-operator v1.0.5, v1.1.2, v1.2.1 and main.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from slinky_iac.config.chart.reasons import WORDS_OF_0
from slinky_iac.config.chart.table import ROWS
from slinky_iac.config.chart.translation import MARKS
from slinky_iac.config.chart.unread import BY_RELEASE, SETS
from slinky_iac.config.paths import value_at
from slinky_iac.releases import LINES

_OF_BOTH: Final = frozenset(
    {"extraObjects", "fullnameOverride", "imagePullPolicy", "imagePullSecrets", "nameOverride", "namespaceOverride"}
    | {"priorityClassName", "global"}
)
_OF_GUIDE: Final = frozenset({"slurmKeyRef", "jwtHs256KeyRef"})
"""What the hybrid guide of release-1.2 has, and only chart 1.0 reads."""
_OF_OPERATOR: Final = frozenset({"certManager", "crds", "operator", "propagatedNodeConditions", "webhook"})
_OF_SLURM: Final = frozenset({row.at.partition(".")[0] for row in ROWS} | set(SETS.values())) - _OF_BOTH


def keys_of_0(values: Mapping[str, Any]) -> list[str]:
    """Keys by which values are those of chart 0.x; empty where they aren't. One alone may be a word of somebody's own."""
    old = [key for key in WORDS_OF_0 if key in values]
    return old if len(old) > 1 else []


def other_release(values: Mapping[str, Any], minor: int, *, named: bool = False, written: bool = True) -> str:
    """What to say where keys aren't of the release that values are read as; empty where all are. ``minor``: as 2 of 1.2.
    ``named``: whether somebody said that release, so that only keys that ask for something count. ``written``: whether
    there is a new file by now."""
    if old := keys_of_0(values):
        return (
            f"{', '.join(old)}: these are values of chart 0.x, and 1.x can't take over a cluster of it: this file is of a"
            " new cluster. Its NodeSets, partitions, login pods and lines of slurm.conf have other keys, so almost nothing"
            " of them is carried over. Write them as those of chart 1.2, and import that file"
        )
    given = {key: lines for key, lines in BY_RELEASE.items() if lines and _has(values, key.split("."), asks=False)}
    strange = [key for key, lines in given.items() if minor not in lines and _has(values, key.split("."), asks=named)]
    if not strange:
        return ""
    keys = f"{', '.join(strange)}: the values are read as those of chart 1.{minor}, which doesn't read {_them(strange)}"
    fitting = [f"1.{line}" for line in LINES if all(line in lines for lines in given.values())]
    if set(strange) <= _OF_GUIDE and value_at(values, ("controller", "external")) is True:
        return f"{keys}. They are words of Slinky's hybrid guide, of whatever release: what is left out says what to write"
    if not fitting:
        return f"{keys}. No release of the chart reads all keys of this file"
    fit = f"{keys}. They fit chart {' and '.join(fitting)}"
    if named:
        return f"{fit}: look which release runs (`helm list -A`)"
    again = f"run this again with --chart-version {fitting[-1]}"
    return (
        f"{fit}, with other defaults (1.0 and 1.1 make a NodeSet slinky and a partition all beside them). If the release is"
        f" of it, {f'remove the new file, and {again}' if written else again}"
    )


def of_subchart(values: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """The chart's own values, and the key that they are below in a chart that has it as a dependency; empty for none."""
    inside = [key for key, part in values.items() if isinstance(part, Mapping) and len(MARKS & part.keys()) > 1]
    if len(inside) == 1 and not MARKS & values.keys():
        return values[inside[0]], str(inside[0])
    return values, ""


def key_of_slurm(values: Mapping[str, Any]) -> str:
    """A key that the chart slurm has and the chart slurm-operator doesn't; empty for none."""
    below, place = of_subchart(values)
    return next((str(key) for key in below if key in _OF_SLURM), "") or place


def key_of_operator(values: Mapping[str, Any]) -> str:
    """A key that the chart slurm-operator has and the chart slurm doesn't, where no key is of the latter; empty for none."""
    return "" if key_of_slurm(values) else next((str(key) for key in values if key in _OF_OPERATOR), "")


def _has(value: object, path: list[str], *, asks: bool) -> bool:
    """Whether there is such a key. ``asks``: whether it must have a value that asks for something."""
    if not path:
        return bool(value) or not asks
    first, *rest = path
    if not isinstance(value, Mapping):
        return False
    return any(_has(child, rest, asks=asks) for key, child in value.items() if first in ("*", key))


def _them(keys: list[str]) -> str:
    return "it" if len(keys) == 1 else "them"
