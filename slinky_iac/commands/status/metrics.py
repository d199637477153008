"""Metrics of `status --prometheus`, each with its help, and the text that Prometheus reads.

Source: Prometheus' text exposition format 0.0.4; `promtool check metrics` in tests/faults/test_monitoring.py reads it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from slinky_iac.parts.registry import GUARDS

METRICS: Final[Mapping[str, str]] = {
    "slinky_status_time_seconds": "When this look began, in seconds since 1970.",
    "slinky_status_unknown": "Questions of this look that got no answer.",
    "slinky_endpoint_up": "1 where it answers, 0 where it doesn't. Absent where it could not be asked.",
    "slinky_endpoint_latency_seconds": "Of one question over an open connection.",
    "slinky_nodeset_wanted": "Replicas that the NodeSet asks for.",
    "slinky_nodeset_pods": "Pods of the NodeSet that are to stay.",
    "slinky_nodeset_ready": "Pods of the NodeSet that are ready.",
    "slinky_nodeset_registered": "Pods of the NodeSet that slurmctld knows as nodes that answer.",
    "slinky_nodes": "Slurm nodes by group and state.",
    "slinky_nodes_invalid": "Slurm nodes that slurmctld refuses, for they registered with other CPUs, memory or GRES.",
    "slinky_drain_nodes": "Drained nodes by group and owner of the drain.",
    "slinky_drain_age_seconds": "Age of the oldest drain by group and owner.",
    "slinky_drain_deadline_seconds": "How long a run of the NodeSet's gate waits for jobs.",
    "slinky_gate_wait_nodes": "Nodes that this stack has drained and jobs still hold, by NodeSet.",
    "slinky_gate_wait_jobs": "Jobs on them.",
    "slinky_key_age_seconds": "Age of a key.",
    "slinky_key_matches": "1 where the cluster has the stack's key, 0 where it differs.",
    **{guard.metric: guard.about_metric for guard in GUARDS.values()},
    "slinky_scaler_paused": "1 while the NodeSet's autoscaler is paused.",
    "slinky_last_update_time_seconds": "When the last `pulumi up` ended, in seconds since 1970.",
    "slinky_last_update_succeeded": "1 where it succeeded.",
}
"""All are gauges."""


@dataclass(frozen=True)
class Sample:
    """One number of one metric."""

    name: str
    value: float
    labels: Mapping[str, str]


def sample(name: str, value: float, **labels: str) -> Sample:
    """One number; ``name`` is one of :data:`METRICS`."""
    if name not in METRICS:
        raise AssertionError(f"{name} isn't a metric of ours")
    return Sample(name, value, labels)


def exposition(samples: Iterable[Sample]) -> str:
    """The text: metrics in the order of :data:`METRICS`, each with its help. Labels are anybody's text."""
    by_name: dict[str, list[Sample]] = {}
    for point in samples:
        by_name.setdefault(point.name, []).append(point)
    lines: list[str] = []
    for name, about in METRICS.items():
        if series := by_name.get(name):
            lines += [f"# HELP {name} {about}", f"# TYPE {name} gauge", *(_line(point) for point in series)]
    return "".join(f"{line}\n" for line in lines)


def _line(point: Sample) -> str:
    labels = ",".join(f'{key}="{_escaped(text)}"' for key, text in sorted(point.labels.items()))
    return f"{point.name}{f'{{{labels}}}' if labels else ''} {_number(point.value)}"


def _escaped(text: str) -> str:
    whole = text.encode("utf-8", "replace").decode()
    return whole.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        raise AssertionError("a fault of this program: a metric is NaN or infinite. Report it with this traceback")
    return str(int(value)) if float(value).is_integer() else repr(float(value))
