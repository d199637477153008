"""What Prometheus' operator, Grafana's sidecar and a CronJob are given.

Sources: prometheus-operator ``pkg/apis/monitoring/v1`` (ServiceMonitor, PrometheusRule), slurm-operator
``controllerbuilder/controller_servicemonitor.go`` (paths of slurmctld's metrics), node_exporter's textfile collector.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Final

from slinky_iac import names
from slinky_iac.addresses import Target
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.parts.monitoring.alerts import alerts, groups
from slinky_iac.parts.monitoring.settings import Monitoring, StatusJob
from slinky_iac.parts.slurmctld.settings import METRICS_PATHS
from slinky_iac.specs.endpoints import Endpoint, endpoint, endpoint_objects
from slinky_iac.specs.objects import Object
from slinky_iac.specs.shared import Spec, labels, locked

PORT: Final = "metrics"
FILE: Final = "slinky-iac.prom"
DASHBOARD: Final = "slinky-iac.json"
MONITORING_API: Final = "monitoring.coreos.com/v1"


def inside_service_monitor(settings: Monitoring) -> Spec:
    """``metrics.serviceMonitor`` of a Controller in Kubernetes: the operator makes the ServiceMonitor."""
    spec: Spec = {
        "enabled": True,
        "interval": f"{settings.interval}s",
        "endpoints": [{"path": path} for path in METRICS_PATHS],
    }
    return spec | ({"labels": dict(settings.labels)} if settings.labels else {})


def metrics_endpoint(config: ClusterConfig, settings: Monitoring) -> Endpoint | None:
    """Service and EndpointSlice for the metrics of an outside slurmctld; None where there is none to scrape."""
    if not settings.slurmctld:
        return None
    name = names.slurmctld_metrics_service(config.cluster.resource_name)
    targets = (Target(settings.slurmctld_address or host.host, host.port) for host in config.slurmctld.hosts)
    return next((endpoint(name, PORT, target.port, target) for target in targets), None)


def metrics_labels(config: ClusterConfig) -> dict[str, str]:
    """Labels of that Service, by which the ServiceMonitor finds it, and it alone."""
    return labels(config) | {names.LABEL_NAME: "slurmctld-metrics"}


def scraped(config: ClusterConfig, settings: Monitoring) -> Iterator[Object]:
    """What leads Prometheus to an outside slurmctld."""
    scraped_endpoint = metrics_endpoint(config, settings)
    if scraped_endpoint is not None:
        yield from endpoint_objects(scraped_endpoint, metrics_labels(config))
        yield _custom(config, settings, "ServiceMonitor", "slurmctld", service_monitor(config, settings))


def prometheus_rule(config: ClusterConfig, settings: Monitoring) -> Object:
    """The alerts, for Prometheus' operator."""
    return _custom(config, settings, "PrometheusRule", "rules", rule_spec(settings))


def dashboard_map(config: ClusterConfig, settings: Monitoring) -> Object:
    """The dashboard, for Grafana's sidecar."""
    name = _named(config.cluster.resource_name, "dashboard")
    return Object(
        logical="dashboard",
        api_version="v1",
        kind="ConfigMap",
        name=name,
        body={"data": {DASHBOARD: dashboard()}},
        labels=settings.dashboard_labels,
    )


def status(config: ClusterConfig, job: StatusJob, document: Any) -> Iterator[Object]:  # noqa: ANN401
    """The CronJob, and the ConfigMap with the text that it looks at."""
    base = config.cluster.resource_name
    data = {names.WATCHED_FILE: document}
    name = _named(base, "watched")
    yield Object(logical="watched", api_version="v1", kind="ConfigMap", name=name, body={"data": data})
    yield Object(
        logical="status",
        api_version="batch/v1",
        kind="CronJob",
        name=_named(base, "status"),
        body={"spec": status_job(config, job)},
        after="watched",
    )


def _custom(config: ClusterConfig, settings: Monitoring, kind: str, part: str, spec: Spec) -> Object:
    name = _named(config.cluster.resource_name, part)
    return Object(
        logical=kind.lower(),
        api_version=MONITORING_API,
        kind=kind,
        name=name,
        body={"spec": spec},
        labels=settings.labels,
    )


def service_monitor(config: ClusterConfig, settings: Monitoring) -> Spec:
    """Spec of the ServiceMonitor for an outside slurmctld."""
    wait = max(settings.interval * 5 // 6, 1)
    scrape = {"port": PORT, "scheme": "http", "interval": f"{settings.interval}s", "scrapeTimeout": f"{wait}s"}
    return {
        "selector": {"matchLabels": metrics_labels(config)},
        "namespaceSelector": {"matchNames": [config.cluster.namespace]},
        "endpoints": [scrape | {"path": path} for path in METRICS_PATHS],
    }


def rule_spec(settings: Monitoring) -> Spec:
    """Spec of the PrometheusRule."""
    return groups(alerts(settings.key_age, slurmctld=settings.slurmctld))


def dashboard() -> str:
    """The dashboard's JSON, as `lab/dashboard.py` builds it by Grafana's SDK."""
    return files("slinky_iac.parts.monitoring").joinpath("dashboard.json").read_text()


def status_job(config: ClusterConfig, job: StatusJob) -> Spec:
    """Spec of the CronJob. The file is written beside the one that node_exporter reads and then moved, so that it never
    reads half of it. It has the pod's own name: a Job that a person makes from the CronJob runs beside the schedule's."""
    script = (
        f"set -eu; slinky status --from /watched/{names.WATCHED_FILE} --prometheus > /tmp/{FILE} || [ $? = 4 ];"
        f' cp /tmp/{FILE} "/textfile/{FILE}.$POD"; mv "/textfile/{FILE}.$POD" /textfile/{FILE}'
    )
    container: Spec = {
        "name": "status",
        "image": job.image,
        "imagePullPolicy": config.cluster.images.pull_policy,
        "command": ["/bin/sh", "-c", script],
        "env": [
            {"name": "HOME", "value": "/tmp"},
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": locked(),
        "volumeMounts": [
            {"name": "textfile", "mountPath": "/textfile"},
            {"name": "watched", "mountPath": "/watched", "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},
        ],
    }
    pod: Spec = {
        "serviceAccountName": job.service_account,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": [
            {"name": "textfile", "hostPath": {"path": job.folder, "type": "Directory"}},
            {"name": "watched", "configMap": {"name": _named(config.cluster.resource_name, "watched")}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }
    if config.cluster.images.pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in config.cluster.images.pull_secrets]
    if job.node_selector:
        pod["nodeSelector"] = dict(job.node_selector)
    return {
        "schedule": job.schedule,
        "concurrencyPolicy": "Forbid",
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {
            "spec": {
                "activeDeadlineSeconds": 240,
                "backoffLimit": 0,
                "template": {"metadata": {"labels": labels(config)}, "spec": pod},
            }
        },
    }


def _named(cluster: str, part: str) -> str:
    """An object for Prometheus or Grafana."""
    return names.shorten(f"{cluster}-{part}")
