"""Metrics of slurmctld: what other parts need of them, and what they can do to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.stack import StackConfig
from slinky_iac.node_demand import METRICS_TYPE
from slinky_iac.parts.registry import METRICS_READERS, reads_metrics


def _hidden(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    for key, value in config.controller.extra_conf.items() if reads_metrics(config) else ():
        if key.lower() == "privatedata":
            yield at(f"controller.extraConf.{key}").error(
                "switches slurmctld's metrics off, whatever its value (Slurm's metrics guide), and"
                f" {' or '.join(reader for reader, _ in METRICS_READERS)} needs them. Remove it, or remove"
                f" {' and '.join(setting for _, setting in METRICS_READERS)}"
            )
        if key.lower() == "metricstype" and value != METRICS_TYPE:
            yield at(f"controller.extraConf.{key}").error(f"must be {METRICS_TYPE}, which is read here; remove it")


_METRICS_HOLD: Final = (25, 11, 5)
"""The first slurmctld that doesn't end when metrics are read after a partition with finished jobs is removed, as a NodeSet's
removal does (Slurm's CHANGELOG of 25.11.5)."""
_PATCH: Final = re.compile(r":(\d\d)\.(\d\d)\.(\d{1,3})")


def metrics_can_end_slurmctld(release: str) -> bool:
    """Whether slurmctld of this release (``25.11.2``) can end when its metrics are read; False where that isn't known."""
    numbers = _PATCH.match(f":{release}")
    return numbers is not None and tuple(map(int, numbers.groups())) < _METRICS_HOLD


def _crash(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    release = ".".join(match.groups()) if (match := _PATCH.search(config.slurmctld.image)) else ""
    asked = config.controller.metrics or reads_metrics(config)
    if asked and metrics_can_end_slurmctld(release):
        path = "controller.metrics" if config.controller.metrics else "cluster.images.slurmctld"
        yield at(path).warning(
            f"slurmctld {release} can end when its metrics are read after a partition was removed, as each removal of a"
            " NodeSet does. Use an image of 25.11.5 or newer",
            id="metrics-crash",
        )


RULES = (_crash, _hidden)
