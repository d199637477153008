"""Rules about monitoring: what would be asked for and never scraped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from slinky_iac.config.fields import is_address
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.rules_autoscale import slurmctld_has_metrics
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig


def _scraped(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    asked = config.monitoring
    if not asked.slurmctld:
        return
    if config.slurmctld.is_closed(config.network_policies):
        yield at("monitoring.slurmctld").error(
            "Prometheus asks slurmctld for metrics, and networkPolicies lets no pod of another namespace reach it. Add"
            " Prometheus' namespace to networkPolicies.clients.slurmctld",
            "slinky-iac:networkPolicies:\n  clients:\n    slurmctld:\n    - namespace: monitoring\n",
        )
    for each in config.slurmctld.hosts:
        if not is_address(asked.slurmctld_address or each.host):
            yield at("monitoring.slurmctldAddress").error(
                f"is needed: controller.external.host is the name {name_of(each.host)}, and the EndpointSlice from which"
                " Prometheus takes its targets holds addresses only. Give slurmctld's IP address"
            )


_METRICS_HOLD: Final = (25, 11, 5)
"""The first slurmctld that doesn't end when metrics are read after a partition with finished jobs is removed, as a NodeSet's
removal does (Slurm's CHANGELOG of 25.11.5)."""
_PATCH: Final = re.compile(r":(\d\d)\.(\d\d)\.(\d{1,3})")


def metrics_can_end_slurmctld(release: str) -> bool:
    """Whether slurmctld of this release (``25.11.2``) can end when its metrics are read; False where that isn't known."""
    numbers = _PATCH.match(f":{release}")
    return numbers is not None and tuple(map(int, numbers.groups())) < _METRICS_HOLD


def _crash(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    release = ".".join(found.groups()) if (found := _PATCH.search(config.slurmctld.image)) else ""
    asked = config.controller.metrics or slurmctld_has_metrics(config)
    if asked and metrics_can_end_slurmctld(release):
        path = "controller.metrics" if config.controller.metrics else "cluster.images.slurmctld"
        yield at(path).warning(
            f"slurmctld {release} can end when its metrics are read after a partition was removed, as each removal of a"
            " NodeSet does. Use an image of 25.11.5 or newer",
            id="metrics-crash",
        )


def _munge(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    asked = config.monitoring
    if config.keys.auth == "auth/munge" and (asked.slurmctld or asked.rules or asked.dashboard or asked.status):
        yield at("monitoring").error(
            "has no effect with keys.auth: auth/munge: the stack makes clients only. Remove the section"
        )


RULES = (_scraped, _munge, _crash)
