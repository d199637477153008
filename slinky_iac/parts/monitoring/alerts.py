"""Alert rules, as Prometheus and its operator's PrometheusRule take them. Each says what is so and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

STALE_S: Final = 1800
"""Age of a status from which on all that rests on it is unknown: six runs of a CronJob every five minutes."""
KEY_AGE_S: Final = 365 * 86_400


@dataclass(frozen=True)
class Alert:
    """One alert. ``wait``: how long it must hold before it is sent."""

    name: str
    expr: str
    wait: str
    severity: str
    summary: str
    what_to_do: str

    @property
    def page(self) -> str:
        """Where docs/ says what to do."""
        return f"on-call.md#{self.name.lower()}"


def alerts(key_age_s: int = KEY_AGE_S, *, slurmctld: bool = True) -> tuple[Alert, ...]:
    """All alerts. ``slurmctld``: whether Prometheus scrapes slurmctld's own metrics."""
    own_alerts = [
        Alert(
            "SlinkyDrainPastDeadline",
            'slinky_drain_age_seconds{owner="this stack"} > on (stack, group) group_left slinky_drain_deadline_seconds',
            "1m",
            "warning",
            "Nodes of {{ $labels.group }} have been drained by stack {{ $labels.stack }} for longer than its deadline.",
            "`slinky drain status` names the jobs; `pulumi up` continues, `slinky drain cancel` returns the nodes.",
        ),
        Alert(
            "SlinkyNodeSetShort",
            "slinky_nodeset_registered < slinky_nodeset_wanted",
            "10m",
            "warning",
            "NodeSet {{ $labels.nodeset }} of stack {{ $labels.stack }} has fewer registered nodes than it asks for.",
            "`slinky status` names pods that don't run and nodes that don't answer.",
        ),
        Alert(
            "SlinkySlurmrestdDown",
            'slinky_endpoint_up{endpoint="slurmrestd"} == 0',
            "5m",
            "critical",
            "slurmrestd of stack {{ $labels.stack }} doesn't answer: gates wait, and slurm-operator sees no jobs.",
            "Delete and scale no NodeSet by hand. `kubectl get pods` shows why it doesn't run.",
        ),
        Alert(
            "SlinkyNodeInvalid",
            "slinky_nodes_invalid > 0",
            "5m",
            "warning",
            "Nodes of {{ $labels.group }} registered with other CPUs, memory or GRES than slurmctld expects.",
            "`scontrol show node` has the reason; correct the resources of the NodeSet or the NodeName= line.",
        ),
        Alert(
            "SlinkyKeyOld",
            f"slinky_key_age_seconds > {key_age_s}",
            "1h",
            "info",
            "{{ $labels.key }} of stack {{ $labels.stack }} is {{ $value | humanizeDuration }} old.",
            "`slinky keys rotate` replaces it while jobs run.",
        ),
        Alert(
            "SlinkyScalerPaused",
            "slinky_scaler_paused == 1",
            "1h",
            "warning",
            "The autoscaler of {{ $labels.nodeset }} in stack {{ $labels.stack }} has been paused for an hour.",
            "An update that ended early leaves it so. `pulumi up` continues and resumes it.",
        ),
        Alert(
            "SlinkyStatusAway",
            f"time() - slinky_status_time_seconds > {STALE_S}",
            "5m",
            "warning",
            "The status of stack {{ $labels.stack }} is older than half an hour: no other alert of it can be trusted.",
            "Run `slinky status --prometheus` by hand, where the job runs that writes it.",
        ),
        Alert(
            "SlinkyStatusAbsent",
            "absent(slinky_status_time_seconds)",
            "30m",
            "warning",
            "Prometheus has no status of any stack.",
            "See that `slinky status --prometheus` runs, and that Prometheus reads what it writes.",
        ),
    ]
    if slurmctld:
        own_alerts.append(
            Alert(
                "SlurmMetricsAway",
                "absent(slurm_nodes)",
                "10m",
                "warning",
                "Prometheus gets no metrics of slurmctld.",
                "slurmctld may be down, MetricsType missing from slurm.conf, or PrivateData set, which turns metrics off.",
            )
        )
    return tuple(own_alerts)


def groups(own_alerts: tuple[Alert, ...]) -> dict[str, Any]:
    """The document: a file of rules for Prometheus, and the spec of a PrometheusRule."""
    return {"groups": [{"name": "slinky-iac", "rules": [_rule(alert) for alert in own_alerts]}]}


def _rule(alert: Alert) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expr,
        "for": alert.wait,
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary, "description": alert.what_to_do, "page": f"docs/{alert.page}"},
    }
