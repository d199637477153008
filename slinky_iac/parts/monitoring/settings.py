"""The section monitoring: what Prometheus and Grafana are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from slinky_iac.config.base import Section
from slinky_iac.config.fields import DnsLabel, FilePath, Host, Image, Seconds
from slinky_iac.config.labels import Labels
from slinky_iac.config.outputs import ADDRESS, COUNTED, IMAGE, LABEL, OBJECT, READ_BEFORE


class StatusJob(Section):
    """A CronJob that writes `slinky status --prometheus` into a folder that node_exporter reads."""

    takes: ClassVar[Mapping[str, str]] = {"image": IMAGE, "serviceAccount": OBJECT, "nodeSelector.**": LABEL}
    takes_none: ClassVar[Mapping[str, str]] = {"folder": READ_BEFORE, "schedule": COUNTED}
    elsewhere: ClassVar[frozenset[str]] = frozenset({"folder"})

    image: Image
    """Image with this program at the release that the stack is deployed with (examples/image/Containerfile). It needs no
    pulumi and no state: what it looks at is in a ConfigMap of the stack, without any secret."""
    service_account: DnsLabel
    """ServiceAccount in the cluster's namespace with the rights that `slinky rights --for status` prints."""
    folder: Annotated[FilePath, Field(pattern=r"^/")]
    """Folder of the Kubernetes node for node_exporter's textfile collector, e.g. /var/lib/node_exporter/textfile. It must be
    there, and the image's user must own it: the pod has no capability."""
    schedule: str = Field(default="*/5 * * * *", pattern=r"^\S+( \S+){4}$")
    """When, as cron writes it. The alerts treat a status older than half an hour as missing."""
    node_selector: Labels = Field(default_factory=dict)
    """Labels of the Kubernetes node whose node_exporter reads the folder."""


class Monitoring(Section):
    """What Prometheus and Grafana are given. ServiceMonitors and PrometheusRules need the CRDs of Prometheus' operator."""

    finding_ids: ClassVar[Mapping[str, str]] = {
        "monitoring-without-prometheus-operator": (
            "`monitoring` has objects of Prometheus' operator, whose kinds the Kubernetes cluster doesn't have"
            " ([monitoring.md](monitoring.md))."
        ),
        "monitoring-status-rare": (
            "`monitoring.status.schedule` runs less often than the alerts need: they treat a status older than half an hour"
            " as missing. Acknowledge it if your own rules don't ask for its age ([monitoring.md](monitoring.md))."
        ),
    }
    chart_keys: ClassVar[Mapping[str, str]] = {
        "controller.metrics.serviceMonitor.enabled": "slurmctld",
        "controller.metrics.serviceMonitor.labels": "labels",
        "controller.metrics.serviceMonitor.interval": "interval",
    }
    takes: ClassVar[Mapping[str, str]] = {"slurmctldAddress": ADDRESS, "labels.**": LABEL, "dashboardLabels.**": LABEL}

    slurmctld: bool = False
    """A ServiceMonitor for slurmctld's metrics: slurm-operator's own where slurmctld is in Kubernetes, which
    then serves metrics; else a Service, an EndpointSlice and a ServiceMonitor for the host in controller.external."""
    slurmctld_address: Host | None = None
    """IP address of the host in controller.external where that has a name: an EndpointSlice takes no name."""
    interval: Annotated[Seconds, Field(ge=1)] = 30
    """Between two scrapes of slurmctld, which takes them from the same threads as everything else."""
    rules: bool = False
    """A PrometheusRule with the alerts of docs/monitoring.md."""
    labels: Labels = Field(default_factory=dict)
    """Labels by which your Prometheus selects ServiceMonitors and PrometheusRules, e.g. {release: kube-prometheus-stack}."""
    key_age: Seconds = 365 * 86_400
    """Age from which an alert says that a key is old, in seconds or as 365d."""
    dashboard: bool = False
    """A ConfigMap with the dashboard, for a Grafana that loads those with `dashboardLabels`."""
    dashboard_labels: Labels = Field(default_factory=lambda: {"grafana_dashboard": "1"})
    """Labels by which your Grafana's sidecar finds dashboards."""
    status: StatusJob | None = None
    """A CronJob that writes the metrics of `slinky status --prometheus`."""
