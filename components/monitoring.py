"""Objects for Prometheus and Grafana: what scrapes slurmctld, alert rules, the dashboard, the job that writes a status."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource

from slinky_iac import names
from slinky_iac.config.monitoring import Monitoring as Settings
from slinky_iac.config.monitoring import StatusJob
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.specs import monitoring
from slinky_iac.specs.shared import Spec

from .connection import Component
from .external_endpoints import serve
from .resources import child, metadata


@dataclass(frozen=True, kw_only=True)
class MonitoringArgs:
    """``settings``: what is scraped, and how Prometheus finds it. ``watched``: what the CronJob of ``settings.status`` looks
    at, as :func:`.watched.watched` makes it; without it there is no CronJob."""

    cluster: ClusterConfig
    settings: Settings
    watched: pulumi.Output[str] | None = None


class Monitoring(Component):
    """Where slurmctld is in Kubernetes, the operator makes its ServiceMonitor, and this makes the rest."""

    def __init__(self, name: str, args: MonitoringArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Monitoring", name, args.cluster, opts)
        config, settings = args.cluster, args.settings
        self._external(name, args)
        if settings.rules:
            self._custom(name, "PrometheusRule", "rules", args, monitoring.prometheus_rule(settings))
        if settings.dashboard:
            self._dashboard(name, args)
        if settings.status is not None and args.watched is not None:
            self._status(name, config, settings.status, args.watched)
        self.register_outputs({})

    def _status(self, name: str, config: ClusterConfig, job: StatusJob, watched: pulumi.Output[str]) -> None:
        from pulumi_kubernetes.batch.v1 import CronJob  # noqa: PLC0415 - imports that few stacks need
        from pulumi_kubernetes.core.v1 import ConfigMap  # noqa: PLC0415

        base = config.cluster.resource_name
        looked_at = ConfigMap(
            f"{name}-watched",
            metadata=metadata(config, names.monitoring(base, "watched")),
            data={names.WATCHED_FILE: watched},
            opts=child(self),
        )
        CronJob(
            f"{name}-status",
            metadata=metadata(config, names.monitoring(base, "status")),
            spec=monitoring.status_job(config, job),
            opts=child(self, looked_at),
        )

    def _external(self, name: str, args: MonitoringArgs) -> None:
        config = args.cluster
        endpoint = monitoring.metrics_endpoint(config, args.settings)
        if endpoint is None:
            return
        serve(self, name, config, endpoint, monitoring.metrics_labels(config))
        self._custom(name, "ServiceMonitor", "slurmctld", args, monitoring.service_monitor(config, args.settings))

    def _custom(self, name: str, kind: str, part: str, args: MonitoringArgs, spec: Spec) -> None:
        meta = metadata(args.cluster, names.monitoring(args.cluster.cluster.resource_name, part))
        meta["labels"] = {**meta["labels"], **args.settings.labels}
        CustomResource(
            f"{name}-{kind.lower()}",
            api_version=monitoring.MONITORING_API,
            kind=kind,
            metadata=meta,
            spec=spec,
            opts=child(self),
        )

    def _dashboard(self, name: str, args: MonitoringArgs) -> None:
        from pulumi_kubernetes.core.v1 import ConfigMap  # noqa: PLC0415 - imports that few stacks need

        meta = metadata(args.cluster, names.monitoring(args.cluster.cluster.resource_name, "dashboard"))
        meta["labels"] = {**meta["labels"], **args.settings.dashboard_labels}
        data = {monitoring.DASHBOARD: monitoring.dashboard()}
        ConfigMap(f"{name}-dashboard", metadata=meta, data=data, opts=child(self))
