"""slurmctld's metrics, asked by a pod: an autoscaler that gets none changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slinky_iac.config.rules_autoscale import asks_slurmctld
from slinky_iac.config.stack import StackConfig
from slinky_iac.demand import METRICS_TYPE
from slinky_iac.preflight.check import SLURM_CONF, Answer, Expect, fine, problem, unknown
from slinky_iac.preflight.facts import Facts
from slinky_iac.specs.autoscale import metrics_url

OK: Final = 200
DENIED: Final = 401
"""What 26.05 answers while PrivateData is set (run)."""


def _metrics(config: StackConfig, facts: Facts) -> Iterator[Answer]:
    """Every pod that looked got slurmctld's metrics of partitions."""
    autoscalers = (nodeset.autoscale for nodeset in config.nodesets.values())
    if not any(each is not None and asks_slurmctld(each) for each in autoscalers):
        return
    url = metrics_url(config)
    seen = [(report, report.metrics) for report in facts.pod.reports if report.metrics is not None]
    if not seen:
        yield unknown("not known: no pod looked", "Ask from a pod", f"curl -i {url}")
    for report, (code, partitions) in seen:
        source = f"pod on {report.node}"
        if code == OK and partitions:
            yield fine(f"answers them for {partitions} partitions", source=source)
        elif code == OK:
            yield problem(
                "answers an empty page: MetricsType isn't set, so the autoscaler changes nothing",
                "Add",
                f"MetricsType={METRICS_TYPE}",
                at=SLURM_CONF,
                source=source,
            )
        elif code == DENIED:
            yield problem(
                f"answers {DENIED}: PrivateData is set, and Slurm then serves no metrics, so the autoscaler changes nothing",
                "Remove PrivateData from slurm.conf, or autoscale from the NodeSets",
                source=source,
            )
        else:
            what = f"status {code}" if code else "nothing"
            yield problem(f"answers {what}", "Ask from a pod", f"curl -i {url}", source=source)


EXPECTED: Final = (Expect("metrics", "slurmctld's metrics", "a pod", _metrics),)
