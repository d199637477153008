"""Monitoring as a part: objects for Prometheus and Grafana, and the job that writes a status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slinky_iac.config.findings import at
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.monitoring import objects
from slinky_iac.parts.monitoring.rules import OF_CLIENTS, RULES
from slinky_iac.parts.part import Api, Document, Part
from slinky_iac.specs.objects import Object
from slinky_iac.specs.shared import Spec

PROMETHEUS_API: Final = "monitoring.coreos.com"


class Monitoring(Part):
    """Where slurmctld is in Kubernetes, the operator makes its ServiceMonitor, and this makes the rest."""

    name = "monitoring"
    component = "Monitoring"
    rules = RULES
    client_rules = OF_CLIENTS
    metrics_reader = ("Prometheus", "monitoring.slurmctld")
    looks_by = "monitoring.status"

    def objects(self, config: StackConfig, document: Document) -> Iterator[Object]:
        """What scrapes an outside slurmctld, alert rules, the dashboard, and the job of the status."""
        yield from objects.scraped(config, config.monitoring)
        if config.monitoring.rules:
            yield objects.prometheus_rule(config, config.monitoring)
        if config.monitoring.dashboard:
            yield objects.dashboard_map(config, config.monitoring)
        if config.monitoring.status is not None:
            yield from objects.status(config, config.monitoring.status, document())

    def apis(self, config: StackConfig) -> Iterator[Api]:
        """That of Prometheus' operator."""
        if self.reads_metrics(config) or config.monitoring.rules:
            missing = at("monitoring").warning(
                f"this Kubernetes has no Prometheus operator (no API group {PROMETHEUS_API}), which slurmctld and rules"
                " need: `pulumi up` fails at its objects. Install its CRDs first, or set both to false and use `slinky"
                " monitoring rules`",
                id="monitoring-without-prometheus-operator",
            )
            yield Api(PROMETHEUS_API, missing)

    def reads_metrics(self, config: StackConfig) -> bool:
        """Where Prometheus scrapes slurmctld."""
        return config.monitoring.slurmctld

    def service_monitor(self, config: StackConfig) -> Spec | None:
        """The operator makes the ServiceMonitor."""
        return objects.inside_service_monitor(config.monitoring) if config.monitoring.slurmctld else None

    def status_account(self, config: StackConfig) -> str:
        """That of the CronJob."""
        return "" if config.monitoring.status is None else config.monitoring.status.service_account
