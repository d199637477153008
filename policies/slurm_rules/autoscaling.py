"""Autoscalers of NodeSets: what they go by, and what they take a missing answer for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurm_rules.model import Resource, Stack, texts
from slurm_rules.rule import Options, rule, words

BUSY = ("slurm_partition_nodes_alloc", "slurm_partition_nodes_mixed", "slurm_partition_nodes_cg")
"""Metrics of slurmctld that together count the nodes with a job on them."""
_PAUSED = "autoscaling.keda.sh/paused-replicas"


def _of_nodesets(resource: Resource) -> bool:
    kinds = ("ScaledObject", "HorizontalPodAutoscaler")
    return resource.kind in kinds and resource.text("spec", "scaleTargetRef", "kind") == "NodeSet"


@rule(
    "autoscaler-counts-busy-nodes",
    _of_nodesets,
    scope="resource",
    options={"metrics": words(("slurm_nodes_wanted",), "Metrics of the site that count busy nodes, and what waits.")},
)
def autoscaler_counts_busy_nodes(scaler: Resource, _: Stack, options: Options) -> Iterator[str]:
    """An autoscaler of a NodeSet counts the nodes that work, and changes nothing where its metrics are missing.

    Why: one that goes by pending jobs asks for no node as soon as they have started, and the operator drains the nodes under
    them: they take no further job, and a suspended job is lost with its pod. Without an answer KEDA changes nothing, unless
    it has a fallback: that is another number, or, with behavior currentReplicas, the end of KEDA 2.17.0's operator. It takes
    a series that Prometheus lacks for zero unless ignoreNullValues is false. A formula replaces what the triggers say, the
    annotation paused-replicas sets a number past them, and restoreToOriginalReplicaCount sets one when the autoscaler goes.

    Source: KEDA 2.17 pkg/scaling/executor/scale_scaledobjects.go, pkg/scalers/prometheus_scaler.go; docs/autoscaling.md.

    Do: set autoscale in the NodeSet, which makes an autoscaler that does; or name the metric of your own that counts busy
    nodes in this rule's setting metrics.

    Level: mandatory, since nodes are drained under running jobs.
    """
    said = " ".join(text for field in ("triggers", "metrics") for _, text in texts(scaler.get("spec", field)))
    own = any(name in said for name in options["metrics"])
    missing = [name for name in BUSY if name not in said]
    if missing and not own:
        yield f"{scaler.label} doesn't count busy nodes: it lacks {', '.join(missing)}, and a metric of {options['metrics']}"
    if scaler.kind == "ScaledObject":
        yield from _past_metrics(scaler, BUSY if not own else tuple(name for name in options["metrics"] if name in said))
        yield from _without_an_answer(scaler)


def _past_metrics(scaler: Resource, counted: tuple[str, ...]) -> Iterator[str]:
    """What sets a number without the metrics that count busy nodes."""
    if _PAUSED in scaler.names("metadata", "annotations"):
        yield f"{scaler.label} has the annotation {_PAUSED}, which sets a number under running jobs; remove it"
    if scaler.get("spec", "advanced", "restoreToOriginalReplicaCount") is True:
        yield f"{scaler.label} sets its first number again when it is removed (restoreToOriginalReplicaCount); remove that"
    formula = scaler.text("spec", "advanced", "scalingModifiers", "formula")
    words_of = set(re.findall(r"\w+", formula))
    for metric in counted if formula else ():
        named = {t.get("name") for t in scaler.get("spec", "triggers") or [] if any(metric in text for _, text in texts(t))}
        if not named & words_of:
            yield f"{scaler.label}: its formula leaves out the trigger that counts {metric}; add it"


def _without_an_answer(scaler: Resource) -> Iterator[str]:
    if scaler.names("spec", "fallback"):
        yield f"{scaler.label} has a fallback: without metrics KEDA would change the number; remove it"
    for trigger in scaler.get("spec", "triggers") or []:
        if trigger.get("type") == "prometheus" and trigger.get("metadata", {}).get("ignoreNullValues") != "false":
            yield f"{scaler.label} takes a missing series for zero; set ignoreNullValues: 'false' in its trigger"
