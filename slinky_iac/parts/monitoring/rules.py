"""Rules about monitoring: what would be asked for and never scraped."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.fields import is_address
from slinky_iac.config.findings import Finding, at
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.monitoring.alerts import STALE_S
from slinky_iac.parts.monitoring.cron import longest_gap


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
    for host in config.slurmctld.hosts[:1]:  # a backup that waits has no metrics
        if not is_address(asked.slurmctld_address or host.host):
            yield at("monitoring.slurmctldAddress").error(
                f"is needed: controller.external.host is the name {name_of(host.host)}, and the EndpointSlice from which"
                " Prometheus takes its targets holds addresses only. Give slurmctld's IP address"
            )


def _without_daemons(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    asked = config.monitoring
    if asked.slurmctld or asked.rules or asked.dashboard or asked.status:
        yield at("monitoring").error(
            f"has no effect with keys.auth: {config.auth.name}: the stack makes clients only. Remove the section"
        )


def _schedule(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    asked = config.monitoring
    if asked.status is None:
        return
    path = at("monitoring.status.schedule")
    try:
        gap = longest_gap(asked.status.schedule)
    except ValueError as error:
        yield path.error(
            f"{error}. The API server refuses such a CronJob, with the update half done. Write */5 * * * *, say"
        )
        return
    most = STALE_S // 60
    if asked.rules and (gap is None or gap > most):
        rare = "leaves days out" if gap is None else f"has {gap} minutes between two runs"
        yield path.warning(
            f"{rare}, and the alerts of monitoring.rules treat a status older than {most} minutes as missing: they would be"
            f" sent without a cause. Run it every {most // 2} minutes or more often: */5 * * * *",
            id="monitoring-status-rare",
        )


RULES = (_scraped, _schedule)
OF_CLIENTS = (_without_daemons,)
