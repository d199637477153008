"""Objects for Prometheus and Grafana: what scrapes slurmctld, alert rules, the dashboard, the job that writes a status."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource

from slinky_iac import names
from slinky_iac.config.monitoring import Monitoring as Settings
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.specs import monitoring
from slinky_iac.specs.shared import Spec

from .external_endpoints import serve
from .resources import child, metadata, token


@dataclass(frozen=True, kw_only=True)
class MonitoringArgs:
    """``settings``: what is scraped, and how Prometheus finds it."""

    cluster: ClusterConfig
    settings: Settings


class Monitoring(pulumi.ComponentResource):
    """Where slurmctld is in Kubernetes, the operator makes its ServiceMonitor, and this makes the rest."""

    def __init__(self, name: str, args: MonitoringArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(token("Monitoring"), name, None, opts)
        config, settings = args.cluster, args.settings
        self._external(name, args)
        if settings.rules:
            self._custom(name, "PrometheusRule", "rules", args, monitoring.prometheus_rule(settings))
        if settings.dashboard:
            self._dashboard(name, args)
        if settings.status is not None:
            from pulumi_kubernetes.batch.v1 import CronJob  # noqa: PLC0415 - imports that few stacks need

            own = names.monitoring(config.cluster.resource_name, "status")
            spec = monitoring.status_job(config, settings.status, pulumi.get_stack())
            CronJob(f"{name}-status", metadata=metadata(config, own), spec=spec, opts=child(self))
        self.register_outputs({})

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
