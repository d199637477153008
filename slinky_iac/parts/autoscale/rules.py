"""Rules of autoscalers: one writer of the number, a metric that can be there, jobs that are counted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from slinky_iac.config.findings import Finding, at
from slinky_iac.config.kubernetes.names import KEY, LABEL_VALUE, is_key, is_label_value
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.workers import NodeSet
from slinky_iac.node_demand import METRICS, METRICS_SINCE
from slinky_iac.parts.autoscale.scaler import SYNC_S
from slinky_iac.parts.autoscale.settings import Autoscale

MOST_REQUESTS: Final = 20
"""Requests a second of KEDA to slurmctld without a warning: thirteen NodeSets by default. Chosen, not measured."""


_SERIES_LABEL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def asks_slurmctld(autoscale: Autoscale) -> bool:
    """Whether KEDA itself reads slurmctld's metrics."""
    return autoscale.by == "keda" and autoscale.source == "slurmctld"


def _autoscalers(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    for name, nodeset in config.nodesets.items():
        if nodeset.autoscale is not None:
            path = f"nodesets.{name}.autoscale"
            yield from _of_one(path, nodeset, nodeset.autoscale)
            if nodeset.autoscale.by == "keda":
                yield from _metrics(path, config, name, nodeset)
            if asks_slurmctld(nodeset.autoscale):
                yield from _way(path, config)
    yield from _rate([worker_set.autoscale for worker_set in config.nodesets.values() if worker_set.autoscale is not None])


def _rate(autoscalers: Sequence[Autoscale]) -> Iterator[Finding]:
    asking = [autoscaler for autoscaler in autoscalers if asks_slurmctld(autoscaler)]
    rate = sum(len(METRICS) * (1 / autoscaler.poll + 1 / SYNC_S) for autoscaler in asking)
    if rate > MOST_REQUESTS:
        yield at("nodesets").warning(
            f"KEDA asks slurmctld {rate:.0f} times a second for the metrics of {len(asking)} NodeSets ({len(METRICS)}"
            f" numbers, a request each, at every poll and every {SYNC_S} s), on the port that serves nodes and jobs too. Set"
            " autoscale.source to a Prometheus that scrapes slurmctld: then slurmctld has two requests a scrape, and each"
            " NodeSet two queries of the Prometheus",
            id="autoscale-many-requests",
        )


def _of_one(path: str, nodeset: NodeSet, autoscale: Autoscale) -> Iterator[Finding]:
    if nodeset.owner != "autoscaler":
        yield at(path).error(
            "with owner: stack both the autoscaler and this program would write replicas, and pods would be deleted"
            " that no gate has drained. Set owner: autoscaler and maxReplicas, or remove autoscale"
        )
    most = nodeset.max_replicas
    if nodeset.owner == "autoscaler" and not nodeset.most:
        yield at(f"{path.removesuffix('.autoscale')}.maxReplicas").error(
            "must be 1 or more with autoscale: Kubernetes refuses an autoscaler with a maximum of 0, and without maxReplicas"
            " the maximum is replicas. Set maxReplicas; to stop the NodeSet for a while, set its partition to DOWN"
        )
    if most is not None and autoscale.min_replicas > max(most, 1):
        yield at(f"{path}.minReplicas").error(
            f"got {autoscale.min_replicas}, above maxReplicas {most}; Kubernetes refuses it. Lower it, or raise maxReplicas"
        )
    if autoscale.by == "hpa" and autoscale.metric is None:
        yield at(f"{path}.metric").error(
            "must be set where by is hpa: the name of an external metric whose value is the number of nodes that the NodeSet"
            " should have (`slinky docs autoscaling` has its query)"
        )
    if autoscale.by == "hpa" and autoscale.min_replicas == 0:
        yield at(f"{path}.minReplicas").error(
            "must be 1 or more with by: hpa, since a HorizontalPodAutoscaler doesn't go to zero; KEDA does"
        )
    yield from _labels(path, autoscale)
    if autoscale.by == "keda" and autoscale.metric is not None:
        yield at(f"{path}.metric").error("has no effect with by: keda, which counts nodes and jobs itself; remove it")


def _labels(path: str, autoscale: Autoscale) -> Iterator[Finding]:
    """Labels that a query of Prometheus can't have, or a selector of an external metric."""
    for name, value in autoscale.labels.items():
        where = at(f"{path}.labels.{name_of(name)}")
        if autoscale.by == "keda" and _SERIES_LABEL.fullmatch(name) is None:
            yield where.error(
                "isn't the name of a label of Prometheus, which has letters, digits and '_', and begins with no digit:"
                " Prometheus would refuse each query, and the NodeSet would keep its size. Correct it"
            )
        elif autoscale.by == "hpa" and not (is_key(name) and is_label_value(value)):
            yield where.error(
                f"isn't a label of Kubernetes ({KEY.form}; a value {LABEL_VALUE.form}): the API server refuses the"
                " autoscaler, with the update half done. Correct it"
            )


def _metrics(path: str, config: StackConfig, name: str, nodeset: NodeSet) -> Iterator[Finding]:
    if not nodeset.partition.enabled:
        yield at(path).error(
            f"needs a partition of the NodeSet's own, whose metrics count busy nodes and waiting jobs. Set"
            f" nodesets.{name}.partition.enabled: true"
        )
    if config.slurm_numbers < METRICS_SINCE:
        since = ".".join(map(str, METRICS_SINCE))
        yield at(path).error(f"needs slurmctld's metrics, which Slurm has since {since}; cluster.slurmVersion is older")
    shared = [other for other, partition in config.partitions.items() if {name, "ALL"} & set(partition.nodesets)]
    if shared:
        yield at(path).warning(
            f"counts jobs that wait in partition {name_of(name)} only, and not those of {', '.join(map(name_of, shared))},"
            " which has these nodes too: such a job doesn't raise the number. Jobs that run or are suspended are counted in"
            " every partition",
            id="autoscale-shared-partition",
        )


def _way(path: str, config: StackConfig) -> Iterator[Finding]:
    if config.slurmctld.is_closed(config.network_policies):
        yield at(path).error(
            "KEDA asks slurmctld for metrics, and networkPolicies lets no pod of another namespace reach it. Add KEDA's"
            " namespace to networkPolicies.clients.slurmctld",
            "slinky-iac:networkPolicies:\n  clients:\n    slurmctld:\n    - namespace: keda\n",
        )


RULES = (_autoscalers,)
